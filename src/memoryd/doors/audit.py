"""The HTTP API of accesses: who asked for what, for admins."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import Field

from memoryd.core import db, errors
from memoryd.core.model import Caller, Moment, Name
from memoryd.custody import audit
from memoryd.doors import http
from memoryd.doors.access import CallerOf, DaemonOf, problems

router = APIRouter(prefix="/api/v1/audit", tags=["audit"], route_class=http.JsonRoute)


@dataclass(frozen=True)
class AccessPage:
    accesses: tuple[audit.Access, ...]
    next: Annotated[str | None, Field(description="Pass it as `cursor` for the next page.")]


async def admin_of(caller: CallerOf) -> Caller:
    if caller.role != "admin":
        raise errors.Forbidden("only a key with the role `admin` reads accesses")
    return caller


async def filters_of(
    since: Annotated[Moment | None, Query(description="Not before this time.")] = None,
    until: Annotated[Moment | None, Query(description="Before this time.")] = None,
    key_id: Annotated[Name | None, Query(description="With this key.")] = None,
    route: Annotated[
        Name | None, Query(description="Of this pattern, as `/api/v1/events/{event_id}`.")
    ] = None,
    user_id: Annotated[Name | None, Query(description="Through this user's eyes.")] = None,
    bundle: Annotated[Name | None, Query(description="Of this bundle, event or thing.")] = None,
) -> audit.Filters:
    return audit.Filters(since, until, key_id, route, user_id, bundle)


@router.get("", responses=problems())
async def list_accesses(
    daemon: DaemonOf,
    admin: Annotated[Caller, Depends(admin_of)],
    filters: Annotated[audit.Filters, Depends(filters_of)],
    cursor: Annotated[Name | None, Query(description="`next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> AccessPage:
    """Every request of this tenant, newest first: who, which route, what came of it, how much it
    showed or recorded, and of which bundle or event; never what was said.

    Reads are kept a second after they are answered. `channel`, `user_id` and `agent_id` are those
    through whose eyes it looked.
    """
    await daemon.audit.flush()
    async with db.tenant(daemon.pool, admin.tenant_id) as conn:
        found = await audit.page(conn, admin.tenant_id, filters, cursor, limit + 1)
    more = found[limit - 1].access_id if len(found) > limit else None
    return AccessPage(tuple(found[:limit]), more)
