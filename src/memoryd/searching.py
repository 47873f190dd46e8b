"""Plain search for a caller: what a bundle keeps of the truth holds here too."""

import functools
from dataclasses import replace
from datetime import datetime

from memoryd.core import context
from memoryd.core.model import Reader
from memoryd.search import retrieve
from memoryd.search.searcher import Answer, Aside, Searcher


async def search(
    searcher: Searcher, reader: Reader, wanted: retrieve.Search, as_of: datetime | int | None
) -> Answer:
    """No summary stands above what it cites, and no memory is shown that was changed or deleted."""
    answer = await searcher.search(reader, wanted, as_of)
    if not any(row["kind"] in ("summary", "memory") for row in answer.rows):
        return answer
    deepest = replace(wanted, limit=retrieve.FULL)
    aside = Aside(functools.partial(context.settle, reader))
    deep = await searcher.search(reader, deepest, as_of, aside)
    order = context.after_sources([row["position"] for row in deep.rows], deep.more)
    gone = {at for at, said in deep.more.items() if said["forgotten"]}
    order = [at for at in order if deep.rows[at]["position"] not in gone][: wanted.limit]
    return replace(deep, rows=[deep.rows[at] for at in order], hits=[deep.hits[at] for at in order])
