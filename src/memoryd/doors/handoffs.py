"""The HTTP API of handoffs: parse, one call, answer."""

from dataclasses import asdict, dataclass, replace
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import ConfigDict, Field, StringConstraints

from memoryd import recording, redact
from memoryd.core import db, errors, ids, privacy
from memoryd.core.model import Actor, Caller, Channel, Draft, Name, Reader, Recorded, Redacted
from memoryd.core.receipt import Asked
from memoryd.custody import audit
from memoryd.daemon import Daemon, now
from memoryd.doors import http
from memoryd.doors.access import DaemonOf, ReaderOf, WriterOf, problems, reader_for
from memoryd.doors.search import MAX_QUERY
from memoryd.ledger import handoffs
from memoryd.ledger.handoffs import Handoff

router = APIRouter(prefix="/api/v1/handoffs", tags=["handoffs"], route_class=http.JsonRoute)

Note = Annotated[str, StringConstraints(max_length=4_000, pattern=r"^[^\x00]*$")]
Status = Literal["pending", "accepted", "rejected"]


@dataclass(frozen=True, kw_only=True)
class HandoffAsked:
    __pydantic_config__ = ConfigDict(extra="forbid")

    to_agent: Annotated[Name, Field(description="Who is to go on with it.")]
    note: Annotated[Note, Field(description="What the receiver should know, in your words.")] = ""
    session_id: Annotated[Name, Field(description="Where it was worked on.")] = "default"
    evidence: Annotated[
        tuple[Name, ...], Field(max_length=64, description="Events to cite, by id.")
    ] = ()
    query_text: Annotated[
        str | None,
        StringConstraints(max_length=MAX_QUERY, pattern=r"^[^\x00]*$"),
        Field(description="What else to look for."),
    ] = None
    max_tokens: Annotated[int, Field(ge=200, le=handoffs.MOST, strict=True)] = handoffs.MOST
    channel: Annotated[
        Literal["agent", "team", "public"] | None, Field(description="Who may see it: `agent`.")
    ] = None
    tenant_id: Annotated[Name | None, Field(description="Must be the key's own.")] = None
    user_id: Name | None = None
    agent_id: Annotated[Name | None, Field(description="Who hands over.")] = None
    idempotency_key: Name | None = None


@dataclass(frozen=True, kw_only=True)
class AnswerAsked:
    __pydantic_config__ = ConfigDict(extra="forbid")

    agent_id: Annotated[Name | None, Field(description="The receiver.")] = None
    note: Note = ""
    tenant_id: Annotated[Name | None, Field(description="Must be the key's own.")] = None
    user_id: Name | None = None
    channel: Channel | None = None
    idempotency_key: Name | None = None


@dataclass(frozen=True, kw_only=True)
class AcceptAsked(AnswerAsked):
    """Accepted in a session in which nobody goes on, a packet would be in no bundle for good."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    session_id: Annotated[
        Name, Field(description="The session in which the receiver goes on: its bundles have it.")
    ]


@dataclass(frozen=True, kw_only=True)
class RejectAsked(AnswerAsked):
    __pydantic_config__ = ConfigDict(extra="forbid")

    session_id: Annotated[Name, Field(description="Where it was declined.")] = "default"


@dataclass(frozen=True, kw_only=True)
class HandedOver(Handoff):
    left_out: Annotated[
        tuple[str, ...],
        Field(
            description="Of the `evidence`, what is not in the packet: no room, or said already."
        ),
    ]
    redacted: Redacted = ()


@dataclass(frozen=True)
class HandoffPage:
    handoffs: tuple[Handoff, ...]
    next: Annotated[str | None, Field(description="Pass it as `cursor` for the next page.")]


@router.post("", status_code=201, responses=problems(400, 409, 413, 415))
async def make_handoff(asked: HandoffAsked, daemon: DaemonOf, caller: WriterOf) -> HandedOver:
    """Hand work over: a note, the evidence it names, open tasks and active decisions, within 6,000
    tokens. `left_out` names the evidence that had no room.

    Only what every reader of the handoff's channel may see goes into the packet; nothing private
    does. The receiver's next bundle has it in `handoff_packet`.
    """
    redact.refuse(to_agent=asked.to_agent)
    seen: set[str] = set()
    # Before the packet is made: a marker may have more tokens than what it stands for.
    asked = replace(asked, note=redact.text(asked.note, seen))
    channel = asked.channel or caller.channel or "agent"
    if channel == "private":
        raise errors.Forbidden("this key is pinned to `private`: it hands nothing over")
    reader = reader_for(caller, asked.tenant_id, channel, asked.user_id, asked.agent_id)
    packed = await _packet(asked, daemon, reader)
    content = {"to_agent": asked.to_agent, "note": asked.note, "packet": packed.text}
    draft = Draft(
        kind="handoff",
        session_id=asked.session_id,
        actor=Actor(type="agent", id=reader.agent_id),
        content=content,
        tenant_id=asked.tenant_id,
        user_id=reader.user_id,
        agent_id=reader.agent_id,
        channel=channel,
        refs=packed.refs,
        idempotency_key=asked.idempotency_key,
    )
    recorded = await _record(daemon, caller, draft, {**asdict(asked), **asdict(reader)})
    made = await _one(daemon, reader, ids.same("hnd", recorded.event_id))
    left_out = tuple(one for one in dict.fromkeys(asked.evidence) if one not in made.refs)
    found = tuple(sorted(seen | {*recorded.redacted}))
    return HandedOver(**vars(made), left_out=left_out, redacted=found)


async def _packet(asked: HandoffAsked, daemon: Daemon, reader: Reader) -> handoffs.Packet:
    wanted = Asked(
        session_id=asked.session_id,
        now=now(),
        query_text=(asked.query_text or "").strip() or None,
        max_tokens=asked.max_tokens,
    )
    cited = tuple(dict.fromkeys(asked.evidence))
    return await handoffs.packet(daemon.pool, daemon.searcher, reader, wanted, asked.note, cited)


async def _record(
    daemon: Daemon, caller: Caller, draft: Draft, request: dict[str, object]
) -> Recorded:
    """A retry is one by what was asked, without its secrets, and by whom: the packet may have other
    contents by then.
    """
    (write,) = await recording.prepare(caller, [draft])
    if draft.idempotency_key is not None:
        write = replace(write, request_hash=ids.digest(redact.value(request)))
    (recorded,) = await recording.commit(daemon, caller, [write])
    return recorded


async def _one(daemon: Daemon, reader: Reader, handoff_id: str) -> Handoff:
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        return await handoffs.one(conn, reader, handoff_id)


@router.get("", responses=problems())
async def list_handoffs(
    daemon: DaemonOf,
    reader: ReaderOf,
    to_agent: Name | None = None,
    from_agent: Name | None = None,
    status: Status | None = None,
    cursor: Annotated[str | None, Query(pattern=r"^[0-9]{1,18}$")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> HandoffPage:
    """Newest first, each as it stands now."""
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        found = await handoffs.page(
            conn,
            reader,
            to_agent=to_agent,
            from_agent=from_agent,
            status=status,
            cursor=int(cursor) if cursor else None,
            limit=limit + 1,
        )
    more = str(found[limit - 1].position) if len(found) > limit else None
    audit.tell(items=min(len(found), limit))
    return HandoffPage(tuple(found[:limit]), more)


@router.get("/{handoff_id}", responses=problems(404))
async def get_handoff(
    handoff_id: Annotated[Name, Path()], daemon: DaemonOf, reader: ReaderOf
) -> Handoff:
    return await _one(daemon, reader, handoff_id)


@router.post("/{handoff_id}/accept", responses=problems(400, 404, 409, 413, 415))
async def accept_handoff(
    handoff_id: Annotated[Name, Path()], asked: AcceptAsked, daemon: DaemonOf, caller: WriterOf
) -> Handoff:
    """Take it over, as the agent it is for; from then on the bundles of `session_id` have it."""
    return await _answer(handoff_id, "accepted", asked, daemon, caller)


@router.post("/{handoff_id}/reject", responses=problems(400, 404, 409, 413, 415))
async def reject_handoff(
    handoff_id: Annotated[Name, Path()], asked: RejectAsked, daemon: DaemonOf, caller: WriterOf
) -> Handoff:
    """Decline it, as the agent it is for; no bundle has it any more."""
    return await _answer(handoff_id, "rejected", asked, daemon, caller)


async def _answer(
    handoff_id: str, status: str, asked: AcceptAsked | RejectAsked, daemon: Daemon, caller: Caller
) -> Handoff:
    reader = reader_for(caller, asked.tenant_id, asked.channel, asked.user_id, asked.agent_id)
    seen = await _one(daemon, reader, handoff_id)
    if caller.channel not in (None, *privacy.RULES[seen.channel].channels):
        raise errors.Forbidden(
            f"this key is pinned to {caller.channel!r}, and its answer would be read in channel "
            f"{seen.channel!r}",
            field="channel",
        )
    content = {"handoff_id": handoff_id, "status": status, "note": asked.note}
    draft = Draft(
        kind="handoff",
        session_id=asked.session_id,
        actor=Actor(type="agent", id=reader.agent_id),
        content=content,
        user_id=reader.user_id,
        agent_id=reader.agent_id,
        channel=caller.channel or seen.channel,
        refs=(seen.event_id,),
        idempotency_key=asked.idempotency_key,
    )
    asked_by = {**asdict(asked), **asdict(reader), **content}
    await _record(daemon, caller, draft, asked_by)
    return await _one(daemon, reader, handoff_id)
