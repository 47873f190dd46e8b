"""The isolation self-test: two throw-away tenants, and every way from one to the other.

Over HTTP it asks whatever routes the daemon's own API document lists, so a new route is tried
without anyone thinking of it; in SQL it works as the daemon's role. It leaves nothing behind.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg
import httpx

from memoryd.core import db, errors, ids
from memoryd.custody import audit, erase_act, isolation_sql, keys
from memoryd.custody.isolation_sql import Attempt

PREFIX = "memoryd.doctor.isolation."
TRIES = 20  # to remove rows that a worker adds meanwhile, or that writers lock
PAUSE = 0.3  # seconds between them


@dataclass(frozen=True)
class Tenant:
    name: str
    key: str


@dataclass(frozen=True)
class Victim:
    """What there is to be found: a word in every text, and ids."""

    tenant: Tenant
    word: str
    ids: Mapping[str, str]

    def shown(self, answer: httpx.Response, sent: str) -> list[str]:
        """What the answer tells that the question did not."""
        text = f"{answer.headers} {answer.text}"
        known = [self.word, *(one for name, one in self.ids.items() if name != "name")]
        return [one for one in known if one in text and one not in sent]


async def examine(target: db.Target, client: httpx.AsyncClient, now: datetime) -> list[Attempt]:
    """Every attempt, in the order in which it was made; those that got across are not ok.

    The daemon of another database does not know the keys: that is no leak, but Unauthorized.
    """
    async with throwaway(target, now) as (own, victim_tenant):
        try:
            victim = await _fill(client, victim_tenant)
        except (errors.Unavailable, KeyError) as error:
            return [Attempt("http: what the daemon answers", False, str(error))]
        before = await _size(target, victim.tenant.name)
        found = await _routes(client, own, victim)
        found += await isolation_sql.attempts(target, own.name, victim.tenant.name)
        after = await _size(target, victim.tenant.name)
        detail = "as before" if before == after else f"{before} rows before, {after} after"
        found.append(Attempt("the victim's rows", before == after, detail))
    left = await _leftovers(target, [own.name, victim.tenant.name])
    found.append(Attempt("nothing is left behind", not left, left or "all rows are gone"))
    return found


@asynccontextmanager
async def throwaway(target: db.Target, now: datetime) -> AsyncIterator[tuple[Tenant, Tenant]]:
    """Two tenants with a key each, removed at the end, also of a test that failed."""
    owner = await db.connect(target, db.OWNER)
    made: list[str] = []
    try:
        for row in await owner.fetch(db.query("isolation.left_behind")):
            await _forget(owner, row["tenant_id"], now)
        made += [PREFIX + secrets.token_hex(8) for _ in range(2)]
        one, two = [await _make(owner, name, now) for name in made]
        yield one, two
    finally:
        await asyncio.shield(_clean(owner, made, now))


async def _clean(owner: asyncpg.Connection, made: list[str], now: datetime) -> None:
    """Twice: a daemon writes down within a second that they were asked for."""
    for name in made:
        await _forget(owner, name, now)
    await asyncio.sleep(audit.FLUSH_SECONDS * 1.5)
    for name in made:
        await _forget(owner, name, now)
    await owner.close()


async def _make(owner: asyncpg.Connection, name: str, now: datetime) -> Tenant:
    await owner.execute(db.query("isolation.hold"), name)
    async with owner.transaction():
        await db.set_tenant(owner, name)
        secret = secrets.token_urlsafe(32)
        _, text = await keys.create(owner, tenant_id=name, role="admin", secret=secret, now=now)
        return Tenant(name, text)


async def _forget(owner: asyncpg.Connection, tenant_id: str, now: datetime) -> None:
    """Remove all rows of a throw-away tenant, whatever the daemon still adds to them."""
    for _ in range(TRIES):
        try:
            async with owner.transaction():
                await db.set_tenant(owner, tenant_id)
                await owner.execute(db.query("isolation.wait_briefly"))
                if not await _count(owner):
                    return
                entropy = secrets.token_bytes(ids.ENTROPY_BYTES)
                await erase_act.begin(owner, tenant_id, "self-test", now=now, entropy=entropy)
                await owner.execute(db.query("isolation.forget"))
        except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError):
            pass  # a writer was first; it will be done soon
        await asyncio.sleep(PAUSE)


async def _count(conn: asyncpg.Connection) -> int:
    tables = [row[0] for row in await conn.fetch(db.query("isolation.tables"))]
    counts = [
        await conn.fetchval(isolation_sql.on(table, "isolation.count"))
        for table in tables
        if table not in ("tenants", "keys")  # of these the owner sees everyone's
    ]
    tenant: str = await conn.fetchval("select memoryd.current_tenant()")
    own = [
        await conn.fetchval(isolation_sql.on(table, "isolation.count_of"), tenant)
        for table in ("tenants", "keys")
    ]
    return int(sum(counts) + sum(own))


async def _size(target: db.Target, tenant_id: str) -> int:
    """Rows of a tenant that a request could change: not its search index, nor what is audited."""
    conn = await db.connect(target, db.APP)
    try:
        async with conn.transaction():
            await db.set_tenant(conn, tenant_id)
            tables = ("events", "artifacts", "keys", "decisions", "tasks", "view_texts", "memories")
            count = "isolation.count"
            return sum([await conn.fetchval(isolation_sql.on(one, count)) for one in tables])
    finally:
        await conn.close()


async def _leftovers(target: db.Target, names: list[str]) -> str:
    owner = await db.connect(target, db.OWNER)
    try:
        left = []
        for name in names:
            async with owner.transaction():
                await db.set_tenant(owner, name)
                if count := await _count(owner):
                    left.append(f"{count} rows of {name}")
        return ", ".join(left)
    finally:
        await owner.close()


# Over HTTP.


async def _fill(client: httpx.AsyncClient, tenant: Tenant) -> Victim:
    """One of everything, written through the API as any client would."""
    word = f"zanzibar{secrets.token_hex(6)}"
    own = {"session_id": "isolation", "channel": "public"}
    said = {"actor": {"type": "human", "id": "doctor"}, "kind": "message"}
    event = {**own, **said, "content": {"text": f"The {word} is mine."}, "idempotency_key": "one"}
    made: dict[str, str] = {"name": "rules.project", "tenant_id": tenant.name}

    async def do(method: str, path: str, **given: Any) -> dict[str, Any]:
        answer = await ask(client, tenant.key, method, path, **given)
        if answer.status_code == errors.Unauthorized.status:
            raise errors.Unauthorized(f"{client.base_url} does not know a key that was just made")
        if not answer.is_success:
            raise errors.Unavailable(f"{method} {path} answers {answer.status_code}: {answer.text}")
        body: dict[str, Any] = answer.json()
        made.update({name: one for name, one in body.items() if _is_id(one)})
        return body

    made["event_id"] = first = (await do("POST", "/api/v1/events", json=event))["event_id"]
    await do("POST", "/api/v1/decisions", json={**own, "decision": f"We take the {word}."})
    await do("POST", "/api/v1/tasks", json={**own, "title": f"Fetch the {word}."})
    await do("POST", "/api/v1/artifacts", params=own, content=f"{word} in bytes".encode())
    await do("PUT", "/api/v1/views/rules.project", json={"text": f"Guard the {word}."})
    summary = {**own, "text": f"All of the {word}.", "cites": [first]}
    await do("POST", "/api/v1/summaries", json=summary)
    handoff = {"to_agent": "default", "note": f"Take the {word}.", "channel": "public"}
    await do("POST", "/api/v1/handoffs", json=handoff)
    await do("POST", "/api/v1/acb/build", json={**own, "query_text": word})
    fact = {"content": f"Remember the {word}.", "category": "context", "channel": "public"}
    made["memory_id"] = (await do("POST", "/api/memory/", json={**fact, "user_id": "x"}))["id"]
    made["place_id"] = place = f"place-{secrets.token_hex(6)}"
    kept = {"place_id": place, "place_name": f"Where the {word} lies"}
    await do("POST", "/api/v1/users/x/memory/places", json=kept)
    await do("POST", "/api/v1/agents/x/memories", json={"content": f"I like the {word}."})
    await do("POST", "/api/v1/teams/x/memories", json={"content": f"We have the {word}."})
    return Victim(tenant, word, {**made, "event_id": first})


def _is_id(value: Any) -> bool:
    """`evt_01H…`: not a name, which others may have too."""
    return isinstance(value, str) and len(value) == 30 and value[3] == "_"


async def ask(
    client: httpx.AsyncClient, key: str, method: str, path: str, **given: Any
) -> httpx.Response:
    headers = {"authorization": f"Bearer {key}"}
    try:
        return await client.request(method, path, headers=headers, **given)
    except httpx.TransportError as error:
        raise errors.Unavailable(f"the daemon does not answer: {error}") from error


async def _routes(client: httpx.AsyncClient, own: Tenant, victim: Victim) -> list[Attempt]:
    document = (await ask(client, own.key, "GET", "/openapi.json")).json()
    return [
        await _route(client, own, victim, method.upper(), path, "octet" in str(operation))
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


async def _route(
    client: httpx.AsyncClient, own: Tenant, victim: Victim, method: str, path: str, raw: bool
) -> Attempt:
    """The route with the victim's ids, name and words, in every place where one could put them.
    A `raw` body would be kept as it is, and what it says of the victim found again, rightly.
    """
    ids = {**dict.fromkeys(_names(path), "x"), **victim.ids}
    address = path.format(**ids)
    statuses: list[int] = []
    leaks: set[str] = set()
    asked = _messages(victim) if path == "/mcp" else _questions(victim)
    for params, body in [one for one in asked if not raw or one[1] is None]:
        answer = await ask(client, own.key, method, address, params=params, json=body)
        statuses.append(answer.status_code)
        leaks |= set(victim.shown(answer, f"{address} {params} {body}"))
        if answer.status_code >= 500:
            leaks.add(f"status {answer.status_code}")
        if answer.is_success and victim.tenant.name in f"{params} {body}" and method != "GET":
            leaks.add("it was taken in another tenant's name")
    seen = ", ".join(map(str, sorted(set(statuses))))
    detail = f"{len(statuses)} attempts: {seen}" if not leaks else "; ".join(sorted(leaks))
    return Attempt(f"http: {method} {path}", not leaks, detail)


def _names(path: str) -> list[str]:
    return [part.partition("}")[0] for part in path.split("{")[1:]]


def _questions(victim: Victim) -> list[tuple[dict[str, str], Any]]:
    """What is sent in the address and in the body; a body that a route does not take is refused,
    and says so in the statuses.
    """
    ids, word = victim.ids, victim.word
    foreign = {"tenant_id": victim.tenant.name}
    own = {"session_id": "isolation", "channel": "public"}
    said = {"actor": {"type": "human", "id": "x"}, "kind": "message", "content": {"text": "x"}}
    bodies: list[Any] = [
        None,
        {**own, **said, "idempotency_key": "one"},
        {"events": [{**own, **said, "refs": [ids["event_id"]]}]},
        *({"query": word}, {**own, "query_text": word}, {"against": ids["acb_id"]}),
        {**own, "decision": "x", "supersedes": ids["decision_id"]},
        {**own, "task_id": ids["task_id"], "status": "done"},
        {**own, "text": "x", "cites": [ids["event_id"]]},
        {"to_agent": "default", "evidence": [ids["event_id"]]},
        {"session_id": "isolation", "agent_id": "default"},
        *({"version": ids["event_id"]}, {"text": "mine"}, {"version": 1}),
        {"content": "Mine is another", "category": "context"},
        {"content": "Mine is another"},
        {"conversation_id": "isolation", "message_id": "x"},
    ]
    nowhere: dict[str, str] = {}
    plain: list[tuple[dict[str, str], Any]] = [(nowhere, body) for body in bodies]
    named = [(nowhere, {**body, **foreign}) for body in bodies if body]
    asked = [(foreign, None), ({"session_id": "isolation"}, None), ({"user_id": "default"}, None)]
    texts = [({"text": word, "status": "all"}, None), ({"version": ids["event_id"]}, None)]
    return [*plain, *named, *asked, *texts]


def _messages(victim: Victim) -> list[tuple[dict[str, str], Any]]:
    """The same in the words of MCP."""
    ids = victim.ids
    asked: list[tuple[str, dict[str, Any]]] = [
        ("resources/list", {}),
        ("resources/read", {"uri": f"memory://bundle/{ids['acb_id']}"}),
        ("resources/read", {"uri": f"memory://views/{ids['name']}"}),
        ("prompts/get", {"name": "recall", "arguments": {"about": victim.word}}),
        ("tools/call", {"name": "get_artifact", "arguments": {"artifact_id": ids["artifact_id"]}}),
        ("tools/call", {"name": "query_decisions", "arguments": {"status": "all"}}),
        ("tools/call", {"name": "retrieve_memory", "arguments": {"memory_key": ids["event_id"]}}),
    ]
    said = [{"jsonrpc": "2.0", "id": 1, "method": one, "params": more} for one, more in asked]
    return [({}, one) for one in said] + [({"tenant_id": victim.tenant.name}, said[0])]
