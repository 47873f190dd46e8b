"""Recording events for a caller: prepared beside others' requests, then committed.

Every door and tool that records what a client sends passes here, on the way to the write path.
"""

import asyncio
import functools
from collections.abc import Sequence
from datetime import datetime

from memoryd import violations
from memoryd.core import db, errors, privacy, record
from memoryd.core.model import MAX_NAMES, Caller, Draft, Event, Reader, Recorded
from memoryd.custody import audit, keys
from memoryd.daemon import Daemon, entropy, now

# Of text; more is filtered, cut and counted in a thread, so that others are served: the worst text
# costs the filter 15 µs a character.
INLINE_BYTES = 8 * 1024
DRAFTS_A_TURN = 10  # of a batch, about a millisecond of work, before others get a turn


async def prepare(
    caller: Caller, drafts: Sequence[Draft], output: bytes | None = None, within: str = ""
) -> list[record.Write]:
    """Cut and count each draft: a short one here, a long one in a thread.

    A refusal names the draft by its place, as `events.3.ts`, when they came `within` a list.

    A thread for short ones too would fight the event loop for the interpreter's lock, which made
    batches ten times slower; others are let in between instead.
    """
    moment = now()
    writes = []
    for at, draft in enumerate(drafts):
        size = len(output or b"") + sum(len(str(value)) for value in draft.content.values())
        place = f"{within}.{at}." if within else ""
        work = functools.partial(_prepare, caller, draft, moment, output, place)
        writes.append(await asyncio.to_thread(work) if size > INLINE_BYTES else work())
        if at % DRAFTS_A_TURN == DRAFTS_A_TURN - 1:
            await asyncio.sleep(0)
    return writes


async def commit(daemon: Daemon, caller: Caller, writes: Sequence[record.Write]) -> list[Recorded]:
    """Write them to the log, and note that this was done."""
    await _check_refs(daemon, caller, [write.event for write in writes])
    answers = await daemon.group.commit(caller.tenant_id, writes)
    first = writes[0].event
    eyes = Reader(
        tenant_id=first.tenant_id,
        channel=first.channel,
        user_id=first.user_id,
        agent_id=first.agent_id,
    )
    audit.tell(reader=eyes, recorded=len(answers), ref=answers[0].event_id)
    return answers


async def _check_refs(daemon: Daemon, caller: Caller, events: Sequence[Event]) -> None:
    """A task refers to no more than an event may, however many events made it what it is. It is
    checked here, and not where a task is changed: a log in which one went past that is replayed.
    """
    updates = [one for one in events if one.kind == "task_update" and one.content.get("task_id")]
    if not any(one.refs for one in updates):
        return
    task_ids = list({one.content["task_id"] for one in updates})
    async with db.tenant(daemon.pool, caller.tenant_id) as conn:
        rows = await conn.fetch(db.query("tasks.refs"), caller.tenant_id, task_ids)
    held = {tuple(row)[:4]: {*row["refs"]} for row in rows}
    for one in updates:
        owner = one.user_id if one.channel == "private" else ""
        refs = held.setdefault((one.content["task_id"], one.channel, one.sensitivity, owner), set())
        if len(refs | {*one.refs}) > max(len(refs), MAX_NAMES):
            raise errors.Invalid(
                f"task {one.content['task_id']!r} refers to {len(refs)} ids already: name those "
                "that are new in a task of their own",
                field="refs",
                limit=str(MAX_NAMES),
            )
        refs.update(one.refs)


def _prepare(
    caller: Caller, draft: Draft, moment: datetime, output: bytes | None, place: str
) -> record.Write:
    try:
        if caller.key_id is None and draft.tenant_id not in (None, caller.tenant_id):
            raise keys.elsewhere(caller, "tenant_id")
        write = record.prepare(caller, draft, moment, entropy(), output)
        _check_sight(caller, write.event)
    except errors.MemorydError as error:
        violations.reword(error)
        if error.field:
            error.field = place + error.field
        raise
    return write


def _check_sight(caller: Caller, event: Event) -> None:
    """What a key cannot read it does not change either: the answer would tell of it."""
    changes = event.content.get("supersedes") or event.content.get("task_id")
    if event.kind not in ("decision", "task_update") or not changes or not caller.channel:
        return
    if event.sensitivity not in privacy.RULES[caller.channel].sensitivities:
        raise errors.Forbidden(
            f"a key of channel {caller.channel!r} does not see what is {event.sensitivity!r}, "
            "and so does not change it",
            field="sensitivity",
        )
