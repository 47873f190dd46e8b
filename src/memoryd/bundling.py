"""Building a bundle for a caller: within what the operator allows, under an id of its own."""

from typing import Literal

from memoryd.core import context, errors, ids
from memoryd.core.model import Reader
from memoryd.core.receipt import Asked, Bundle
from memoryd.custody import audit
from memoryd.daemon import Daemon, entropy, now

LEAST_TOKENS = 200
MOST_TOKENS = 65_000  # unless an operator allows more, and it is asked for
SectionName = Literal[
    "identity",
    "rules",
    "task_state",
    "decision_ledger",
    "handoff_packet",
    "retrieved_evidence",
    "recent_window",
]


def budget(asked: int | None, ceiling: int) -> int:
    wanted = min(ceiling, MOST_TOKENS) if asked is None else asked
    if wanted > ceiling:
        raise errors.Invalid(
            "max_tokens is too large; an operator may allow more by MEMORYD_MAX_BUNDLE_TOKENS",
            field="max_tokens",
            limit=f"{LEAST_TOKENS} to {ceiling:,}",
        )
    return wanted


async def build(daemon: Daemon, reader: Reader, asked: Asked) -> Bundle:
    acb_id = ids.new("acb", now(), entropy())
    return told(await context.build(daemon.pool, daemon.searcher, reader, asked, acb_id))


def told(bundle: Bundle) -> Bundle:
    """The bundle, once it is noted what of it is shown."""
    shown = sum(len(section["items"]) for section in bundle["sections"])
    audit.tell(items=shown, ref=bundle["acb_id"])
    return bundle
