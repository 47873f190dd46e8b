"""A bundle's receipt: which rows it was made of, never their text; and its replay from them.

The log cannot change those rows, so rendering them again gives the same bytes, whatever was
recorded since and whatever the index looks like now.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from memoryd import redact
from memoryd.core import db, errors, ids, items, pack, render
from memoryd.core.item import Item
from memoryd.core.model import Reader
from memoryd.core.pack import Filled, Omission
from memoryd.seal import receipts
from memoryd.search import score

Bundle = dict[str, Any]
DIGITS = 1_000_000  # what the parts of a score are rounded to

_REPLAYS = {
    "view": "context.replay_texts",
    "task": "context.replay_tasks",
    "decision": "context.replay_decisions",
    "handoff": "context.replay_handoffs",
}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a bundle is asked for; with the reader and the position, all that it depends on."""

    session_id: str
    now: datetime
    query_text: str | None = None
    intent: str = "default"
    max_tokens: int = pack.TOTAL
    as_of: datetime | int | None = None
    weights: tuple[float, float, float] | None = None
    sections: tuple[str, ...] = render.SECTIONS
    format: str = "sections"
    provider: str = "anthropic"

    @property
    def scoring(self) -> tuple[float, float, float]:
        return self.weights or score.PRESETS.get(self.intent, score.PRESETS["default"])


@dataclass(frozen=True, kw_only=True)
class Receipt:
    acb_id: str
    reader: Reader
    asked: Asked
    position: int
    record: Mapping[str, Any]  # sections, omissions, provenance


def without_secrets(reader: Reader, asked: Asked) -> Asked:
    """`asked` as it may be recorded; refused where the secret names a thing."""
    redact.refuse(session_id=asked.session_id, user_id=reader.user_id, agent_id=reader.agent_id)
    question = asked.query_text and redact.text(asked.query_text)
    return replace(asked, query_text=question, intent=redact.text(asked.intent))


def make(
    filled: Mapping[str, Filled], omitted: Iterable[Omission], provenance: Mapping[str, Any]
) -> dict[str, Any]:
    """What a receipt records of a bundle."""
    sections = {
        name: {"used": part.used, "items": [_kept(one) for one in part.items]}
        for name, part in filled.items()
    }
    evidence = filled["retrieved_evidence"].items if "retrieved_evidence" in filled else ()
    return {
        "sections": sections,
        "parts": [*evidence[0].parts] if evidence else [],  # their names, once for all items
        "values": _packed(evidence),
        "omissions": [vars(one) for one in omitted],
        "provenance": provenance,
    }


def _kept(one: Item) -> list[Any]:
    return [one.type, one.position, one.tokens, one.ordinals, one.cut]


def _packed(evidence: Sequence[Item]) -> str:
    """Scores and their parts, which have six digits: as JSON they were most of a receipt, and the
    database took half of its time to read them.
    """
    table = np.array([[one.score, *one.parts.values()] for one in evidence])
    return b64encode(np.rint(table.T * DIGITS).astype("<i4").tobytes()).decode()


def _unpacked(record: Mapping[str, Any]) -> Iterator[tuple[float, dict[str, float]]]:
    """Of each item that has a score, in order."""
    values = np.frombuffer(b64decode(record["values"]), "<i4")
    rows = (values.reshape(len(record["parts"]) + 1, -1).T / DIGITS).tolist()
    return ((row[0], dict(zip(record["parts"], row[1:], strict=True))) for row in rows)


async def keep(pool: db.Pool, receipt: Receipt, head: int, *, sealing: bool) -> bool:
    """False, and nothing is kept, if something was erased since the log ended at `head`.

    `sealing` where the tenant has keys for what is `high`: a question may quote it.
    """
    tenant_id, now = receipt.reader.tenant_id, receipt.asked.now
    kept = ({"reader": vars(receipt.reader), "asked": vars(receipt.asked)}, receipt.record)
    if sealing or not receipt.position:
        async with db.tenant(pool, tenant_id) as conn:
            # Perhaps nothing was ever recorded here.
            await conn.execute(db.query("record.add_tenant"), tenant_id, now)
            kept = await receipts.sealed(conn, receipt.reader, receipt.acb_id, *kept)
    values = (tenant_id, receipt.acb_id, now, receipt.position, *kept, head)
    async with db.borrow(pool) as conn:
        return bool(await conn.fetchval(db.query("context.add_receipt"), *values))


async def load(conn: db.Conn, tenant_id: str, acb_id: str) -> Receipt:
    row = await conn.fetchrow(db.query("context.receipt"), tenant_id, acb_id)
    if row is None:
        raise errors.NotFound(f"there is no bundle {acb_id!r} that you may see")
    if "values" not in row["items"]:
        raise errors.Gone(f"bundle {acb_id!r} showed what was erased, or is too old: build anew")
    inputs, record = receipts.opened(conn, acb_id, row["inputs"], row["items"])
    asked = inputs["asked"]
    return Receipt(
        acb_id=acb_id,
        reader=Reader(**inputs["reader"]),
        asked=Asked(**{**asked, "now": datetime.fromisoformat(asked["now"])}),
        position=row["position"],
        record=record,
    )


async def replay(conn: db.Conn, receipt: Receipt) -> Bundle:
    """The bundle again, from the rows that its receipt names."""
    sections = receipt.record["sections"]
    rows = await _rows(
        conn, receipt.reader.tenant_id, [one for part in sections.values() for one in part["items"]]
    )
    scores = _unpacked(receipt.record)
    packed = {name: _replayed(part["items"], rows, scores) for name, part in sections.items()}
    return await answer(receipt, packed)


async def _rows(conn: db.Conn, tenant_id: str, kept: Sequence[Any]) -> dict[tuple[str, int], Any]:
    """The rows of a receipt's items, by type and position; of chunks, a list."""
    found: dict[tuple[str, int], Any] = {}
    for kind, name in _REPLAYS.items():
        places = [one[1] for one in kept if one[0] == kind]
        rows = await conn.fetch(db.query(name), tenant_id, places) if places else []
        found |= {(kind, row["position"]): row for row in rows}
    chunked = [one for one in kept if one[0] not in _REPLAYS]
    places, ordinals = [one[1] for one in chunked], [at for one in chunked for at in one[3]]
    asked = (tenant_id, places, items.TURN_CHUNKS, ordinals)
    for row in await conn.fetch(db.query("context.replay_chunks"), *asked):
        found.setdefault(("chunk", row["position"]), []).append(row)
    return found


def _replayed(
    kept: Sequence[Any],
    rows: Mapping[tuple[str, int], Any],
    scores: Iterator[tuple[float, dict[str, float]]],
) -> list[Item]:
    made = []
    for kind, position, used, ordinals, cut in kept:
        if kind in items.WHOLE:
            one = items.WHOLE[kind]({**rows[kind, position], "over": ordinals})
        elif kind == "chunk":
            chunks = [row for row in rows["chunk", position] if row["ordinal"] in ordinals]
            one = items.evidence(chunks, *next(scores))
        else:
            one = items.turn(rows["chunk", position])
        made.append(replace(one, cut=cut, tokens=used))
    return made


async def answer(receipt: Receipt, packed: Mapping[str, Sequence[Item]]) -> Bundle:
    """The bundle as it is sent; the same from the receipt as from the first build."""
    used = {name: part["used"] for name, part in receipt.record["sections"].items()}
    texts = {
        name: render.numbered(name, (one.text for one in packed[name]))
        for name in render.SECTIONS
        if name in used
    }
    found: Bundle = {
        "acb_id": receipt.acb_id,
        "budget_tokens": receipt.asked.max_tokens,
        "token_used_est": sum(used.values()),
        "sections": [
            {"name": name, "items": list(map(_shown, packed[name], said)), "token_est": used[name]}
            for name, said in texts.items()
        ],
        "omissions": [_given(one) for one in receipt.record["omissions"]],
        "provenance": ids.in_order(receipt.record["provenance"]),
    }
    if receipt.asked.format == "messages":
        found["messages"] = render.messages(receipt.asked.provider, list(texts.items()))
    return found


def _shown(one: Item, text: str) -> dict[str, Any]:
    kind = one.type if one.names else "text"
    found = {"type": kind, **one.names, "text": text, "refs": one.refs, "tokens": one.tokens}
    if one.score is not None:
        found |= {"score": one.score, "parts": one.parts}
    return found


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: values[name] for name in sorted(values) if values[name] not in (None, "")}
