"""Finding memories by what they say: only what is about it, best first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from memoryd.core import db
from memoryd.core.model import Reader
from memoryd.daemon import Daemon
from memoryd.memories import read
from memoryd.memories.model import Memory
from memoryd.search import analyze, retrieve
from memoryd.search.searcher import Answer

T = TypeVar("T", bound=Memory)

# The question's vector times the signs of a memory's, from which a memory that shares no word with
# the question is about it all the same: a search itself puts all in order, however far they are.
# Of 15 questions in other words than the fact's, 13 reach it; of 16 about nothing known, none.
CLOSE = 0.2


@dataclass(frozen=True, kw_only=True)
class Asked:
    text: str
    now: datetime
    as_of: int


async def search(
    daemon: Daemon,
    reader: Reader,
    kind: type[T],
    types: Sequence[str],
    asked: Asked,
    wanted: read.Wanted | None = None,
) -> list[T]:
    """The reader's own memories that hold and that `asked.text` is about; none where none is."""
    filters = retrieve.Filters(kind="memory", user_id=reader.user_id)
    looked = retrieve.Search(text=asked.text, now=asked.now, filters=filters, limit=retrieve.FULL)
    answer = await daemon.searcher.search(reader, looked, asked.as_of)
    positions = _about(answer, asked.text)
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        return await read.found(
            *(conn, reader, kind, types, wanted or read.Wanted()),
            as_of=asked.as_of,
            positions=positions,
        )


def _about(answer: Answer, text: str) -> list[int]:
    """Where the question's words are, or what it means."""
    terms = set(analyze.query_terms(text))
    return [
        row["position"]
        for row, hit in zip(answer.rows, answer.hits, strict=True)
        if hit.parts.get("cosine", 0.0) >= CLOSE or terms & set(analyze.terms(row["text"]))
    ]
