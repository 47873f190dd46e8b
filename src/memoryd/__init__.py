"""memoryd: a PostgreSQL-backed memory daemon for AI agents.

`memoryd.connect()` and `memoryd.aconnect()` are clients of it; they are loaded when first used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memoryd.client import aconnect, connect

__version__ = "0.1.0"
__all__ = ["__version__", "aconnect", "connect"]


def __getattr__(name: str) -> Any:
    if name in ("aconnect", "connect"):
        from memoryd import client  # noqa: PLC0415  # 0.2 s that the import alone need not pay

        return getattr(client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
