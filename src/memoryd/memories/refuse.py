"""What a user's document does not take (seed 004): passwords and the like.

Elsewhere the filter of the write path redacts them in place; here the text is refused, since a
fact with a hole in it is worth nothing.
"""

from memoryd import redact
from memoryd.core import errors


def secrets(**texts: str | None) -> None:
    """Refuse the first of `texts`, named by its field, in which the filter finds a secret."""
    for field, text in texts.items():
        if text is not None and (findings := redact.found(text)):
            raise errors.Invalid(
                f"it holds a secret ({findings[0].rule}), and secrets are not remembered; say it "
                "without",
                field=field,
            )
