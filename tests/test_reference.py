"""The generated reference is what the code says today."""

import reference


def test_the_reference_is_up_to_date() -> None:
    assert reference.TARGET.read_text() == reference.text(), "run: python tools/reference.py"
