"""Log lines as JSON, one object a line, on standard error.

Errors are told by their kind and place, since a message may quote what a user wrote; should one
come in a line of somebody else's, its secrets are redacted.
"""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

from memoryd import redact

_PLAIN = {*vars(logging.makeLogRecord({})), "message", "taskName", "color_message"}


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **{name: value for name, value in vars(record).items() if name not in _PLAIN},
        }
        if record.exc_info and record.exc_info[1]:
            line |= whereabouts(record.exc_info[1])
        return json.dumps(redact.value(line), default=str, ensure_ascii=False)


def whereabouts(error: BaseException) -> dict[str, Any]:
    """Where it happened, without its message: that may quote what a user wrote."""
    frames = traceback.extract_tb(error.__traceback__)[-10:]
    at = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return {"error": type(error).__name__, "at": at}


def start(level: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for talkative in ("uvicorn", "mcp", "httpx"):  # one line a request is ours to write
        logging.getLogger(talkative).setLevel("WARNING")
