"""The HTTP API of search: parse, one call, answer."""

from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import PydanticCustomError

from memoryd import searching
from memoryd.core.model import ActorType, Channel, Moment, Name
from memoryd.custody import audit
from memoryd.daemon import now
from memoryd.doors import http
from memoryd.doors.access import CallerOf, DaemonOf, problems, reader_for
from memoryd.search import retrieve, score

router = APIRouter(prefix="/api/v1", tags=["search"], route_class=http.JsonRoute)

MAX_QUERY = 20_000  # characters; the model reads some 1,000, the index 64 words
SHOWN = (
    *("chunk_id", "event_id", "session_id", "ts", "kind", "actor_type", "actor_id", "trust"),
    *("tags", "token_est", "text"),
)
HEAVIEST = 10  # of the weights


def _a_number(given: Any) -> Any:
    """Neither `true` nor `"1"`, which a client did not mean as one."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        limits = {"ge": 0, "le": HEAVIEST}
        raise PydanticCustomError("weight", "it must be a number from {ge} to {le}", limits)
    return given


# -0.0 becomes 0.0, as the database would make of it: a replay repeats the weights.
Weight = Annotated[
    float,
    Field(ge=0, le=HEAVIEST),
    BeforeValidator(_a_number),
    AfterValidator(lambda given: given + 0.0),
]
Question = Annotated[
    str, StringConstraints(min_length=1, max_length=MAX_QUERY, pattern=r"^[^\x00]+$")
]


def _on_the_calendar(given: datetime) -> datetime:
    """At its ends a time zone, or "last week", would leave it."""
    if not 1900 <= given.year < 9000:
        raise ValueError("give a time between the years 1900 and 9000")
    return given


Instant = Annotated[Moment, AfterValidator(_on_the_calendar)]


def _one_refusal(given: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """So that a refusal names the field, not each of the types it may have."""
    try:
        return check(given)
    except ValidationError as error:
        raise PydanticCustomError(
            "as_of", "give a log position, as 42, or a time, as 2026-05-01T12:00:00Z"
        ) from error


AsOf = Annotated[
    Annotated[int, Field(ge=0, lt=2**62, strict=True)] | Instant | None,
    WrapValidator(_one_refusal),
    Field(description="A log position or a recording time: what was known then."),
]
# In an address everything is text: there, a number is one by its digits.
AsOfQuery = Annotated[
    Annotated[int, Field(ge=0, lt=2**62)] | Instant | None,
    WrapValidator(_one_refusal),
    Field(description="A log position or a recording time: what was known then."),
]


@dataclass(frozen=True, kw_only=True)
class FiltersAsked:
    """What is omitted does not restrict. Filters only remove candidates: no part of a score that
    words and vectors give changes, but the last step compares what is left (docs/search.md).
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    session_id: Name | None = None
    agent_id: Name | None = None
    user_id: Name | None = None
    kind: Name | None = None
    tag: Name | None = None
    since: Annotated[Moment | None, Field(description="Not before this `ts`.")] = None
    until: Annotated[Moment | None, Field(description="Before this `ts`.")] = None


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """score = alpha * semantic + beta * recency + gamma * importance."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    alpha: Weight
    beta: Weight
    gamma: Weight


@dataclass(frozen=True, kw_only=True)
class SearchAsked:
    __pydantic_config__ = ConfigDict(extra="forbid")

    query: Question
    limit: Annotated[int, Field(ge=1, le=200, strict=True)] = 10
    filters: FiltersAsked = field(default_factory=FiltersAsked)
    as_of: AsOf = None
    explain: Annotated[bool, Field(strict=True, description="Return every part of each score.")] = (
        False
    )
    intent: Annotated[
        Literal["default", "recall", "recent", "decide"],
        Field(description="Names the weights of semantic, recency and importance."),
    ] = "recall"
    scoring: Annotated[Scoring | None, Field(description="Weights of your own.")] = None
    now: Annotated[Instant | None, Field(description="What `last week` refers to.")] = None
    tenant_id: Annotated[Name | None, Field(description="Must be the key's own.")] = None
    channel: Annotated[Channel | None, Field(description="Where it will be shown.")] = None
    user_id: Annotated[Name | None, Field(description="Who will see it.")] = None
    agent_id: Annotated[Name | None, Field(description="Which agent asks.")] = None
    session_id: Annotated[
        Name | None, Field(description="For whom; `filters.session_id` restricts.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Result:
    chunk_id: str
    event_id: str
    session_id: str
    ts: datetime
    kind: str
    actor_type: ActorType
    actor_id: str
    trust: Annotated[
        ActorType,
        Field(
            description="Who it comes from: a tool's output from a tool, whoever recorded it; a "
            "summary from the least trusted of all that it cites."
        ),
    ]
    tags: list[str]
    token_est: int
    text: str
    score: float
    parts: Annotated[dict[str, float] | None, Field(description="With `explain`.")] = None


@dataclass(frozen=True, kw_only=True)
class SearchAnswer:
    results: list[Result]
    pending_vectors: Annotated[int, Field(description="Chunks not yet found by meaning.")]
    candidates: Annotated[int, Field(description="Chunks considered.")]
    position: Annotated[int, Field(description="How far into the log this looked.")]
    degraded: Annotated[str | None, Field(description="Why words alone were used.")] = None


@router.post("/search", responses=problems(400, 413, 415))
async def search(asked: SearchAsked, daemon: DaemonOf, caller: CallerOf) -> SearchAnswer:
    """Find chunks by words and by meaning, among what the reader may see.

    What was recorded before this request is found, by words at once and by meaning as soon as its
    vectors are computed.
    """
    reader = reader_for(caller, asked.tenant_id, asked.channel, asked.user_id, asked.agent_id)
    own = asked.scoring
    weights = (own.alpha, own.beta, own.gamma) if own else score.PRESETS[asked.intent]
    wanted = retrieve.Search(
        text=asked.query,
        now=asked.now or now(),
        filters=retrieve.Filters(**asdict(asked.filters)),
        limit=asked.limit,
        weights=weights,
    )
    answer = await searching.search(daemon.searcher, reader, wanted, asked.as_of)
    found = zip(answer.rows, answer.hits, strict=True)
    audit.tell(items=len(answer.rows))
    return SearchAnswer(
        results=[_result(row, hit, asked.explain) for row, hit in found],
        pending_vectors=answer.pending_vectors,
        candidates=answer.pool,
        position=answer.position,
        degraded=answer.degraded,
    )


def _result(row: Any, hit: retrieve.Hit, explain: bool) -> Result:
    shown = {name: row[name] for name in SHOWN}
    return Result(**shown, score=round(hit.score, 6), parts=hit.parts if explain else None)
