"""What edited files would change: each compared with what it was exported from and what holds now.

Nothing is recorded here. A step that changes something carries the request that records it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import dropwhile
from typing import Any, Literal, NamedTuple

import httpx

from memoryd import violations
from memoryd.core import errors
from memoryd.custody import markdown
from memoryd.custody.markdown_folder import Source
from memoryd.custody.markdown_things import (
    Decision,
    Memory,
    Task,
    Thing,
    View,
    edits,
    fixed,
    trimmed,
)
from memoryd.doors import differences, exports, import_checks, reach
from memoryd.doors.import_requests import Request, of_version, request

Action = Literal["create", "change", "same", "conflict", "refused", "skipped", "deleted"]
_AGAIN = "move the file away, export again, and edit what comes"


@dataclass(frozen=True, kw_only=True)
class Step:
    """What becomes of one file; `now` is what it should say, where that is known already."""

    file: str
    action: Action
    of: str = ""
    fields: tuple[str, ...] = ()
    why: str = ""
    diff: str = ""
    request: Request | None = None
    source: Source | None = None
    said: Thing | None = None
    now: Thing | None = None
    recorded: str = ""  # as what


class State(NamedTuple):
    base: Any  # as it was exported
    present: Any
    found: Mapping[str, Any]  # what the API says of `present`


async def step(
    client: httpx.AsyncClient, eyes: Mapping[str, str], source: Source, said: Thing
) -> Step:
    """What a file that a person changed or made would do."""
    thing = _plain(said)
    about: dict[str, Any] = {"file": source.path, "source": source, "said": said, "of": _of(thing)}
    try:
        import_checks.check(thing)
        if _is_new(thing):
            return await _new(client, eyes, trimmed(thing), about)
        return _compared(eyes, thing, await _state(client, eyes, thing), about)
    except errors.NotFound as error:
        named = "version" if isinstance(thing, View) else "id"
        return Step(**about, action="refused", why=f"{named}: {error}")
    except errors.Invalid as error:
        return Step(**about, action="refused", why=told(error))


def told(error: errors.MemorydError) -> str:
    """A refusal as it is said of a file: without the status of an answer."""
    place, limit = error.field or "", f" (limit {error.limit})" if error.limit else ""
    named = f"{place}: " if place and not str(error).startswith(f"{place}: ") else ""
    return f"{named}{error}" + (limit if error.limit not in violations.PATTERNS else "")


def _compared(eyes: Mapping[str, str], thing: Any, state: State, about: dict[str, Any]) -> Step:
    base, present, _ = state
    if name := fixed(_as_exported(base, thing), thing):
        why = f"{name}: it cannot be changed in a file; it is {getattr(base, name) or 'empty'!s}"
        return Step(**about, action="refused", why=why)
    changes = edits(base, thing)
    if not changes:
        newer = "memoryd has a newer one; export again to see it" if base != present else ""
        return Step(**about, action="same", why=newer)
    left = {name: value for name, value in changes.items() if name in edits(present, thing)}
    if not left:  # an earlier import recorded it
        return Step(**about, action="same", now=present)
    if why := _conflict(state, left):
        return Step(**about, action="conflict", fields=tuple(left), why=why)
    import_checks.merged(about["source"].raw, markdown.write(base))
    after = replace(present, **left)
    names = (f"{about['file']} now", f"{about['file']} edited")
    return Step(
        **about,
        action="change",
        fields=tuple(left),
        why=f"supersedes {present.id}" if isinstance(present, Decision) else "",
        diff=differences.unified(markdown.write(present), markdown.write(after), *names),
        # What holds now, not what was exported: a task may be again what it was when the same was
        # said of it, and the answer of that time would be taken for this one's.
        request=request(eyes, after, of_version(present), state.found, left),
    )


def _conflict(state: State, left: Mapping[str, Any]) -> str:
    """Why the edit cannot stand beside what others did meanwhile, if it cannot."""
    base, present, found = state
    if isinstance(present, Memory):
        gone = found["deleted"] or not found["is_active"]
        why = f"content: it was {'given up' if gone else 'changed'} meanwhile; {_AGAIN}"
        return why if gone or base.version != present.version else ""
    if isinstance(present, View):
        why = f"text: {present.name} was edited meanwhile; {_AGAIN}"
        return why if base.version != present.version else ""
    if isinstance(present, Decision):
        why = f"id: it was superseded by {present.id} already; {_AGAIN}"
        return why if base.id != present.id else ""
    theirs = edits(base, present)
    both = [n for n in left if n in theirs or (n == "status" and _moved(base, found))]
    return f"{', '.join(both)}: changed meanwhile; {_AGAIN}" if both else ""


def _moved(base: Task, found: Mapping[str, Any]) -> bool:
    """Whether a task had another status since, though it may have come back."""
    since = dropwhile(lambda one: one["event_id"] != base.version, found["history"])
    return any(one["status"] != base.status for one in since)


async def _state(client: httpx.AsyncClient, eyes: Mapping[str, str], thing: Thing) -> State:
    if isinstance(thing, View):
        found = await reach.call(client, "GET", **exports.view_at(thing.name or "", eyes))
        old = found
        if thing.version != found["version"]:
            asked = exports.view_at(thing.name or "", eyes, version=str(thing.version))
            old = await reach.call(client, "GET", **asked)
        return State(exports.view(old), exports.view(found), found)
    if isinstance(thing, Decision):
        path = f"/api/v1/decisions/{thing.id}"
        found = await reach.call(client, "GET", path, params=dict(eyes))
        last = [found, *found["lineage"]["descendants"]][-1]
        event = f"/api/v1/events/{last['event_id']}"
        tags = (await reach.call(client, "GET", event, params=dict(eyes)))["tags"]
        return State(exports.decision(found), exports.decision(last), {**last, "tags": tags})
    if isinstance(thing, Memory):
        return State(*await exports.memory_as(client, eyes, thing))
    path = f"/api/v1/tasks/{thing.id}"
    found = await reach.call(client, "GET", path, params=dict(eyes))
    made = {one["event_id"]: one["position"] for one in found["history"]}
    if thing.version not in made:
        raise errors.Invalid(
            f"{thing.id} has no version {thing.version!r}; export it again", field="version"
        )
    asked = {**eyes, "as_of": made[str(thing.version)]}
    old = await reach.call(client, "GET", path, params=asked)
    return State(exports.task(old), exports.task(found), found)


def _as_exported(base: Any, thing: Any) -> Any:
    """A decision that was superseded since was active in its file: nobody edited that."""
    if isinstance(base, Decision) and thing.status == "active":
        return replace(base, status="active")
    return base


def _is_new(thing: Thing) -> bool:
    return (thing.version if isinstance(thing, View) else thing.id) is None


async def _new(
    client: httpx.AsyncClient, eyes: Mapping[str, str], thing: Thing, about: dict[str, Any]
) -> Step:
    own = ["ts", "version", "superseded_by", *(["status"] if isinstance(thing, Decision) else [])]
    for name in own:
        if getattr(thing, name, None) is not None:
            raise errors.Invalid("memoryd says it; leave it out of a new file", field=name)
    import_checks.merged(about["source"].raw)
    if isinstance(thing, Decision) and thing.supersedes:
        await _check_there(client, eyes, thing.supersedes)
    if isinstance(thing, View) and (there := await _there(client, eyes, thing)):
        if there.text == thing.text:  # an earlier import recorded it
            return Step(**about, action="same", now=there)
        why = f"name: {thing.name} has a text already; {_AGAIN}"
        return Step(**about, action="conflict", fields=("text",), why=why)
    return Step(
        **about,
        action="create",
        diff=differences.unified("", markdown.write(thing), "/dev/null", about["file"]),
        # When the file was saved tells it from an equal one that is made another day.
        request=request(eyes, thing, f"{about['file']} {about['source'].modified}"),
    )


async def _check_there(
    client: httpx.AsyncClient, eyes: Mapping[str, str], decision_id: str
) -> None:
    """Whether it holds still the daemon says: by now it may be superseded by this very file."""
    try:
        await reach.call(client, "GET", f"/api/v1/decisions/{decision_id}", params=dict(eyes))
    except errors.NotFound as error:
        raise errors.Invalid(str(error), field="supersedes") from error


async def _there(client: httpx.AsyncClient, eyes: Mapping[str, str], thing: View) -> View | None:
    try:
        return exports.view(
            await reach.call(client, "GET", **exports.view_at(thing.name or "", eyes))
        )
    except errors.NotFound:
        return None


def _plain(thing: Thing) -> Thing:
    """No sensitivity is said by leaving it out, as an export does."""
    if isinstance(thing, Decision | Task) and thing.sensitivity == "none":
        return replace(thing, sensitivity=None)
    return thing


def _of(thing: Thing) -> str:
    return (thing.name if isinstance(thing, View) else thing.id) or ""
