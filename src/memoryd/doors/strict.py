"""Routes that refuse a parameter they do not know, and one that is sent twice where one is taken:
misspelt, a filter would be none, and of two only the last would count.
"""

from collections.abc import Callable, Coroutine
from typing import Any, get_args, get_origin

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
        parameters = _parameters(self.dependant)
        known = sorted(parameters)

        async def knowing(request: Request) -> Response:
            unknown = next((name for name in request.query_params if name not in known), None)
            if unknown is not None:
                await access.authenticate(request)  # a stranger hears nothing else
                raise _refusal(unknown[:LONGEST_NAME], known)
            if (name := _repeated(request, parameters)) is not None:
                await access.authenticate(request)
                raise errors.Invalid(f"{name} is sent more than once; send one", field=name)
            return await handle(request)

        return knowing

    def takes_body(self, request: Request) -> bool:
        """Whether a body is to be read: one that must be there, or may be and is."""
        if self.body_field is None:
            return False
        sent = request.headers.get("content-length", "0") != "0"
        chunked = "transfer-encoding" in request.headers
        return self.body_field.field_info.is_required() or sent or chunked


def _parameters(needs: Dependant) -> dict[str, bool]:
    """Of a route, and of all that it depends on; whether one may be sent more than once."""
    found = {one.alias: _many(one.field_info.annotation) for one in needs.query_params}
    for inner in needs.dependencies:
        found |= _parameters(inner)
    return found


def _many(annotation: Any) -> bool:
    return any(get_origin(one) in (list, tuple) for one in (annotation, *get_args(annotation)))


def _repeated(request: Request, parameters: dict[str, bool]) -> str | None:
    given = [name for name, _ in request.query_params.multi_items() if not parameters[name]]
    return next((name for name in given if given.count(name) > 1), None)


def _refusal(name: str, known: list[str]) -> errors.Invalid:
    listed = ", ".join(known) or "none"
    return errors.Invalid(f"there is no parameter {name!r} here; there are: {listed}", field=name)
