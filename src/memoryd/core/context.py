"""THE READ PATH: gather → retrieve → pack → a bundle and its receipt.

Without a question nothing is retrieved, and all that a bundle is made of comes in one round trip.
"""

import asyncio
import functools
import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memoryd.core import db, errors, items, pack, privacy, read, receipt, render
from memoryd.core.item import Item
from memoryd.core.model import Reader
from memoryd.core.pack import Filled, Omission
from memoryd.core.receipt import Asked, Bundle, Receipt
from memoryd.seal import connection
from memoryd.seal.vault import CLOSED
from memoryd.search import analyze, retrieve
from memoryd.search.searcher import Answer, Aside, Searcher, position_at

TURN_ROWS = 3_000  # chunks of the conversation that are looked at, where they are short
TURN_TOKENS = 10_000  # what the window holds, and white space that is not shown
DATED = ("decision", "task_update", "summary", "memory")  # kinds that can be out of date
RETRIEVED = {"retrieved_evidence", "decision_ledger"}  # sections that a question changes
# What is gathered, and the type of the items that it becomes.
GATHERED = {
    "texts": "view",
    "tasks": "task",
    "decisions": "decision",
    "handoffs": "handoff",
    "turns": "turn",
}
# What only events of few kinds change; the `version` names the newest of these.
SELDOM = ("texts", "tasks", "decisions", "handoffs", "hidden", "more", "version")
MOST = (250, 150, 40)  # tasks, decisions (more than have room, however short) and handoffs
TURNS = (items.TURN_CHUNKS, TURN_ROWS, TURN_TOKENS, items.LONG_RESULT)
WHOLE = 1 - 1e-6  # of an output, as a sum of shares
KNOWN = 128  # readers, each in a session, whose are kept
KNOWN_LONG = 64_000  # characters of one's long rows; short ones are shared (`items.made`)


@dataclass(frozen=True)
class Found:
    """What retrieval gave: candidates in order, decisions among them, and what was left out."""

    items: list[Item] = field(default_factory=list)
    decisions: list[Item] = field(default_factory=list)
    gone: dict[str, list[str]] = field(default_factory=dict)  # events by why they are left out
    answer: Answer | None = None


@dataclass(frozen=True)
class Collected:
    """All that could stand in a bundle."""

    gathered: Mapping[str, Any]
    found: Found
    candidates: dict[str, Sequence[Item]]
    clock: list[float]  # when each step was done


async def collect(pool: db.Pool, searcher: Searcher, reader: Reader, asked: Asked) -> Collected:
    """What `reader` may see of each section that is asked for, best first, not yet packed."""
    clock = [time.perf_counter()]
    answer: Answer | None = None
    if asked.query_text is not None and RETRIEVED & set(asked.sections):
        wanted = retrieve.Search(
            text=asked.query_text, now=asked.now, limit=retrieve.FULL, weights=asked.scoring
        )
        gathering = functools.partial(_gather, searcher, reader, asked)
        aside = Aside(functools.partial(settle, reader), gathering)
        answer = await searcher.search(reader, wanted, asked.as_of, aside)
        gathered = answer.beside
    else:
        async with db.snapshot(pool, reader.tenant_id) as conn:
            position = await position_at(conn, reader.tenant_id, asked.as_of)
            gathered = await _gather(searcher, reader, asked, conn, position)
    clock.append(time.perf_counter())
    found = _found(answer, analyze.query_terms(asked.query_text or "")) if answer else Found()
    return Collected(gathered, found, _candidates(gathered, found, asked), clock)


async def build(
    pool: db.Pool, searcher: Searcher, reader: Reader, asked: Asked, acb_id: str
) -> Bundle:
    """A bundle for one model call, recorded so that it can be replayed.

    What is recorded of the question is all that is asked: its secrets are not looked for either.
    """
    asked = receipt.without_secrets(reader, asked)
    collected = await collect(pool, searcher, reader, asked)
    gathered, found, clock = collected.gathered, collected.found, collected.clock
    filled = pack.pack(collected.candidates, asked.max_tokens)
    clock.append(time.perf_counter())
    provenance = _provenance(reader, asked, gathered, found) | {"timings_ms": _timings(clock)}
    record = receipt.make(filled, _omitted(filled, gathered, found), provenance)
    made = Receipt(
        acb_id=acb_id, reader=reader, asked=asked, position=gathered["position"], record=record
    )
    keeping = receipt.keep(pool, made, gathered["head"], sealing=gathered["sealing"])
    # The answer is put together while the database writes.
    packed = {name: part.items for name, part in filled.items()}
    kept, answer = await asyncio.gather(keeping, receipt.answer(made, packed))
    if not kept:  # something was erased meanwhile, and this may show it
        return await build(pool, searcher, reader, asked, acb_id)
    return answer


async def _gather(
    searcher: Searcher, reader: Reader, asked: Asked, conn: db.Conn, position: int | None
) -> dict[str, Any]:
    """What is there without a search; what seldom changes, and did not, is not read again."""
    place, present = (reader, asked.session_id), asked.as_of is None
    known = searcher.known.get(place, {}) if present else {}
    about = (reader.agent_id, asked.session_id, position)
    where = (*read.eyes(reader), *about, *TURNS, *MOST, known.get("version"))
    [row] = await conn.fetch(db.query("context.gather"), *where)
    if position is not None and position > row["head"]:
        raise errors.Invalid(
            f"as_of is {position}, and the log ends at {row['head']}; leave it out for the present",
            field="as_of",
            limit=f"at most {row['head']}",
        )
    opened = {name: await connection.open_rows(conn, row[name] or ()) for name in GATHERED}
    found = {**row}
    for name, kind in GATHERED.items():
        found[name] = [items.made(kind, one) for one in opened[name]]
    if row["version"] == known.get("version"):
        found |= known
    elif present and _keepable([one for name in SELDOM for one in opened.get(name, ())]):
        known = {name: found[name] for name in SELDOM}
    if present:
        searcher.known.pop(place, None)
        searcher.known[place] = known
        if len(searcher.known) > KNOWN:
            searcher.known.popitem(last=False)
    return found


def _keepable(rows: Sequence[str]) -> bool:
    """Not what nobody could open: its key may come back, and nothing would tell."""
    long = sum(len(one) for one in rows if len(one) > items.KEPT_CHARACTERS)
    return long <= KNOWN_LONG and not any(CLOSED in one for one in rows)


async def settle(reader: Reader, conn: db.Conn, found: list[Any], position: int) -> dict[int, Any]:
    """What is known, at the position of a search, of what was found: is it replaced, is it stale,
    what does it cite.
    """
    dated = sorted({row["position"] for row in found if row["kind"] in DATED})
    if not dated:
        return {}
    rows = await conn.fetch(db.query("context.settle"), reader.tenant_id, dated, position)
    said = await connection.open_rows(conn, [row["decision"] or "" for row in rows])
    return {row["position"]: {**row, "decision": one} for row, one in zip(rows, said, strict=True)}


def _found(answer: Answer, terms: Sequence[str]) -> Found:
    """Without what is out of date, without repetitions, and no summary before what it cites."""
    settled = answer.more
    fresh: list[Item] = []
    gone: dict[str, list[str]] = {}
    for row, hit in zip(answer.rows, answer.hits, strict=True):
        said = settled.get(row["position"])
        if said is not None and (said["replaced"] or said["stale"]):
            reason = "superseded" if said["replaced"] else "stale_summary"
            gone.setdefault(reason, []).append(row["event_id"])
        elif not row["text"].isspace():
            fresh.append(items.evidence([row], round(hit.score, 6), hit.parts))
    distinct, repeated = pack.distinct(fresh, terms)
    if repeated:
        gone["duplicate"] = [one.refs[0] for one in repeated]
    distinct = pack.spread(distinct)
    current = {one.position: settled[one.position] for one in distinct if one.position in settled}
    order = after_sources([one.position for one in distinct], current)
    return Found(
        [_citing(distinct[at], current) for at in order],
        [items.made("decision", row["decision"]) for row in current.values() if row["decision"]],
        gone,
        answer,
    )


def after_sources(positions: Sequence[int], settled: Mapping[int, Any]) -> list[int]:
    """The order in which each summary follows the last of what it cites: it is derived, so it loses
    to its sources.
    """
    if not any(said["cites"] for said in settled.values()):
        return [*range(len(positions))]
    last = {position: at for at, position in enumerate(positions)}

    def place(at: int) -> tuple[int, bool]:
        said = settled.get(positions[at])
        sources = [last[cited] for cited in (said["cites"] if said else ()) if cited in last]
        return max([at, *sources]), bool(sources)

    return sorted(range(len(positions)), key=place)


def _citing(one: Item, settled: Mapping[int, Any]) -> Item:
    """A summary with its sources: it is not shown without those that were found, nor above one."""
    cites = settled[one.position]["cites"] if one.position in settled else ()
    return replace(one, after=frozenset(cites)) if cites else one


def _candidates(
    gathered: Mapping[str, Any], found: Found, asked: Asked
) -> dict[str, Sequence[Item]]:
    """Of each section that is asked for, what could stand in it, best first."""
    ledger = {one.position: one for one in [*found.decisions, *gathered["decisions"]]}
    texts = [one for one in gathered["texts"] if one.body]
    identity = [one for one in texts if one.head.startswith("[identity.")]
    every: dict[str, Sequence[Item]] = {
        "identity": identity,
        "rules": [one for one in texts if one not in identity],
        "task_state": gathered["tasks"],
        "decision_ledger": list(ledger.values()),
        "handoff_packet": gathered["handoffs"],
        "retrieved_evidence": found.items,
        "recent_window": gathered["turns"],
    }
    return {name: every[name] for name in render.SECTIONS if name in asked.sections}


def _omitted(
    filled: Mapping[str, Filled], gathered: Mapping[str, Any], found: Found
) -> Iterator[Omission]:
    """What was left out of each section, whether it was read or not."""
    older = {"over_budget": gathered["older_turns"]}
    unread = {"retrieved_evidence": found.gone, "recent_window": older}
    more = gathered["more"] + gathered["more_turns"]
    for name, section in filled.items():
        yield from pack.omissions(section, unread.get(name, {}), name in more)
    yield from _outputs(filled)


def _outputs(filled: Mapping[str, Filled]) -> Iterator[Omission]:
    """The outputs of which a part is shown, with the artifacts that have the whole."""
    shown: dict[str, list[Item]] = {}
    for one in (one for part in filled.values() for one in part.items if one.share is not None):
        shown.setdefault(one.refs[-1], []).append(one)
    lacking: dict[str | None, list[str]] = {}  # by what has the whole, where that is an artifact
    for event_id, parts in sorted(shown.items()):
        if sum(one.share or 0.0 for one in parts if one.cut is None) < WHOLE:
            for artifact in sorted(parts[0].artifacts) or (None,):
                lacking.setdefault(artifact, []).append(event_id)
    for artifact, cut in lacking.items():
        yield Omission("truncated_tool_output", "", (*cut[: pack.LISTED],), len(cut), artifact)


def _provenance(
    reader: Reader, asked: Asked, gathered: Mapping[str, Any], found: Found
) -> dict[str, Any]:
    sight, answer = privacy.sight(reader), found.answer
    terms = analyze.query_terms(asked.query_text) if asked.query_text else []
    shown = {
        "intent": asked.intent,
        "query_terms": list(terms)[: pack.LISTED],
        "candidate_pool_size": answer.pool if answer else 0,
        "filters": {
            "sensitivity_allowed": list(sight.sensitivities),
            "channels": [*sight.channels, *sight.own_channels],
        },
        "scoring": dict(zip(("alpha", "beta", "gamma"), asked.scoring, strict=True)),
        "position": gathered["position"],
        "now": asked.now.isoformat(),
        "hidden": gathered["hidden"] + (answer.hidden if answer else gathered["hidden_turns"]),
    }
    if answer:
        shown["embedding"] = {"model": answer.model, "pending_vectors": answer.pending_vectors}
    return shown | ({"degraded": answer.degraded} if answer and answer.degraded else {})


def _timings(clock: Sequence[float]) -> dict[str, float]:
    spent = [(after - before) * 1000 for before, after in itertools.pairwise(clock)]
    return dict(zip(("read", "pack"), (round(part, 2) for part in spent), strict=True))
