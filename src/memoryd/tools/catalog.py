"""The tools of memory, in the words and with the limits of the seeds."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from memoryd.memories.model import (
    FACT_LONGEST,
    FACT_SHORTEST,
    SUBJECT_LONGEST,
    Category,
    blank,
)
from memoryd.tools import log, references, results
from memoryd.tools.arguments import MEMORY, Arguments
from memoryd.tools.definition import RiskLevel, ToolDef
from memoryd.tools.registry import Registry


def _readable(given: str) -> str:
    if blank(given):
        raise PydanticCustomError("blank", "can't be blank", {"min_length": FACT_SHORTEST})
    return given


FactText = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=FACT_SHORTEST, max_length=FACT_LONGEST),
    AfterValidator(_readable),
]
Operation = Literal["add_fact", "deactivate_fact", "add_poi", "get_memory"]


class AddToMemoryArgs(Arguments):
    """Arguments for adding to memory."""

    content: FactText = Field(description="The fact or information to remember")
    category: Category = Field(
        description="Category of memory: person, preference, context, or project"
    )
    subject: str | None = Field(
        None,
        description=(
            "Optional subject/entity this memory relates to (e.g., person name, project name)"
        ),
        max_length=SUBJECT_LONGEST,
    )


class UpdateMemoryArgs(Arguments):
    """Arguments for updating an existing memory."""

    memory_id: str = Field(description="8-character ID of the memory to update")
    content: FactText = Field(description="The updated content for this memory")


class SaveToJournalArgs(Arguments):
    # The tool itself says what is wrong with the content, in the words of seed 002.
    content: str = Field(description="The memory to save (keep it concise, under a paragraph)")


class SaveToCoreArgs(Arguments):
    content: str = Field(description="The core memory to save (keep it concise and meaningful)")


class ManageUserMemoryInput(Arguments):
    operation: Operation
    content: str | None = Field(None, description="For add_fact: the fact to remember")
    fact_id: str | None = Field(
        None, description="For deactivate_fact: the UUID of fact to deactivate"
    )
    place_id: str | None = Field(None, description="For add_poi: unique identifier for place")
    place_name: str | None = Field(None, description="For add_poi: human-readable name")
    notes: str | None = Field(None, description="For add_poi: additional context")


ADD_TO_MEMORY = ToolDef(
    name="add_to_memory",
    description=(
        "Store important information for future conversations. Use this when the user "
        "shares facts about people, expresses preferences, or provides context that would "
        "be useful to remember. Ask for confirmation before storing new information."
    ),
    arguments=AddToMemoryArgs,
    result=results.MemoryAdded,
    risk_level=RiskLevel.LOW,
    requires_confirmation=False,  # it is asked for in the conversation
    tags=MEMORY,
)

UPDATE_MEMORY = ToolDef(
    name="update_memory",
    description=(
        "Update an existing memory when information has changed. Use this instead of "
        "creating a new memory when correcting outdated information."
    ),
    arguments=UpdateMemoryArgs,
    result=results.MemoryUpdated,
    risk_level=RiskLevel.LOW,
    requires_confirmation=False,
    tags=MEMORY,
)

SAVE_TO_JOURNAL = ToolDef(
    name="save_to_journal",
    description=(
        "Save a memory to your personal journal. Journal entries are temporary and will fade "
        "after about a week. Use this for observations, insights, or things you want to remember "
        "in the short term."
    ),
    arguments=SaveToJournalArgs,
    result=results.JournalSaved,
    tags=MEMORY | {"agent"},
)

SAVE_TO_CORE = ToolDef(
    name="save_to_core",
    description=(
        "Save a memory to your core identity. Core memories are permanent and define who you are. "
        "Use sparingly for fundamental beliefs, key learnings, or essential information about "
        "yourself."
    ),
    arguments=SaveToCoreArgs,
    result=results.CoreSaved,
    tags=MEMORY | {"agent"},
)

MANAGE_USER_MEMORY = ToolDef(
    name="manage_user_memory",
    description="""\
Use this tool to store and retrieve persistent facts about the user that should be remembered \
across all conversations.

WHEN TO USE:
- User shares personal information (name, preferences, interests, location)
- User mentions places they care about (home, work, favorite spots)
- User explicitly asks you to remember something
- User corrects previous information (deactivate old fact, add new one)

WHAT TO STORE:
- Personal details: "User's name is Alex", "User prefers morning workouts"
- Preferences: "User likes Italian food", "User is vegetarian"
- Context: "User lives in Seattle", "User works in tech industry"
- Places: User's home address, workplace, frequently mentioned locations

DO NOT STORE:
- Sensitive data (passwords, SSN, financial info)
- Temporary information (today's weather, one-time events)
- Information user hasn't shared or confirmed""",
    arguments=ManageUserMemoryInput,
    result=results.UserMemoryManaged,
    tags=MEMORY | {"places"},
)

REMEMBERING = (ADD_TO_MEMORY, UPDATE_MEMORY, SAVE_TO_JOURNAL, SAVE_TO_CORE, MANAGE_USER_MEMORY)
TOOLS = Registry((*REMEMBERING, *references.TOOLS, *log.TOOLS))
