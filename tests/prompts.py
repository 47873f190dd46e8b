"""What the tests of prompts share."""

from typing import Any

import httpx

import make
from memories import ask
from memoryd.core.model import Caller
from memoryd.daemon import Daemon
from memoryd.memories import agents
from memoryd.memories.write import Origin

PROMPT = "/api/v1/prompt"
NOW = "2026-05-01T12:00:00Z"


async def prompt(client: httpx.AsyncClient, session: str | None = "s1", **more: Any) -> Any:
    asked = {"session_id": session, "now": NOW, **more}
    given = {name: value for name, value in asked.items() if value is not None}
    return await ask(client, "GET", PROMPT, params=given)


async def keep(daemon: Daemon, tenant: str, agent: str, memory_type: str, text: str) -> None:
    owner = agents.reader_of(tenant, agent)
    caller = Caller(tenant_id=tenant, role="agent")
    said = {"text": text, "memory_type": memory_type}
    await agents.add(daemon, caller, owner, Origin(ts=make.NOW), **said)
