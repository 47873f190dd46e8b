"""A reference: a stored text or file, the key that it is asked for by, and its placeholder.

A reference is an event of kind `artifact` whose content says `reference`; its bytes are the
artifact's, and all that a list shows is in the event.
"""

import re
import unicodedata
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, StringConstraints
from typing_extensions import TypedDict

from memoryd import neutral
from memoryd.core import errors
from memoryd.core.model import Channel, Sensitivity

KEY_LONGEST = 255  # characters (seed 001)
SLUG_LONGEST = 60  # characters of a key that is made here, before the part that makes it unique
TYPE_LONGEST = 50  # characters (seed 001)
BRIEF_LONGEST = 120  # characters: some thirty tokens for what stands in every context
TAIL = 8  # letters of the event's id at the end of a key: a million million of them
PER_BYTE = 0.7  # tokens that a byte takes when it is read as base64

Key = Annotated[
    str, StringConstraints(max_length=KEY_LONGEST, pattern=r"^[A-Za-z0-9][A-Za-z0-9._:@+-]*$")
]
Type = Annotated[
    str, StringConstraints(max_length=TYPE_LONGEST, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
]
DEFAULT_TYPE = "command_output"

EVENT_ID = re.compile(r"[a-z]{3}_[0-9A-HJKMNP-TV-Z]{26}")
# Brackets end a placeholder, so no description has one.
PLACEHOLDER = re.compile(
    r"\[MemoryRef: (?P<key>[A-Za-z0-9][A-Za-z0-9._:@+-]{0,254}) - "
    r"(?P<description>[^\[\]\n]{1,300}) - (?P<tokens>\d{1,12}) tokens\]"
)


class Kept(TypedDict):
    """What an event says of the reference that it stores."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]  # how pydantic takes it

    key: NotRequired[Key]
    type: NotRequired[Type]
    description: NotRequired[str]
    token_count: NotRequired[Annotated[int, Field(ge=0, le=10**12, strict=True)]]
    metadata: NotRequired[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A reference through a reader's eyes."""

    key: str  # by which this reader asks for it: the owner's key, or for others the event's id
    type: str
    description: str
    token_count: int
    size: int  # bytes
    media_type: str
    binary: bool
    metadata: dict[str, Any] = field(default_factory=dict)
    created_at: datetime
    session_id: str
    agent_id: str
    user_id: str
    channel: Channel
    sensitivity: Sensitivity
    is_active: bool
    event_id: str
    artifact_id: str | None
    position: int
    described_by: str | None = None  # a model, where one found better words

    @property
    def placeholder(self) -> str:
        return placeholder(self.key, self.description, self.token_count)


class Taken(errors.Conflict):
    """The key is another reference's: see whether it is the same."""


def placeholder(key: str, description: str, token_count: int) -> str:
    r"""What stands in the context (seed 001 §3).

    >>> placeholder("cmd_log_123", "NPM Install\n[Output]", 2340)
    '[MemoryRef: cmd_log_123 - NPM Install (Output) - 2340 tokens]'
    """
    return f"[MemoryRef: {key} - {brief(description)} - {token_count} tokens]"


def key_of(given: str) -> str:
    """The key that is meant: models copy the whole placeholder.

    >>> key_of(" [MemoryRef: cmd_log_123 - NPM Install Output - 2340 tokens]"), key_of("log")
    ('cmd_log_123', 'log')
    """
    found = PLACEHOLDER.fullmatch(given.strip())
    return found["key"] if found else given


def keys_in(text: str) -> list[str]:
    """The keys of the placeholders in `text`, each once, in their order."""
    return list(dict.fromkeys(found["key"] for found in PLACEHOLDER.finditer(text)))


def brief(given: str, longest: int = BRIEF_LONGEST) -> str:
    """One short line that cannot end the placeholder around it."""
    shown = "".join(
        one for one in given if unicodedata.category(one) not in ("Cf", "Cc", "Cs") or one.isspace()
    )
    line = neutral.name(shown) or "stored text"
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def slug(said: str) -> str:
    """The beginning of a key: what was said, in small letters and digits.

    >>> slug("npm install: exit 1, 3 errors"), slug("日本")
    ('npm-install-exit-1-3-errors', 'reference')
    """
    plain = unicodedata.normalize("NFKD", said).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    if len(words) > SLUG_LONGEST:
        words = words[:SLUG_LONGEST].rpartition("-")[0] or words[:SLUG_LONGEST]
    return words or "reference"


def made_key(said: str, event_id: str) -> str:
    """A key of its own for what `event_id` stores.

    >>> made_key("npm install", "evt_01JC8XQ4M0ABCDEFGHJKMNPQRS")
    'npm-install-jkmnpqrs'
    """
    return f"{slug(said)}-{event_id[-TAIL:].lower()}"


def check_key(key: str) -> None:
    """Every event may be asked for by its id, so no key looks like one."""
    if EVENT_ID.fullmatch(key):
        raise errors.Invalid("it has the form of an event's id; choose another", field="key")


Op = Literal["activate", "deactivate"]
