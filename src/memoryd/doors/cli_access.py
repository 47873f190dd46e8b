"""`memoryd accesses`: who asked for what."""

from typing import Any

import click

from memoryd.core.config import Settings
from memoryd.doors import reach
from memoryd.doors.cli import json_option, main, printable, run, say, settings, show


@main.command()
@click.option("--since", help="Only from this time on, e.g. 2026-05-01T00:00:00Z.")
@click.option("--until", help="Only before this time.")
@click.option("--key", "key_id", help="Only with this key, by its id.")
@click.option("--route", help="Only of this pattern, e.g. /api/v1/acb/build.")
@click.option("--user", "user_id", help="Only through this user's eyes.")
@click.option("--bundle", help="Only of this bundle, event or thing, by its id.")
@click.option("--cursor", help="`next` of the page before.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1000))
@json_option
def accesses(as_json: bool, **given: Any) -> None:
    """Show who read or changed what, newest first; never what was said. Needs an admin's key.

    \b
    Example: memoryd accesses --route /api/v1/acb/build --user ada
    """
    page = run(_ask(settings(), given))
    show(page, as_json, lambda: _table(page) or "nobody asked for anything yet")


async def _ask(chosen: Settings, given: dict[str, Any]) -> dict[str, Any]:
    params = {name: value for name, value in given.items() if value is not None}
    async with reach.client(chosen, say) as client:
        return await reach.call(client, "GET", "/api/v1/audit", params=params)


def _table(page: dict[str, Any]) -> str:
    lines = [_line(one) for one in page["accesses"]]
    more = [f"more: --cursor {page['next']}"] if page["next"] else []
    return "\n".join([*lines, *more])


def _line(one: dict[str, Any]) -> str:
    who = f"{one['key_id'] or 'no key':<17} {one['user_id'] or '-'}"
    what = f"{one['method']} {one['route']}"
    how = f"{one['status']} {one['items']} shown, {one['recorded']} recorded"
    return printable(f"{one['at'][:19]}  {who:<28} {what:<44} {how}  {one['ref'] or ''}".rstrip())
