"""The HTTP API of bundles: parse, one call, answer."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import ConfigDict, Field, StringConstraints
from pydantic_core import to_json

from memoryd import bundling
from memoryd.core import db, errors, receipt, render
from memoryd.core.model import Caller, Channel, Name, Reader
from memoryd.core.receipt import Asked, Bundle, Receipt
from memoryd.custody import audit
from memoryd.daemon import Daemon, now
from memoryd.doors import http
from memoryd.doors.access import CallerOf, DaemonOf, problems, reader_for
from memoryd.doors.search import MAX_QUERY, AsOf, Instant, Scoring
from memoryd.ledger.difference import Difference, difference

router = APIRouter(prefix="/api/v1/acb", tags=["bundles"], route_class=http.JsonRoute)


@dataclass(frozen=True, kw_only=True)
class BuildAsked:
    __pydantic_config__ = ConfigDict(extra="forbid")

    session_id: Annotated[Name, Field(description="The conversation it is for.")]
    query_text: Annotated[
        str | None,
        StringConstraints(max_length=MAX_QUERY, pattern=r"^[^\x00]*$"),
        Field(description="What to look for; without it nothing is retrieved."),
    ] = None
    intent: Annotated[
        Name, Field(description="`default recall recent decide` name weights; others are noted.")
    ] = "default"
    max_tokens: Annotated[
        int | None,
        Field(ge=bundling.LEAST_TOKENS, strict=True, description="At most; 65,000 if omitted."),
    ] = None
    as_of: AsOf = None
    scoring: Annotated[Scoring | None, Field(description="Weights of your own.")] = None
    sections: Annotated[
        tuple[bundling.SectionName, ...] | None,
        Field(min_length=1, max_length=16, description="Only these."),
    ] = None
    format: Annotated[
        Literal["sections", "messages"],
        Field(description="`messages` adds what a model call takes, with cache breakpoints."),
    ] = "sections"
    provider: Literal["anthropic", "openai"] = "anthropic"
    now: Annotated[Instant | None, Field(description="What `last week` refers to.")] = None
    tenant_id: Annotated[Name | None, Field(description="Must be the key's own.")] = None
    channel: Annotated[Channel | None, Field(description="Where the answer will be shown.")] = None
    user_id: Annotated[Name | None, Field(description="Who will see it.")] = None
    agent_id: Annotated[Name | None, Field(description="Which agent asks.")] = None


@dataclass(frozen=True)
class ItemShown:
    type: Annotated[str, Field(description="`text decision task handoff`.")]
    text: str
    refs: list[str]
    tokens: Annotated[int, Field(description="As rendered, with the blank line after it.")]
    decision_id: str | None = None
    task_id: str | None = None
    handoff_id: str | None = None
    score: float | None = None
    parts: dict[str, float] | None = None


@dataclass(frozen=True)
class SectionShown:
    name: str
    items: list[ItemShown]
    token_est: int


@dataclass(frozen=True)
class OmissionShown:
    reason: Annotated[
        str,
        Field(
            description="`over_budget truncated_tool_output duplicate superseded stale_summary`."
        ),
    ]
    candidates: Annotated[list[str], Field(description="The first 20.")]
    count: int
    section: str | None = None
    artifact_id: str | None = None
    more: Annotated[
        bool | None, Field(description="True where others are left out that were not counted.")
    ] = None


@dataclass(frozen=True)
class BundleShown:
    acb_id: str
    budget_tokens: int
    token_used_est: Annotated[int, Field(description="Exact, on the text as rendered.")]
    sections: list[SectionShown]
    omissions: list[OmissionShown]
    provenance: dict[str, Any]
    messages: Annotated[
        dict[str, Any] | None, Field(description="With `format=messages`: the model call's.")
    ] = None


@router.post("/build", response_model=BundleShown, responses=problems(400, 413, 415))
async def build_bundle(asked: BuildAsked, daemon: DaemonOf, caller: CallerOf) -> Response:
    """The smallest bundle that holds what the next model call needs, within budget and cited.

    Tokens are those of `o200k_base` on the text as rendered. The same inputs at the same log
    position give the same bytes, but for `acb_id` and `timings_ms`.
    """
    reader = reader_for(caller, asked.tenant_id, asked.channel, asked.user_id, asked.agent_id)
    wanted = _wanted(asked, daemon.settings.max_bundle_tokens, now())
    return _json(await bundling.build(daemon, reader, wanted))


def _wanted(asked: BuildAsked, ceiling: int, moment: datetime) -> Asked:
    budget = bundling.budget(asked.max_tokens, ceiling)
    if isinstance(asked.as_of, datetime) and asked.as_of > moment:
        raise errors.Invalid(
            "as_of is in the future; leave it out for the present", field="as_of", limit="now"
        )
    own, text = asked.scoring, (asked.query_text or "").strip()
    return Asked(
        session_id=asked.session_id,
        now=asked.now or moment,
        query_text=text or None,
        intent=asked.intent,
        max_tokens=budget,
        as_of=asked.as_of,
        weights=(own.alpha, own.beta, own.gamma) if own else None,
        sections=asked.sections or render.SECTIONS,
        format=asked.format,
        provider=asked.provider,
    )


@dataclass(frozen=True)
class Asking:
    """For whom a bundle is read again: what is said must be what it was built for."""

    tenant_id: Annotated[Name | None, Query(description="Must be the key's own.")] = None
    channel: Annotated[Channel | None, Query(description="Where the answer will be shown.")] = None
    user_id: Annotated[Name | None, Query(description="Who will see it.")] = None
    agent_id: Annotated[Name | None, Query(description="Which agent asks.")] = None

    def fits(self, reader: Reader) -> bool:
        return all(said in (None, getattr(reader, name)) for name, said in vars(self).items())


AskingOf = Annotated[Asking, Depends()]


@router.get("/{acb_id}", response_model=BundleShown, responses=problems(404, 410))
async def get_bundle(
    acb_id: Annotated[Name, Path()], daemon: DaemonOf, caller: CallerOf, asking: AskingOf
) -> Response:
    """The bundle as it was built, byte for byte, for those who could have asked for it."""
    return _json(bundling.told((await _replay(daemon, caller, asking, acb_id))[1]))


@dataclass(frozen=True)
class DiffAsked:
    __pydantic_config__ = ConfigDict(extra="forbid")

    against: Annotated[Name, Field(description="The `acb_id` of the bundle before.")]


@router.post("/{acb_id}/diff", responses=problems(400, 404, 410, 413, 415))
async def diff_bundles(
    acb_id: Annotated[Name, Path()],
    asked: DiffAsked,
    daemon: DaemonOf,
    caller: CallerOf,
    asking: AskingOf,
) -> Difference:
    """What this bundle has that the one `against` it has not, what fell out, and why:
    `recorded_later over_budget duplicate superseded stale_summary replaced_or_closed outranked
    another_question another_reader another_session shown_elsewhere section_not_asked_for`; and
    what both have and show otherwise: `cut other_chunks other_conflicts`.
    """
    old = await _replay(daemon, caller, asking, asked.against)
    new = await _replay(daemon, caller, asking, acb_id)
    found = difference(new, old)
    audit.tell(items=len(found.came_in) + len(found.fell_out) + len(found.changed))
    return found


async def _replay(
    daemon: Daemon, caller: Caller, asking: Asking, acb_id: str
) -> tuple[Receipt, Bundle]:
    """For those who could have asked for it; to others it is as if there were none."""
    reader_for(caller, asking.tenant_id, asking.channel, asking.user_id, asking.agent_id)
    async with db.snapshot(daemon.pool, caller.tenant_id) as conn:
        found = await receipt.load(conn, caller.tenant_id, acb_id)
        if not (asking.fits(found.reader) and _pinned(caller).fits(found.reader)):
            raise errors.NotFound(f"there is no bundle {acb_id!r} that you may see")
        audit.tell(reader=found.reader)  # whose data it shows, whether that was said or not
        return found, await receipt.replay(conn, found)


def _pinned(caller: Caller) -> Asking:
    return Asking(caller.tenant_id, caller.channel, caller.user_id, caller.agent_id)


def _json(bundle: Bundle) -> Response:
    return Response(to_json(bundle), media_type="application/json")
