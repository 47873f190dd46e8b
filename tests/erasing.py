"""What the tests of erasure share: a history that has everything, and an erasure of some of it."""

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import make
from memoryd import embed
from memoryd.core import db, errors, ids, record
from memoryd.core.model import Actor
from memoryd.custody import erase, erase_act, erasure, rebuild
from memoryd.search import index, vectors

ENCODER = embed.Encoder()
TENANT = "t"
PROVEN = erasure.Steps(verify=True)
USERS = ("ada", "bob", "eve")


def silent(*_: object) -> None:
    pass


@asynccontextmanager
async def owning(target: db.Target, owner: str | None = db.OWNER) -> AsyncIterator[db.Conn]:
    conn = await db.connect(target, owner)
    try:
        yield conn
    finally:
        await conn.close()


async def erased(
    target: db.Target, what: erase_act.What, name: str, tenant_id: str = TENANT, **more: Any
) -> erase.Done:
    asked = erase_act.Asked(
        tenant_id=tenant_id, what=what, name=name, by="key_1", reason="asked to"
    )
    given = {"now": make.NOW, "entropy": make.entropy(), **more}
    async with owning(target) as conn:
        return await erase.erase(conn, asked, ENCODER, **given)


async def rows(
    target: db.Target,
    statement: str,
    *values: Any,
    tenant_id: str = TENANT,
    owner: str | None = db.OWNER,
) -> Any:
    async with owning(target, owner) as conn, conn.transaction():
        await db.set_tenant(conn, tenant_id)
        return await conn.fetch(statement, *values)


async def replayed(target: db.Target) -> dict[str, int]:
    """Rows in which the views differ from a replay of the log."""
    found = await rebuild.rebuild(target, silent)
    return {view: count for one in found for view, count in one.differed.items() if count}


async def store(
    target: db.Target, writes: Sequence[record.Write], tenant_id: str = TENANT
) -> list[str]:
    """Each in a transaction of its own; those that are refused are left out."""
    kept = []
    async with owning(target) as conn:
        for write in writes:
            try:
                async with conn.transaction():
                    await record.append(conn, tenant_id, [write], make.NOW)
            except errors.MemorydError:
                continue
            kept.append(write.event.event_id)
    return kept


async def indexed(target: db.Target, tenant_id: str = TENANT) -> None:
    """Everything in segments, with vectors."""
    async with owning(target) as conn:
        more = 1
        while more:
            async with conn.transaction():
                await db.set_tenant(conn, tenant_id)
                more = await index.flush(conn, tenant_id, least=1)
                more += await vectors.embed_next(conn, tenant_id, ENCODER)


def write(user: str, session: str, text: str, **given: Any) -> record.Write:
    said = {"user_id": user, "session_id": session, "content": {"text": text}, **given}
    return make.write(TENANT, actor=Actor(type="human", id=user), **said)


class History:
    """Random events that refer to one another; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)
        self._made: dict[str, list[str]] = {"evt": [], "dec": [], "tsk": [], "hnd": []}
        self.writes: list[record.Write] = []

    def grow(self, events: int) -> list[record.Write]:
        kinds = [self._message, self._decide, self._plan, self._edit, self._sum_up, self._hand_over]
        for _ in range(events):
            made = self._dice.choice(kinds)()
            self.writes.append(made)
            self._made["evt"].append(made.event.event_id)
        return self.writes

    def _pick(self, kind: str) -> str | None:
        made = self._made[kind][-6:]
        return self._dice.choice(made) if made and self._dice.random() < 0.7 else None

    def _new(self, kind: str, content: dict[str, Any], **given: Any) -> record.Write:
        said = {
            "user_id": self._dice.choice(USERS),
            "session_id": f"s{self._dice.randrange(3)}",
            "channel": self._dice.choice(("private", "team", "team")),
            **given,
        }
        return make.write(TENANT, kind=kind, content=content, **said)

    def _words(self) -> str:
        return " ".join(self._dice.choices(("ship", "boat", "tabs", "spaces", "late", "soon"), k=4))

    def _message(self) -> record.Write:
        return self._new("message", {"text": self._words()})

    def _decide(self) -> record.Write:
        made = self._new("decision", {"decision": self._words(), "supersedes": self._pick("dec")})
        self._made["dec"].append(ids.same("dec", made.event.event_id))
        return made

    def _plan(self) -> record.Write:
        if task := self._pick("tsk"):
            change = self._dice.choice(({"title": self._words()}, {"status": "doing"}))
            return self._new("task_update", {"task_id": task, **change}, channel="team")
        made = self._new("task_update", {"title": self._words()}, channel="team")
        self._made["tsk"].append(ids.same("tsk", made.event.event_id))
        return made

    def _edit(self) -> record.Write:
        said = {"name": "rules.project", "owner": "", "text": self._words()}
        before = [one.event for one in self.writes if one.event.kind == "view"]
        if before and self._dice.random() < 0.7:
            said["replaces"] = before[-1].event_id
        return self._new("view", said, channel="team")

    def _sum_up(self) -> record.Write:
        cited = [self._pick("evt") for _ in range(3)]
        refs = tuple(one for one in cited if one)
        said = {"about": "s1", "text": self._words()}
        return self._new("summary", said, channel="team", refs=refs)

    def _hand_over(self) -> record.Write:
        if handoff := self._pick("hnd"):
            said = {"handoff_id": handoff, "status": "accepted", "note": self._words()}
            return self._new("handoff", said, agent_id="bot", channel="team")
        cited = self._pick("evt")
        said = {"to_agent": "bot", "note": self._words(), "packet": self._words()}
        refs = (cited,) if cited else ()
        made = self._new("handoff", said, channel="team", refs=refs)
        self._made["hnd"].append(ids.same("hnd", made.event.event_id))
        return made


async def carried_out(
    target: db.Target,
    what: erase_act.What,
    name: str,
    steps: erasure.Steps = PROVEN,
    tenant_id: str = TENANT,
) -> erasure.Outcome:
    asked = erase_act.Asked(
        tenant_id=tenant_id, what=what, name=name, by="key_1", reason="asked to"
    )
    return await erasure.carry_out(
        target, asked, ENCODER, steps, now=make.NOW, entropy=make.entropy
    )


async def uncompressed(target: db.Target) -> None:
    """So that no compression can hide a word in a file."""
    conn = await db.connect(target, db.OWNER)
    columns = await conn.fetch(
        """
        select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid
        where c.relnamespace = 'memoryd'::regnamespace and c.relkind = 'r'
          and a.attnum > 0 and a.attstorage in ('x', 'm')
        """
    )
    for table, column in columns:
        await conn.execute(f"alter table {table} alter {column} set storage external")
    await conn.close()
