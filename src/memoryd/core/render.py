"""Rows → the text of a bundle's items, and sections → the text that a model is given.

What was recalled is data: it stands inside a fence that it cannot close, and each item begins with
where it comes from. A head begins with `[` and ends its line, which keeps token counts additive.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from memoryd.neutral import fenced, name, neutral, who

Row = Mapping[str, Any]

# In the order of the text. What comes first changes least, so that a model's cache can keep it.
SECTIONS = (
    *("identity", "rules", "task_state", "decision_ledger", "handoff_packet"),
    *("retrieved_evidence", "recent_window"),
)
RIVALS = 3  # decisions named as likely conflicts of one: an id has some twenty tokens
INSTRUCTIONS = ("identity", "rules")  # written to be obeyed; all else is only recalled
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def opening(section: str) -> str:
    if section in INSTRUCTIONS:
        return f"<{section}>\n"
    return f'<memory section="{section}">\n'


def closing(section: str) -> str:
    return f"</{section if section in INSTRUCTIONS else 'memory'}>\n\n"


def view(row: Row) -> tuple[str, str]:
    return f"[{name(row['name'])}]\n", neutral(row["text"].strip())


def task(row: Row) -> tuple[str, str]:
    details = f"\n{row['details'].strip()}" if row["details"].strip() else ""
    head = f"[{row['task_id']}, {row['status']}, {_by(row)}]\n"
    return head, neutral(row["title"].strip() + details)


def decision(row: Row) -> tuple[str, str]:
    lines = [row["decision"].strip()]
    parts = ("rationale", "constraints", "alternatives", "consequences")
    lines += [f"{part}: {'; '.join(row[part])}" for part in parts if row[part]]
    if rivals := [one for at, one in enumerate(row["conflicts"]) if at not in row["over"]]:
        more = f" and {len(rivals) - RIVALS} more" if len(rivals) > RIVALS else ""
        lines.append("may conflict with: " + ", ".join(rivals[:RIVALS]) + more)
    head = f"[{row['decision_id']}, {row['scope']}, {_by(row)}, {day(row['ts'])}]\n"
    return head, neutral("\n".join(lines))


def handoff(row: Row) -> tuple[str, str]:
    head = f"[{row['handoff_id']} from {who(row['from_agent'])}, {row['status']}]\n"
    return head, fenced(row["packet"].strip())  # its items have heads of their own


def turn(row: Row) -> tuple[str, str]:
    """A turn of the conversation; its text comes from its chunks."""
    return f"[{origin(row)}]\n", neutral(row["text"].strip())


def reference(row: Row) -> tuple[str, str]:
    """What stands for a long tool result: the whole stays one call away."""
    said = " ".join(name(row[part]) for part in ("tool", "path") if row[part])
    about = said or row["kind"]
    return (
        f"[{origin(row)}]\n",
        neutral(f"[MemoryRef: {row['event_id']} - {about} - {row['whole']} tokens]"),
    )


def evidence(row: Row, text: str) -> tuple[str, str]:
    """Its number is put in when the order is settled; every number below 1,000 is one token."""
    return f"[0, {origin(row)}, {day(row['ts'])}]\n", neutral(text.strip())


def numbered(section: str, texts: Iterable[str]) -> list[str]:
    """Evidence with its numbers, by which an answer cites it; other sections have none."""
    if section != "retrieved_evidence":
        return list(texts)
    return [f"[{number}{text[2:]}" for number, text in enumerate(texts, 1)]


def origin(row: Row) -> str:
    """Who said it: a person, an agent or a tool; a summary says that it is one. What comes from a
    less trusted source than who said it names that: a tool's output is a tool's, whoever sent it.
    """
    told = "summary by " if row["kind"] == "summary" else ""
    trust = "tool" if row["kind"] == "tool_result" else row.get("trust") or row["actor_type"]
    lower = f", derived from {trust}" if trust != row["actor_type"] else ""
    return f"{told}{row['actor_type']} {who(row['actor_id'])}{lower}"


def _by(row: Row) -> str:
    return f"by {row['actor_type']} {who(row['actor_id'])}"


def day(moment: datetime) -> str:
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"


def cut(body: str, kept: int, whole: str) -> str:
    """The first `kept` characters, with the cut said and where the rest is."""
    return f"{body[:kept].rstrip()}\n[cut here; the whole is in {whole}]"


def text(sections: Sequence[tuple[str, Sequence[str]]]) -> str:
    """All of it as one text: what the token counts count."""
    return "".join(
        opening(name) + "".join(f"{item}\n\n" for item in items) + closing(name)
        for name, items in sections
        if items
    )


def messages(provider: str, sections: Sequence[tuple[str, Sequence[str]]]) -> dict[str, Any]:
    """For a model call: what is to be obeyed as the system's, what is recalled as the user's."""
    stable = text([part for part in sections if part[0] in INSTRUCTIONS])
    recalled = text([part for part in sections if part[0] not in INSTRUCTIONS])
    if provider == "openai":
        said = (("system", stable), ("user", recalled))
        return {"messages": [{"role": role, "content": part} for role, part in said if part]}
    block = {"type": "text", "text": stable, "cache_control": {"type": "ephemeral"}}
    content = [{"type": "text", "text": recalled}]
    return {
        "system": [block] if stable else [],
        "messages": [{"role": "user", "content": content}] if recalled else [],
    }
