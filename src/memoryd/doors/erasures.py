"""The HTTP API of erasures: parse, one call, answer."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import ConfigDict, Field, StringConstraints

from memoryd.core import db, errors
from memoryd.core.model import Caller, Name
from memoryd.custody import erase_act, erasure
from memoryd.daemon import entropy, now
from memoryd.doors import http
from memoryd.doors.access import AdminOf, DaemonOf, problems

router = APIRouter(prefix="/api/v1/erasures", tags=["erasures"], route_class=http.JsonRoute)

KEYLESS = "loopback"  # on whose word, where no key is needed
TARGETS = ("user_id", "session_id", "event_id", "memory_id", "tenant")
Reason = Annotated[str, StringConstraints(max_length=1_000, pattern=r"^[^\x00]*$")]


@dataclass(frozen=True, kw_only=True)
class ErasureAsked:
    """Exactly one of `user_id`, `session_id`, `event_id`, `memory_id` and `tenant`."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    user_id: Annotated[Name | None, Field(description="All that is this user's.")] = None
    session_id: Annotated[Name | None, Field(description="A whole conversation.")] = None
    event_id: Annotated[Name | None, Field(description="One event.")] = None
    memory_id: Annotated[Name | None, Field(description="One memory, with all its versions.")] = (
        None
    )
    tenant: Annotated[
        Name | None, Field(description="Everything, keys too: the name of the key's own tenant.")
    ] = None
    tenant_id: Annotated[Name | None, Field(description="Must be the key's own.")] = None
    reason: Annotated[Reason, Field(description="Is kept: name nobody in it.")] = ""
    dry_run: Annotated[bool, Field(strict=True, description="Only count what would go.")] = False
    sweep: Annotated[
        bool,
        Field(strict=True, description="Write the tables anew at once; the next sweep does it."),
    ] = True


@dataclass(frozen=True)
class ErasureShown:
    erasure_id: Annotated[
        str | None, Field(description="None in a dry run, and where nothing was found.")
    ]
    what: str
    at: datetime
    by: Annotated[str, Field(description="The id of the key on whose word.")]
    reason: str
    fingerprint: Annotated[
        str, Field(description="SHA-256 of `<erasure_id>/<what was named>`, which is not kept.")
    ]
    events: int
    rows: Annotated[dict[str, int], Field(description="What went, by table.")]
    spoken: Annotated[
        int, Field(description="Events of others that stay, whose actor has the user's name.")
    ]
    swept_at: Annotated[
        datetime | None, Field(description="When the tables were written anew without it.")
    ]


@dataclass(frozen=True)
class ErasurePage:
    erasures: tuple[ErasureShown, ...]
    next: Annotated[str | None, Field(description="Pass it as `cursor` for the next page.")]


@router.post("", status_code=201, responses=problems(400, 404, 413, 415))
async def erase(
    asked: ErasureAsked, daemon: DaemonOf, caller: AdminOf, response: Response
) -> ErasureShown:
    """Erase a user, a session, an event, a memory or the tenant, with everything that was made of
    it; the log keeps empty places. For `admin` keys.

    Writers of the tenant wait meanwhile, and each table is locked while it is written anew. 201
    says that it was done, 200 that there was nothing to do, or that this was a dry run.
    """
    wanted = _wanted(asked, caller)
    steps = erasure.Steps(dry_run=asked.dry_run, sweep=asked.sweep)
    moment = now()
    done = await erasure.carry_out(
        *(daemon.target, wanted, daemon.encoders.current, steps), now=moment, entropy=entropy
    )
    if done.erasure.erasure_id is None:
        response.status_code = 200
        if wanted.what in ("event", "memory") and not done.erasure.events:
            said = f"there is no {wanted.what} {wanted.name!r}"
            raise errors.NotFound(said, field=f"{wanted.what}_id")
    swept = moment if done.swept and done.swept.erasures else None
    return ErasureShown(**{**asdict(done.erasure), "swept_at": swept})


def _wanted(asked: ErasureAsked, caller: Caller) -> erase_act.Asked:
    named = {name: getattr(asked, name) for name in TARGETS if getattr(asked, name) is not None}
    if len(named) != 1:
        raise errors.Invalid(
            f"name one thing to erase, not {len(named)}", field="body", limit=", ".join(TARGETS)
        )
    ((field, name),) = named.items()
    foreign = asked.tenant_id not in (None, caller.tenant_id)
    if foreign or (field == "tenant" and name != caller.tenant_id):
        raise errors.Forbidden(
            "this key does not erase another tenant", field="tenant_id" if foreign else "tenant"
        )
    if caller.user_id is not None and named != {"user_id": caller.user_id}:
        raise errors.Forbidden(f"this key erases only its user {caller.user_id!r}", field=field)
    return erase_act.Asked(
        tenant_id=caller.tenant_id,
        what=erase_act.BY_FIELD[field],
        name=name,
        by=caller.key_id or KEYLESS,
        reason=asked.reason,
    )


@router.get("", responses=problems())
async def list_erasures(
    daemon: DaemonOf,
    caller: AdminOf,
    cursor: Annotated[
        str | None,
        Query(pattern=r"^[0-9]{1,18}$", description="A log position: erasures before it."),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> ErasurePage:
    """What was erased, newest first: how much, when and on whose word. For `admin` keys."""
    before = None if cursor is None else int(cursor)
    async with db.tenant(daemon.pool, caller.tenant_id) as conn:
        found = await erase_act.listing(conn, caller.tenant_id, before=before, limit=limit + 1)
    more = str(found[limit - 1][0]) if len(found) > limit else None
    return ErasurePage(tuple(ErasureShown(**asdict(one)) for _, one in found[:limit]), more)
