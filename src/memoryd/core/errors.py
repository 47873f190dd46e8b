"""The error tree: what went wrong, with its HTTP status.

A message states what happened, with the value, and what to do next; `field` and `limit` say where.
"""


class MemorydError(Exception):
    """Anything memoryd refuses or cannot do."""

    status = 500
    title = "Internal error"

    def __init__(self, detail: str, *, field: str | None = None, limit: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.field = field
        self.limit = limit


class Malformed(MemorydError):
    status, title = 400, "Malformed request"


class Unauthorized(MemorydError):
    status, title = 401, "A key is needed"


class Forbidden(MemorydError):
    status, title = 403, "Not allowed"


class NotFound(MemorydError):
    status, title = 404, "Not found"


class TooSlow(MemorydError):
    status, title = 408, "Too slow"


class Conflict(MemorydError):
    status, title = 409, "Conflict"


class Gone(MemorydError):
    status, title = 410, "Erased"


class TooLarge(MemorydError):
    status, title = 413, "Too large"


class WrongMediaType(MemorydError):
    status, title = 415, "Wrong content type"


class RangeNotSatisfiable(MemorydError):
    status, title = 416, "Range not satisfiable"


class Misdirected(MemorydError):
    status, title = 421, "Foreign host"


class Invalid(MemorydError):
    status, title = 422, "Invalid value"


class Unavailable(MemorydError):
    status, title = 503, "The database is not available"


class Closed(MemorydError):
    status, title = 503, "The master key is not here"
