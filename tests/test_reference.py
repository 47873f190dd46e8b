"""The generated reference is what the code says today."""

import subprocess
import sys

import reference


def test_the_reference_is_up_to_date() -> None:
    """In a process of its own: click keeps the help option of the first context it sees, and other
    tests call commands without the group around them.
    """
    made = subprocess.run(
        [sys.executable, "-c", "import reference; print(reference.text(), end='')"],
        cwd=reference.TARGET.parent.parent / "tools",
        capture_output=True,
        check=True,
    )

    assert reference.TARGET.read_text() == made.stdout.decode(), "run: python tools/reference.py"
