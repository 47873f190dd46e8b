"""`make` on an environment that is whole, and on those that are not."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not here")


def environment(folder: Path) -> Path:
    """As `python -m venv` and `pip install` leave it in `folder`, as far as `make` looks at it."""
    made = folder / ".venv"
    (made / "bin").mkdir(parents=True)
    (made / "bin" / "python").symlink_to(sys.executable)
    (made / "bin" / "pip").write_text(f"#!{made}/bin/python\n")
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    (made / "run.stamp").touch()
    return made


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "-C", str(folder), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def moved(made: Path) -> None:
    (made / "bin" / "pip").write_text("#!/elsewhere/.venv/bin/python\n")


def without_pip(made: Path) -> None:
    (made / "bin" / "pip").unlink()


def without_python(made: Path) -> None:
    (made / "bin" / "python").unlink()
    (made / "bin" / "python").symlink_to("/elsewhere/python")


def test_a_whole_environment_is_used(tmp_path: Path) -> None:
    environment(tmp_path)
    done = make(tmp_path, "-n", "run")

    assert done.returncode == 0, done.stderr
    assert ".venv/bin/memoryd serve" in done.stdout


@pytest.mark.parametrize("broken", [moved, without_pip, without_python])
def test_one_that_is_not_whole_is_named_and_cleaned(
    tmp_path: Path, broken: Callable[[Path], None]
) -> None:
    made = environment(tmp_path)
    broken(made)
    refused = make(tmp_path, "run")
    cleaned = make(tmp_path, "clean")

    assert refused.returncode == 2
    assert refused.stderr.rstrip().endswith("run: make clean.  Stop.")
    assert cleaned.returncode == 0 and not made.exists()
