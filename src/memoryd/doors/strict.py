"""Routes that refuse a parameter they do not know: misspelt, a filter would be none."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from memoryd.core import errors
from memoryd.doors import access

LONGEST_NAME = 100  # characters of a parameter's name that a refusal repeats


class StrictRoute(APIRoute):
    """What may stand in the address is what the API document lists, and nothing else."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        known = sorted(_parameters(self.dependant))

        async def knowing(request: Request) -> Response:
            unknown = next((name for name in request.query_params if name not in known), None)
            if unknown is not None:
                await access.authenticate(request)  # a stranger hears nothing else
                raise _refusal(unknown[:LONGEST_NAME], known)
            return await handle(request)

        return knowing

    def takes_body(self, request: Request) -> bool:
        """Whether a body is to be read: one that must be there, or may be and is."""
        if self.body_field is None:
            return False
        sent = request.headers.get("content-length", "0") != "0"
        chunked = "transfer-encoding" in request.headers
        return self.body_field.field_info.is_required() or sent or chunked


def _parameters(needs: Dependant) -> set[str]:
    """Of a route, and of all that it depends on."""
    inner = (_parameters(one) for one in needs.dependencies)
    return {one.alias for one in needs.query_params}.union(*inner)


def _refusal(name: str, known: list[str]) -> errors.Invalid:
    listed = ", ".join(known) or "none"
    return errors.Invalid(f"there is no parameter {name!r} here; there are: {listed}", field=name)
