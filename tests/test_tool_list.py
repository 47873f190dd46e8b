"""Which tools an agent is offered, and in which form."""

import httpx
import pytest
from pydantic import BaseModel

from memories import ask
from memoryd.core import errors
from memoryd.tools import catalog
from memoryd.tools.definition import RiskLevel, ToolDef
from memoryd.tools.registry import Registry

TOOLS = "/api/v1/tools"
NAMES = [
    *("add_to_memory", "update_memory", "save_to_journal", "save_to_core"),
    "manage_user_memory",
    *("store_memory", "retrieve_memory", "search_memory"),
]
LOG = [
    f"memory_{name}" for name in ("build_acb", "get_artifact", "query_decisions", "record_event")
]


class Nothing(BaseModel):
    pass


def tool(name: str, description: str, *tags: str) -> ToolDef:
    return ToolDef(name=name, description=description, arguments=Nothing, tags=frozenset(tags))


DOMAIN = (
    tool("weather", "Tell the weather forecast of a city.", "outside"),
    tool("create_task", "Create a task with a title and a due date.", "tasks"),
    tool("list_tasks", "List the tasks that are open.", "tasks"),
    tool("send_mail", "Send a mail to somebody.", "mail"),
)
EVERY = Registry((*(one for one in catalog.TOOLS.tools if one.system), *DOMAIN))


def names(chosen: list[ToolDef]) -> list[str]:
    return [one.name for one in chosen if not one.system]


def test_system_tools_are_always_there_and_do_not_count() -> None:
    for limit in (0, 2):
        chosen = EVERY.select(limit, "what is the weather in Rome?", ["mail"])

        assert [one.name for one in chosen if one.system] == NAMES
        assert len(names(chosen)) == min(limit, 1)


def test_others_are_chosen_by_the_message_and_by_tags() -> None:
    message = "create a task to mail Alec the forecast"

    assert names(EVERY.select(1, "what is the weather in Rome?")) == ["weather"]
    assert names(EVERY.select(4, message))[0] == "create_task"
    assert names(EVERY.select(2, None, ["tasks"])) == ["create_task", "list_tasks"]
    assert names(EVERY.select(9, "mail", ["tasks", "mail"]))[0] == "send_mail"
    assert names(EVERY.select(9)) == ["create_task", "list_tasks", "send_mail", "weather"]


def test_the_choice_does_not_depend_on_the_order_of_tools() -> None:
    turned = Registry(tuple(reversed(EVERY.tools)))
    message = "create a task to mail Alec the forecast"

    assert names(turned.select(3, message)) == names(EVERY.select(3, message))


def test_two_tools_of_one_name_are_a_mistake() -> None:
    with pytest.raises(AssertionError):
        Registry((DOMAIN[0], DOMAIN[0]))
    with pytest.raises(AssertionError):
        Registry((DOMAIN[0], tool("memory_weather", "The same to who leaves the prefix out.")))
    with pytest.raises(errors.NotFound, match="there is no tool"):
        EVERY.get("rocket")


async def test_all_that_is_known_of_a_tool_is_listed(client: httpx.AsyncClient) -> None:
    found = (await ask(client, "GET", TOOLS))["tools"]

    assert [one["name"] for one in found] == [*NAMES, *LOG]
    assert set(found[0].pop("output_schema")["required"]) >= {"memory_id", "content"}
    assert found[0] == {
        "name": "add_to_memory",
        "description": "Store important information for future conversations. Use this when the "
        "user shares facts about people, expresses preferences, or provides context that would be "
        "useful to remember. Ask for confirmation before storing new information.",
        "input_schema": {
            "type": "object",
            "properties": {
                "content": {
                    "type": "string",
                    "minLength": 5,
                    "maxLength": 500,
                    "description": "The fact or information to remember",
                },
                "category": {
                    "type": "string",
                    "enum": ["person", "preference", "context", "project"],
                    "description": "Category of memory: person, preference, context, or project",
                },
                "subject": {
                    "anyOf": [{"type": "string", "maxLength": 200}, {"type": "null"}],
                    "default": None,
                    "description": "Optional subject/entity this memory relates to (e.g., person "
                    "name, project name)",
                },
            },
            "required": ["content", "category"],
            "additionalProperties": False,
        },
        "risk_level": "low",
        "requires_confirmation": False,
        "tags": ["memory", "system"],
    }


async def test_each_provider_gets_its_own_form(client: httpx.AsyncClient) -> None:
    async def first(wanted: str) -> dict[str, object]:
        found = await ask(client, "GET", TOOLS, params={"format": wanted})
        one: dict[str, object] = found["tools"][2]
        return one

    schema = catalog.SAVE_TO_JOURNAL.input_schema
    named = {"name": "save_to_journal", "description": catalog.SAVE_TO_JOURNAL.description}
    assert await first("openai") == {
        "type": "function",
        "function": {**named, "parameters": schema},
    }
    assert await first("anthropic") == {**named, "input_schema": schema}
    mcp = await first("mcp")
    assert {**named, "inputSchema": schema}.items() <= mcp.items()
    assert (await client.get(TOOLS, params={"format": "soap"})).status_code == 422


def test_what_can_do_harm_says_so() -> None:
    risky = ToolDef(name="x", description="x", arguments=Nothing, risk_level=RiskLevel.HIGH)

    assert not risky.system
    assert {one.risk_level for one in catalog.TOOLS.tools} == {RiskLevel.LOW}
