"""`memoryd audit` and `memoryd consolidate`."""

import shlex
from typing import Any

import click

from memoryd.core.config import Settings
from memoryd.doors import reach
from memoryd.doors.cli import json_option, main, printable, run, say, settings, show

PATH = "/api/v1/memories"
user_option = click.option("--user", "user_id", help="Whose memories.")
agent_option = click.option("--agent", "agent_id", help="Whose own memories, beside the user's.")


@main.command()
@user_option
@agent_option
@json_option
def audit(as_json: bool, **given: str | None) -> None:
    """Report what is wrong with memories, and a line that puts each right; no model is asked.

    Duplicates, contradictions by subject, never recalled, stale, oversized.

    \b
    Example: memoryd audit --user ada
    """
    found = run(_ask(settings(), "GET", "audit", given))
    show(found, as_json, lambda: _report(found["findings"]) or "nothing is wrong")


@main.command()
@click.option("--apply", "applied", metavar="ID", help="Do what this proposal says.")
@click.option("--undo", "undone", metavar="ID", help="Take back what applying it did.")
@click.option("--text", help="With --apply: what is to be remembered, if worded otherwise.")
@click.option("--wording", is_flag=True, help="Let the model of MEMORYD_CHAT_URL word them.")
@user_option
@agent_option
@json_option
def consolidate(
    applied: str | None,
    undone: str | None,
    text: str | None,
    wording: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Propose what could be tidied up: merge, promote to core, retire. Nothing is done unasked.

    \b
    Example: memoryd consolidate --agent scout
             memoryd consolidate --apply prp_0123456789abcdef
    """
    if applied and undone:
        raise click.UsageError("--apply does not go with --undo")
    if text is not None and not applied:
        raise click.UsageError("--text goes with --apply")
    if chosen := applied or undone:
        path = f"proposals/{chosen}/{'apply' if applied else 'undo'}"
        body = None if text is None else {"text": text}
        done = run(_ask(settings(), "POST", path, given, body))
        show(done, as_json, lambda: _done(done))
        return
    found = run(_ask(settings(), "GET", "proposals", {**given, "wording": wording or None}))
    show(found, as_json, lambda: _proposed(found) or "there is nothing to tidy up")


async def _ask(
    chosen: Settings, method: str, path: str, given: dict[str, Any], body: Any = None
) -> dict[str, Any]:
    asked = {name: value for name, value in given.items() if value is not None}
    more = {} if body is None else {"json": body}
    async with reach.client(chosen, say) as client:
        return await reach.call(client, method, f"{PATH}/{path}", params=asked, **more)


def _report(findings: list[dict[str, Any]]) -> str:
    lines = []
    for one in findings:
        lines += [printable(f"{one['kind']:<15} {one['detail']}"), printable(f"    {one['fix']}")]
    return "\n".join(lines)


def _proposed(found: dict[str, Any]) -> str:
    lines = []
    for one in found["proposals"]:
        lines.append(f"{one['id']}  {one['kind']}: {one['reason']}")
        lines += [printable(f"    [{each['memory_id']}] {each['text']}") for each in one["sources"]]
        lines += [printable(f"  → {one['text']}")] if one["text"] else []
        if one["worded_by"]:
            lines.append(printable(f"    --apply {one['id']} --text {shlex.quote(one['text'])}"))
    if not lines:
        return ""
    lines += [printable(f"wording: {found['wording']}")] if found["wording"] else []
    return "\n".join([*lines, "apply one with: memoryd consolidate --apply ID"])


def _done(done: dict[str, Any]) -> str:
    changed = f"changed {', '.join(done['memory_ids']) or 'nothing'}"
    if "undo" not in done:
        return changed
    return f"{changed}; take it back with: {printable(done['undo'])}"
