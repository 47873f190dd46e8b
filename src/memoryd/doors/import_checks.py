"""Of an edited file, what the API would refuse: said before anything is recorded."""

from typing import cast

from memoryd.core import errors
from memoryd.custody.markdown_things import Decision, Memory, Task, Thing, View
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
