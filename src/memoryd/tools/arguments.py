"""What the arguments of all tools have in common, and the tags of those of memory."""

from pydantic import BaseModel, ConfigDict

from memoryd.tools.definition import SYSTEM

MEMORY = frozenset({SYSTEM, "memory"})


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
