"""A call of a tool: who calls, for whom, and where it was said."""

from dataclasses import dataclass
from typing import Any

from memoryd.core.model import Caller, Reader
from memoryd.daemon import Daemon
from memoryd.memories.write import Origin

Result = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Call:
    """Who calls, for whom, and where it was said."""

    daemon: Daemon
    caller: Caller
    reader: Reader
    origin: Origin
    agent_id: str | None  # as it was named: an agent's own memory has no default
