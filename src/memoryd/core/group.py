"""Group commit: the writes that wait for one tenant go into one transaction.

One transaction a tenant is under way at a time; what arrives meanwhile makes up the next. That is
what turns a durable commit per request into hundreds of them a second.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from memoryd.core import db, errors, record
from memoryd.core.model import Recorded
from memoryd.core.record import Write

MOST_EVENTS = 1_000  # in one transaction, so that nobody waits long for the lock
MOST_WAITING = 10_000  # events; past that the daemon is asked for more than it can do


@dataclass(frozen=True)
class _Waiting:
    writes: Sequence[Write]
    answer: asyncio.Future[list[Recorded]]


class GroupCommit:
    """Every write of this process passes here."""

    def __init__(
        self,
        pool: db.Pool,
        clock: Callable[[], datetime],
        committed: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._pool = pool
        self._clock = clock
        self._committed = committed  # is told whose log has grown
        self._queues: dict[str, list[_Waiting]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def commit(self, tenant_id: str, writes: Sequence[Write]) -> list[Recorded]:
        """Return when `writes` are durable: all of them, or none and an error.

        A caller that goes away changes nothing: the transaction is not its own.
        """
        waiting = _Waiting(writes, asyncio.get_running_loop().create_future())
        queue = self._queues.get(tenant_id)
        if queue is None:
            self._queues[tenant_id] = [waiting]
            task = asyncio.create_task(self._drain(tenant_id))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif sum(len(other.writes) for other in queue) > MOST_WAITING:
            raise errors.Unavailable("too many writes are waiting; try again in a second")
        else:
            queue.append(waiting)
        return await asyncio.shield(waiting.answer)

    async def finish(self) -> None:
        """Wait until nothing is waiting any more."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _drain(self, tenant_id: str) -> None:
        queue = self._queues[tenant_id]
        while queue:
            group = _take(queue)
            try:
                await self._commit_group(tenant_id, group)
            except BaseException as error:  # the callers wait: whatever it is, they must hear it
                for waiting in group:
                    _fail(waiting, error)
                if not isinstance(error, Exception):
                    raise
        del self._queues[tenant_id]

    async def _commit_group(self, tenant_id: str, group: list[_Waiting]) -> None:
        """One transaction for all; if one of them spoils it, one for each."""
        try:
            answers = await self._transact(tenant_id, group)
        except db.CONNECTION_LOST:
            raise
        except Exception:
            if len(group) == 1:
                raise
            for waiting in group:
                try:
                    _answer(waiting, (await self._transact(tenant_id, [waiting]))[0])
                except Exception as error:  # noqa: BLE001  # handed to the one who asked
                    _fail(waiting, error)
        else:
            for waiting, answer in zip(group, answers, strict=True):
                _answer(waiting, answer)

    async def _transact(self, tenant_id: str, group: list[_Waiting]) -> list[list[Recorded]]:
        writes = [write for waiting in group for write in waiting.writes]
        async with db.borrow(self._pool) as conn, conn.transaction():
            answers = iter(await record.append(conn, tenant_id, writes, self._clock()))
        self._committed(tenant_id)
        return [[next(answers) for _ in waiting.writes] for waiting in group]


def _take(queue: list[_Waiting]) -> list[_Waiting]:
    """The next group: whole requests, in the order they came."""
    taken, events = 0, 0
    while taken < len(queue) and (not taken or events + len(queue[taken].writes) <= MOST_EVENTS):
        events += len(queue[taken].writes)
        taken += 1
    group = queue[:taken]
    del queue[:taken]
    return group


def _answer(waiting: _Waiting, answer: list[Recorded]) -> None:
    if not waiting.answer.done():
        waiting.answer.set_result(answer)


def _fail(waiting: _Waiting, error: BaseException) -> None:
    if not waiting.answer.done():
        waiting.answer.set_exception(error)
