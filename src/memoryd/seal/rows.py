"""What is `high`, as its rows keep it: sealed."""

from dataclasses import replace
from typing import Any

from pydantic_core import to_json

from memoryd.core.model import Artifact, Event
from memoryd.seal.vault import LEVEL, NAME, Keys


def _seals(keys: Keys, event: Event) -> bool:
    return keys.seals(event.sensitivity, event.position)


def text(keys: Keys, event: Event, said: str | None, bound: str = "") -> Any:
    """`said` by `event`, part of `bound` (the event, unless said)."""
    if said is None or not _seals(keys, event):
        return said
    return keys.seal(event.position, bound or event.event_id, said)


def key(keys: Keys, event: Event, said: str | None) -> str | None:
    """By which rows that say the same find each other."""
    if said is None or not _seals(keys, event):
        return said
    hide = keys.hide
    assert hide is not None, "a closed key was asked to hide"
    return hide(f"subject {said}")  # no term of the index has a blank


def texts(keys: Keys, event: Event, said: list[str]) -> list[str]:
    return [text(keys, event, one) for one in said]


def event(keys: Keys, event: Event) -> Event:
    """As the log keeps it."""
    if not _seals(keys, event):
        return event
    return replace(event, content=document(keys, event, event.content), tags=tags(keys, event))


def tags(keys: Keys, event: Event) -> tuple[str, ...]:
    """Each to be read, and beside these each to be looked for."""
    if not _seals(keys, event):
        return event.tags
    hide = keys.hide
    assert hide is not None, "a closed key was asked to hide"
    return (*(text(keys, event, tag) for tag in event.tags), *map(hide, event.tags))


def document(keys: Keys, event: Event, said: dict[str, Any]) -> dict[str, Any]:
    """All of `said` as one text: its names and numbers tell as much as its words."""
    if not _seals(keys, event):
        return said
    return {NAME: text(keys, event, to_json(said).decode())}


def artifact(
    keys: Keys, event: Event, artifact: Artifact, pieces: tuple[bytes, ...]
) -> tuple[Artifact, tuple[bytes, ...]]:
    if not _seals(keys, event):
        return artifact, pieces
    digest = keys.digest(event.position, artifact.digest)
    sealed = tuple(
        keys.seal_bytes(event.position, place(digest, at), piece) for at, piece in enumerate(pieces)
    )
    return replace(artifact, digest=digest, meta=document(keys, event, artifact.meta)), sealed


def place(digest: bytes, piece: int) -> str:
    """What the bytes of an artifact are bound to."""
    return f"{digest.hex()}.{piece}"


def hashed(keys: Keys, event: Event, request_hash: bytes) -> bytes:
    """The hash of a request, so that nobody without the key can try what it was made from."""
    return keys.hashed(request_hash) if event.sensitivity == LEVEL else request_hash
