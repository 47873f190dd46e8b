"""What a tool is: its name, what it is for, what it takes, and how much can go wrong."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel

Format = Literal["openai", "anthropic", "mcp"]


class RiskLevel(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


SYSTEM = "system"  # the tag of tools that are always there


@dataclass(frozen=True, kw_only=True)
class ToolDef:
    name: str
    description: str
    arguments: type[BaseModel]
    risk_level: RiskLevel = RiskLevel.LOW
    requires_confirmation: bool = False  # by a person, beside what the conversation says
    read_only: bool = False  # a key with the role `reader` may call it
    result: type[BaseModel] | None = None  # what it answers, where that has a shape
    tags: frozenset[str] = frozenset()

    @property
    def system(self) -> bool:
        return SYSTEM in self.tags

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema, without the titles, which only repeat the names."""
        return {**_schema(self.arguments), "additionalProperties": False}

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """Of what it answers; more than that may come, with a later version."""
        return None if self.result is None else _schema(self.result)


def _schema(shape: type[BaseModel]) -> dict[str, Any]:
    schema = shape.model_json_schema()
    schema["properties"] = {
        name: {key: value for key, value in one.items() if key != "title"}
        for name, one in schema["properties"].items()
    }
    kept = ("type", "properties", "required", "$defs")
    return {name: schema[name] for name in kept if name in schema}


def listed(tool: ToolDef) -> dict[str, Any]:
    """All that is known of a tool."""
    output = {"output_schema": tool.output_schema} if tool.result else {}
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
        **output,
        "risk_level": tool.risk_level.value,
        "requires_confirmation": tool.requires_confirmation,
        "tags": sorted(tool.tags),
    }


def formatted(tool: ToolDef, wanted: Format) -> dict[str, Any]:
    """As a provider's API takes it."""
    named = {"name": tool.name, "description": tool.description}
    if wanted == "openai":
        return {"type": "function", "function": {**named, "parameters": tool.input_schema}}
    if wanted == "anthropic":
        return {**named, "input_schema": tool.input_schema}
    hints = {
        "readOnlyHint": tool.read_only,
        "destructiveHint": not tool.read_only and tool.risk_level is not RiskLevel.LOW,
        "openWorldHint": False,
    }
    output = {"outputSchema": tool.output_schema} if tool.result else {}
    return {**named, "inputSchema": tool.input_schema, **output, "annotations": hints}
