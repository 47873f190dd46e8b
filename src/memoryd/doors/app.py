"""The daemon as one ASGI application: routes, probes, problem details, the gate."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Request, Response
from pydantic import Field, TypeAdapter

from memoryd import __version__
from memoryd.core import db, errors
from memoryd.custody import migrate
from memoryd.daemon import Daemon
from memoryd.doors import (
    acb,
    access,
    agents,
    api,
    artifacts,
    audit,
    care,
    commands,
    decisions,
    erasures,
    handoffs,
    http,
    intent,
    mcp,
    memories,
    memory,
    prompt,
    reference_files,
    references,
    refusals,
    search,
    summaries,
    tasks,
    tools,
    users,
    views,
    web,
    whiteboards,
)
from memoryd.doors.access import DaemonOf
from memoryd.seal import keys as tenant_keys

# In the order of the API document.
DOORS: tuple[Any, ...] = (
    *(api, artifacts, search, acb, handoffs, decisions),
    *(tasks, views, memory, memories, prompt, references),
    *(reference_files, intent, tools, commands, care, users),
    *(agents, whiteboards, summaries, erasures, audit, mcp),
)

DESCRIPTION = """
Memory for AI agents: an append-only log of what happened, on PostgreSQL.

Errors are `application/problem+json` and name the field and the limit. On loopback no key is needed
for the tenant `default`; otherwise send `Authorization: Bearer mdk_…`.
"""


@dataclass(frozen=True)
class Health:
    status: Literal["ok"]
    version: str


@dataclass(frozen=True)
class Readiness:
    status: Literal["ready", "unavailable"]
    version: str
    postgres: Annotated[str | None, Field(description="The server's version.")] = None
    schema_version: int | None = None
    pending_vectors: Annotated[
        int | None, Field(description="Chunks that words alone find; vectors are on their way.")
    ] = None
    detail: Annotated[str | None, Field(description="What is missing, when not ready.")] = None
    sealing: Annotated[
        tenant_keys.State | None,
        Field(description="Of what is `high`; `held`, `missing`, `wrong`: of the master key."),
    ] = None


@dataclass(frozen=True)
class Problem:
    """RFC 9457: what went wrong, where, and within which limit."""

    title: str
    status: int
    detail: str
    type: str = "about:blank"
    field: str | None = None
    limit: str | None = None


class Doors(FastAPI):
    """With the API document made when it is first asked for: a start need not wait for it."""

    def openapi(self) -> dict[str, Any]:
        known = self.openapi_schema is not None
        document = super().openapi()
        if not known:
            shapes = document["components"]["schemas"]
            shapes["Problem"] = TypeAdapter(Problem).json_schema()
            shapes.pop("HTTPValidationError", None)
            shapes.pop("ValidationError", None)
        return document


def build(daemon: Daemon) -> http.Gate:
    app = document()
    app.state.daemon = daemon
    gate = http.Gate(app, daemon.settings, daemon.audit)
    app.state.within = mcp.within(gate)
    return gate


def document() -> FastAPI:
    """The routes without a daemon behind them: enough for the API document."""
    app = Doors(
        title="memoryd",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        # The framework can send traces where the environment says so; memoryd sends nothing, ever.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
    )
    for door in DOORS:
        app.include_router(door.router)
    app.add_api_route("/healthz", healthz, tags=["probes"])
    app.add_api_route("/readyz", readyz, tags=["probes"], responses={503: {"model": Readiness}})
    web.add(app)
    refusals.add_handlers(app)
    return app


async def healthz() -> Health:
    """The process lives; it says nothing of the database."""
    return Health("ok", __version__)


async def readyz(daemon: DaemonOf, request: Request, response: Response) -> Readiness:
    """Whether a write would be taken now: the database answers, has the schema we speak, and is
    not read-only. `pending_vectors` are those of the key's tenant, or of the default one.
    """
    try:
        async with db.borrow(daemon.pool, timeout=2) as conn:
            found = await migrate.version(conn)
            read_only = await conn.fetchval(db.query("db.read_only"))
            number = conn.get_server_version()
            server = f"{number.major}.{number.micro}"
            sealing = await tenant_keys.state(conn) if found == migrate.latest() else None
    except db.CONNECTION_LOST as error:
        response.status_code = 503
        return Readiness("unavailable", __version__, detail=f"PostgreSQL: {type(error).__name__}")
    if found != migrate.latest():
        response.status_code = 503
        detail = f"the schema is version {found}, not {migrate.latest()}: run memoryd migrate"
        return Readiness("unavailable", __version__, server, found, detail=detail)
    if read_only:
        response.status_code = 503
        detail = "PostgreSQL is read-only: it takes no writes"
        return Readiness("unavailable", __version__, server, found, detail=detail)
    pending = await daemon.worker.pending(await _tenant(request))
    return Readiness("ready", __version__, server, found, pending, sealing=sealing)


async def _tenant(request: Request) -> str:
    """Whose; a probe needs no key, and then learns of nobody else."""
    try:
        return (await access.caller_of(request, await access.bearer(request))).tenant_id
    except errors.Unauthorized:
        return "default"
