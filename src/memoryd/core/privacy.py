"""Who may see what: channels, sensitivities and owners, in one table.

Every read door asks here, before ranking; what is not listed is not visible.
"""

from dataclasses import dataclass

from memoryd.core.model import Channel, Reader, Sensitivity


@dataclass(frozen=True)
class Rule:
    channels: tuple[Channel, ...]  # rows of everyone
    own_channels: tuple[Channel, ...]  # rows of the reader's own user
    sensitivities: tuple[Sensitivity, ...]


# `secret` is in no row: nothing of it is stored, and its marker is shown to nobody.
RULES: dict[Channel, Rule] = {
    "public": Rule(("public",), (), ("none", "low")),
    "agent": Rule(("public", "team", "agent"), (), ("none", "low")),
    "team": Rule(("public", "team", "agent"), (), ("none", "low", "high")),
    "private": Rule(("public", "team", "agent"), ("private",), ("none", "low", "high")),
}


@dataclass(frozen=True)
class Sight:
    """What a reader sees, in the shape that every query takes."""

    channels: tuple[str, ...]
    own_channels: tuple[str, ...]
    sensitivities: tuple[str, ...]
    user_id: str


def sight(reader: Reader) -> Sight:
    rule = RULES[reader.channel]
    return Sight(rule.channels, rule.own_channels, rule.sensitivities, reader.user_id)
