"""The tools of references (seed 001): store, retrieve, search."""

from typing import Any

from pydantic import Field

from memoryd.references.model import DEFAULT_TYPE, Key, Type
from memoryd.references.parts import FIND_LONGEST
from memoryd.tools import results
from memoryd.tools.arguments import MEMORY, Arguments
from memoryd.tools.definition import ToolDef

REFERENCES = MEMORY | {"references"}
CONTENT_LONGEST = 4_000_000  # characters: as JSON they are less than a request's 8 MB
FOUND_MOST = 50


class StoreMemoryArgs(Arguments):
    content: str = Field(
        description="The full text to store", min_length=1, max_length=CONTENT_LONGEST
    )
    description: str | None = Field(
        None,
        description="A few words on what it is; made from the content if omitted",
        max_length=2_000,
    )
    type: Type = Field(
        DEFAULT_TYPE, description="What it is: command_output, file, api_response, user_preference"
    )
    memory_key: Key | None = Field(
        None, description="A key of your own choice; one is made if omitted"
    )
    metadata: dict[str, Any] | None = Field(
        None, description="What is known of it: command, exit_status, path"
    )


class RetrieveMemoryArgs(Arguments):
    memory_key: str = Field(
        description="The ID of a [MemoryRef: ...] placeholder, or the whole placeholder",
        min_length=1,
        max_length=1_000,
    )
    lines: str | None = Field(
        None, description="Only these lines, as 10-20, 10- or -20 (the last 20)", max_length=40
    )
    bytes: str | None = Field(None, description="Only these bytes, as 0-999", max_length=40)
    path: str | None = Field(
        None,
        description="Only this place in JSON, as $.items[0].name or $.items[*].id",
        max_length=500,
    )
    find: str | None = Field(
        None, description="Only the lines around this text", max_length=FIND_LONGEST
    )


class SearchMemoryArgs(Arguments):
    query: str = Field(description="What to look for", min_length=1, max_length=20_000)
    limit: int = Field(5, description="How many at most", ge=1, le=FOUND_MOST)


STORE_MEMORY = ToolDef(
    name="store_memory",
    description=(
        "Store a large text (the output of a command, a file, an API response) outside the "
        "conversation and get a short placeholder for it: [MemoryRef: <ID> - <description> - "
        "<tokens> tokens]. Use it for anything long that you may need again; mention the "
        "placeholder instead of repeating the text."
    ),
    arguments=StoreMemoryArgs,
    result=results.ReferenceStored,
    tags=REFERENCES,
)

RETRIEVE_MEMORY = ToolDef(
    name="retrieve_memory",
    description=(
        "Read what a [MemoryRef: ...] placeholder stands for. Ask for a part when that is enough: "
        "lines, bytes, a place in JSON (path), or the lines around a text (find). Only one of "
        "these at a time; without any, you get the whole."
    ),
    arguments=RetrieveMemoryArgs,
    result=results.ReferenceRead,
    read_only=True,
    tags=REFERENCES,
)

SEARCH_MEMORY = ToolDef(
    name="search_memory",
    description=(
        "Search stored texts by what they say. Use it when the user refers to something that is "
        'not in the conversation: "the log from yesterday", "the database", "as last time".'
    ),
    arguments=SearchMemoryArgs,
    result=results.ReferencesFound,
    read_only=True,
    tags=REFERENCES,
)

TOOLS = (STORE_MEMORY, RETRIEVE_MEMORY, SEARCH_MEMORY)
