"""Running the tools of references."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from memoryd.core import errors
from memoryd.core.model import Actor
from memoryd.references import draft, model, parts, read, write
from memoryd.references.read import Found, Wanted
from memoryd.tools.call import Call, Result
from memoryd.tools.references import RetrieveMemoryArgs, SearchMemoryArgs, StoreMemoryArgs


async def _store(call: Call, given: StoreMemoryArgs) -> Result:
    origin = call.origin
    made = draft.make(
        **given.model_dump(include={"description", "type"}),
        key=given.memory_key,
        metadata=given.metadata or {},
        session_id=origin.conversation_id,
        actor=origin.actor or Actor(type="tool", id=given.type),
        **{name: getattr(origin, name) for name in ("user_id", "agent_id", "channel")},
        idempotency_key=origin.idempotency_key,
    )
    done = await write.store(call.daemon, call.caller, made, draft.text(given.content))
    kept = done.reference
    return {
        "success": True,
        "memory_key": kept.key,
        "placeholder": kept.placeholder,
        "description": kept.description,
        "token_count": kept.token_count,
        "existed": not done.fresh,
    }


async def _retrieve(call: Call, given: RetrieveMemoryArgs) -> Result:
    wish = parts.Wish(**given.model_dump(exclude={"memory_key"}))
    found, cut = await read.part(call.daemon, call.reader, _key(given.memory_key), wish)
    shown: Result = {name: value for name, value in asdict(cut).items() if value is not None}
    content: Result = {name: shown.pop(name) for name in ("content", "bytes") if name in shown}
    return {
        "memory_key": found.key,
        "description": found.description,
        "token_count": found.token_count,
        **content,
        "part": shown,
    }


async def _search(call: Call, given: SearchMemoryArgs) -> Result:
    found = await read.search(call.daemon, call.reader, Wanted(), given.query, given.limit)
    return {"results": [_result(one) for one in found]}


def _result(one: Found) -> Result:
    return {
        "memory_key": one.reference.key,
        "placeholder": one.reference.placeholder,
        "type": one.reference.type,
        "score": round(one.score, 6),
        "text": one.text,
    }


def _key(given: str) -> str:
    """As it was meant: models copy the whole placeholder."""
    said = model.key_of(given.strip())
    if len(said) > model.KEY_LONGEST:
        limit = f"{model.KEY_LONGEST} characters"
        raise errors.Invalid("a key is shorter", field="memory_key", limit=limit)
    return said.removeprefix("[MemoryRef:").removesuffix("]").strip()


Run = Callable[[Call, Any], Awaitable[Result]]


def _naming(run: Run) -> Run:
    """A refusal names the argument as the tool calls it."""

    async def named(call: Call, given: Any) -> Result:
        try:
            return await run(call, given)
        except errors.MemorydError as error:
            error.field = "memory_key" if error.field == "key" else error.field
            raise

    return named


HANDLERS: dict[str, Run] = {
    "store_memory": _naming(_store),
    "retrieve_memory": _naming(_retrieve),
    "search_memory": _search,
}
