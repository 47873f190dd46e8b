"""Running a tool: its arguments checked, one call, a result that a model reads.

What a tool refuses is an error whose text is the seeds' own; `refused` is what the model hears.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, ValidationError

from memoryd import violations
from memoryd.core import db, errors
from memoryd.memories import agents, change, document, facts, model, places, refuse
from memoryd.tools import catalog, run_log, run_references
from memoryd.tools.call import Call, Result
from memoryd.tools.catalog import (
    AddToMemoryArgs,
    ManageUserMemoryInput,
    SaveToCoreArgs,
    SaveToJournalArgs,
    UpdateMemoryArgs,
)

NAME_LONGEST = 255  # characters of what a place is called, as of every name
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_CITED = re.compile(r"\[?(?:id:)?([A-Za-z0-9]{8})\]?")  # as the prompt shows an id


async def run(call: Call, name: str, arguments: Mapping[str, Any]) -> Result:
    tool = catalog.TOOLS.get(name)
    try:
        given = tool.arguments.model_validate(dict(arguments))
    except ValidationError as error:
        raise _invalid(error, tool.arguments) from error
    listing = isinstance(given, ManageUserMemoryInput) and given.operation == "get_memory"
    if call.caller.role == "reader" and not (tool.read_only or listing):
        raise errors.Forbidden("a key with the role `reader` does not write; use an `agent` key")
    return await _HANDLERS[tool.name](call, given)


def refused(error: errors.MemorydError) -> Result:
    """What the model hears of a refusal."""
    if isinstance(error, model.SameSubject):
        return {
            "error": error.detail,
            "suggestion": "update_memory",
            "memory_id": error.memory_id,
            "existing_content": error.text,
        }
    return {"error": error.detail}


async def _add_to_memory(call: Call, given: AddToMemoryArgs) -> Result:
    subject = " ".join((given.subject or "").split()) or None
    made = await facts.add(
        *(call.daemon, call.caller, call.origin),
        text=given.content,
        category=given.category,
        subject=subject,
    )
    return {
        "success": True,
        "memory_id": made.memory_id,
        "category": made.category,
        "subject": made.subject,
        "content": made.text,
        "message": f"Remembered [id:{made.memory_id}]: {made.text}",
    }


async def _update_memory(call: Call, given: UpdateMemoryArgs) -> Result:
    memory_id = _memory_id(given.memory_id)
    done = await change.edit(_hand(call), memory_id, given.content)
    made, before = done.after, done.before.text
    return {
        "success": True,
        "memory_id": made.memory_id,
        "version": made.version,
        "old_content": before,
        "new_content": made.text,
        "message": f"Updated [id:{made.memory_id}]: {before} → {made.text}",
    }


async def _save_to_journal(call: Call, given: SaveToJournalArgs) -> Result:
    made = await _save(call, given.content, "journal")
    expires = made.created_at + model.JOURNAL_WINDOW
    return {
        "success": True,
        "memory_type": "journal",
        "content": made.text,
        "expires_around": f"{expires:%Y-%m-%d}",
    }


async def _save_to_core(call: Call, given: SaveToCoreArgs) -> Result:
    made = await _save(call, given.content, "core")
    return {
        "success": True,
        "memory_type": "core",
        "content": made.text,
        "note": "This memory is now part of your permanent identity",
    }


async def _save(call: Call, content: str, memory_type: str) -> model.AgentMemory:
    if call.agent_id is None:
        raise errors.Invalid("This tool only works in group conversations", field="agent_id")
    text = content.strip()
    if model.blank(text):
        raise errors.Invalid("Content cannot be blank", field="content", limit="1")
    if len(text) > model.AGENT_LONGEST:
        limit = f"{model.AGENT_LONGEST:,} characters"
        raise errors.Invalid(f"Content too long (max {limit})", field="content", limit=limit)
    owner = agents.reader_of(call.caller.tenant_id, call.agent_id)
    who = (call.daemon, call.caller, owner, call.origin)
    return await agents.add(*who, text=text, memory_type=memory_type)


async def _manage_user_memory(call: Call, given: ManageUserMemoryInput) -> Result:
    done = await _OPERATIONS[given.operation](call, given)
    return {"success": True, "operation": given.operation, **done}


async def _add_fact(call: Call, given: ManageUserMemoryInput) -> Result:
    content = _needed(given, "content", model.FACT_LONGEST)
    refuse.secrets(content=content)
    who = (call.daemon, call.caller, call.origin)
    made = await facts.add(*who, text=content, category="context")
    return {"fact_id": made.memory_id, "content": made.text}


async def _deactivate_fact(call: Call, given: ManageUserMemoryInput) -> Result:
    fact_id = _memory_id(_needed(given, "fact_id", NAME_LONGEST), "fact_id")
    made = (await change.activate(_hand(call), fact_id, active=False)).after
    return {"fact_id": made.memory_id, "content": made.text}


async def _add_poi(call: Call, given: ManageUserMemoryInput) -> Result:
    place_id, place_name = _name(given, "place_id"), _name(given, "place_name")
    notes = (given.notes or "").strip() or None
    if notes and len(notes) > model.NOTES_LONGEST:
        raise _too_long("notes", model.NOTES_LONGEST)
    refuse.secrets(place_id=place_id, place_name=place_name, notes=notes)
    made = await places.keep(
        *(call.daemon, call.caller, call.origin),
        place_id=place_id,
        place_name=place_name,
        notes=notes,
    )
    return {"place_id": made.place_id, "place_name": made.subject}


async def _get_memory(call: Call, _: ManageUserMemoryInput) -> Result:
    async with db.tenant(call.daemon.pool, call.reader.tenant_id) as conn:
        found = await document.document(conn, call.reader)
    return {"memory": asdict(found)}


def _hand(call: Call) -> change.Hand:
    """These tools change facts alone."""
    return change.Hand(
        daemon=call.daemon,
        caller=call.caller,
        reader=call.reader,
        origin=call.origin,
        types=("fact",),
    )


def _memory_id(given: str, field: str = "memory_id") -> str:
    """As it was meant: models copy `[id:a1b2c3d4]` from the prompt."""
    found = _CITED.fullmatch(given.strip())
    if found is None:
        raise errors.NotFound(
            f"there is no memory {given[:40]!r}: an id has 8 letters and digits", field=field
        )
    return found[1]


def _needed(given: ManageUserMemoryInput, name: str, longest: int) -> str:
    value = (getattr(given, name) or "").strip()
    if model.blank(value):
        raise errors.Invalid(f"{given.operation} needs {name}", field=name, limit="1")
    if len(value) > longest:
        raise _too_long(name, longest)
    return value


def _name(given: ManageUserMemoryInput, name: str) -> str:
    """As every other door takes a name."""
    value = " ".join(_needed(given, name, NAME_LONGEST).split())
    if _CONTROL.search(value):
        raise errors.Invalid(f"{name} holds a control character; remove it", field=name)
    return value


def _too_long(name: str, longest: int) -> errors.Invalid:
    limit = f"{longest:,} characters"
    return errors.Invalid(f"{name} too long (max {limit})", field=name, limit=limit)


def _invalid(error: ValidationError, asked: type[BaseModel]) -> errors.Invalid:
    """The first thing that is wrong, with its field and limit, and nothing of the value."""
    found = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(map(str, found["loc"]))[:100] or "arguments"
    limits = ("min_length", "max_length", "expected")
    limit = "; ".join(str(found["ctx"][one]) for one in limits if one in found.get("ctx", {}))
    told = violations.words(found, asked, found["loc"])
    return errors.Invalid(f"{field}: {told}", field=field, limit=limit or None)


_HANDLERS: dict[str, Callable[[Call, Any], Awaitable[Result]]] = {
    "add_to_memory": _add_to_memory,
    "update_memory": _update_memory,
    "save_to_journal": _save_to_journal,
    "save_to_core": _save_to_core,
    "manage_user_memory": _manage_user_memory,
    **run_references.HANDLERS,
    **run_log.HANDLERS,
}
_OPERATIONS: dict[str, Callable[[Call, ManageUserMemoryInput], Awaitable[Result]]] = {
    "add_fact": _add_fact,
    "deactivate_fact": _deactivate_fact,
    "add_poi": _add_poi,
    "get_memory": _get_memory,
}
