"""Running the tools of the log and of bundles."""

import base64
import codecs
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from memoryd import bundling, recording
from memoryd.core import db, read, render
from memoryd.core.model import Actor, Draft
from memoryd.core.receipt import Asked
from memoryd.custody import audit
from memoryd.daemon import now
from memoryd.ledger import decisions, texts
from memoryd.tools.call import Call, Result
from memoryd.tools.log import BuildAcbArgs, GetArtifactArgs, QueryDecisionsArgs, RecordEventArgs

SESSION = "default"  # where neither the call nor its arguments name one


async def _record_event(call: Call, given: RecordEventArgs) -> Result:
    origin = call.origin
    content = {**(given.content or {}), **({} if given.text is None else {"text": given.text})}
    draft = Draft(
        session_id=given.session_id or origin.conversation_id or SESSION,
        actor=Actor(type=given.actor_type, id=given.actor_id or call.reader.agent_id),
        kind=given.kind,
        content=content,
        user_id=origin.user_id,
        agent_id=origin.agent_id,
        channel=origin.channel,
        sensitivity=given.sensitivity,
        tags=tuple(given.tags),
        refs=tuple(given.refs),
        idempotency_key=given.idempotency_key or origin.idempotency_key,
    )
    writes = await recording.prepare(call.caller, [draft])
    (done,) = await recording.commit(call.daemon, call.caller, writes)
    return asdict(done)


async def _build_acb(call: Call, given: BuildAcbArgs) -> Result:
    asked = Asked(
        session_id=given.session_id or call.origin.conversation_id or SESSION,
        now=now(),
        query_text=(given.query_text or "").strip() or None,
        intent=given.intent,
        max_tokens=bundling.budget(given.max_tokens, call.daemon.settings.max_bundle_tokens),
        sections=tuple(given.sections or render.SECTIONS),
    )
    made = await bundling.build(call.daemon, call.reader, asked)
    parts = [(one["name"], [item["text"] for item in one["items"]]) for one in made["sections"]]
    return {**made, "text": render.text(parts)}


async def _get_artifact(call: Call, given: GetArtifactArgs) -> Result:
    pool, tenant_id = call.daemon.pool, call.reader.tenant_id
    async with db.tenant(pool, tenant_id) as conn:
        found = await read.artifact(conn, call.reader, given.artifact_id)
    start = min(given.start, found.size)
    stop = min(start + given.length, found.size)
    pieces = read.stream(pool, tenant_id, found, start, stop)
    body = b"".join([one async for one in pieces])
    audit.tell(items=1, ref=found.artifact_id)
    named = {"artifact_id": found.artifact_id, "media_type": found.media_type, "size": found.size}
    return {**named, **_shown(body, start)}


def _shown(body: bytes, start: int) -> dict[str, Any]:
    """As text where it is some, from its first whole letter to its last.

    >>> _shown("el día".encode()[:5], 0), _shown("día".encode()[2:], 2)
    ({'start': 0, 'stop': 4, 'text': 'el d'}, {'start': 3, 'stop': 4, 'text': 'a'})
    >>> _shown(bytes([255, 254]), 0)
    {'start': 0, 'stop': 2, 'bytes': '//4='}
    """
    cut = next((at for at in range(len(body)) if at > 2 or body[at] & 0xC0 != 0x80), 0)
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(body[cut:])
    except UnicodeDecodeError:
        text = ""
    if body and (not text or "\x00" in text):
        encoded = base64.b64encode(body).decode()
        return {"start": start, "stop": start + len(body), "bytes": encoded}
    first = start + cut
    return {"start": first, "stop": first + len(text.encode()), "text": text}


async def _query_decisions(call: Call, given: QueryDecisionsArgs) -> Result:
    standing = None if given.status == "all" else given.status
    filters = decisions.Filters(status=standing, scope=given.scope)
    pool, reader = call.daemon.pool, call.reader
    if given.text is None:
        async with db.tenant(pool, reader.tenant_id) as conn:
            found = await decisions.page(
                conn, reader, filters, as_of=texts.LATEST, limit=given.limit + 1
            )
    else:
        who = (pool, call.daemon.searcher, reader, filters, given.text)
        found = await decisions.ranked(*who, now=now(), as_of=texts.LATEST)
    audit.tell(items=min(len(found), given.limit))
    shown = [asdict(one) for one in found[: given.limit]]
    return {"decisions": shown, "more": len(found) > given.limit}


HANDLERS: dict[str, Callable[[Call, Any], Awaitable[Result]]] = {
    "memory_record_event": _record_event,
    "memory_build_acb": _build_acb,
    "memory_get_artifact": _get_artifact,
    "memory_query_decisions": _query_decisions,
}
