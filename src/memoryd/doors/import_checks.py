"""Of an edited file, what the API would refuse: said before anything is recorded."""

from collections.abc import Mapping
from typing import Any, cast

from pydantic_core import to_json

from memoryd import redact
from memoryd.core import errors
from memoryd.core.model import MAX_CONTENT_BYTES
from memoryd.custody.markdown_things import EDITABLE, Decision, Memory, Task, Thing, View
from memoryd.ledger import texts
from memoryd.memories import model


def check(thing: Thing) -> None:
    if isinstance(thing, View):
        _view(thing)
    elif isinstance(thing, Decision):
        if not thing.decision.strip():
            raise errors.Invalid("it says nothing", field="decision")
    elif isinstance(thing, Task):
        if thing.id is None and thing.title is None:
            raise errors.Invalid("a new task needs one", field="title")
    else:
        _memory(thing)


def merged(raw: bytes, before: str = "") -> None:
    """What a merge of two versions could not decide is no edit; what was so before is a text."""
    line = _unmerged(raw.decode())
    if line and not _unmerged(before):
        said = "a merge begins there and was not finished; keep what holds, without the marks"
        raise errors.Invalid(f"line {line}: {said}")


def _unmerged(text: str) -> int | None:
    """The line where the first of the three marks stands; one alone may be any text."""
    begins, seen = 0, 0
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("<<<<<<< "):
            begins, seen = number, 1
        elif seen == 1 and line.rstrip() == "=======":
            seen = 2
        elif seen == 2 and line.startswith(">>>>>>> "):
            return begins
    return None


def size(thing: Thing, body: Mapping[str, Any]) -> None:
    """Of a decision or a task, which is the content of an event, and is kept without secrets."""
    if not isinstance(thing, Decision | Task):
        return
    said = redact.value({name: body[name] for name in EDITABLE[type(thing)] if name in body})
    if (found := len(to_json(said))) > MAX_CONTENT_BYTES:
        longest = max(said, key=lambda name: len(to_json(said[name])))
        named = type(thing).__name__.lower()
        most = f"{found:,} bytes as JSON; a {named} has at most {MAX_CONTENT_BYTES:,}"
        raise errors.Invalid(most, field=longest)


def _view(thing: View) -> None:
    if thing.name is None:
        raise errors.Invalid("a view needs one", field="name")
    if len(thing.text) > texts.MAX_TEXT:
        most = f"{len(thing.text):,} characters; a view has at most {texts.MAX_TEXT:,}"
        raise errors.Invalid(most, field="text")


def _memory(thing: Memory) -> None:
    if thing.id is None and thing.type not in (None, "fact"):
        raise errors.Invalid("a new memory in a file is a fact; leave it out", field="type")
    if thing.id is None and thing.category is None:
        raise errors.Invalid("a new fact needs one", field="category")
    model.within(cast("model.Type", thing.type or "fact"), thing.content.strip())
