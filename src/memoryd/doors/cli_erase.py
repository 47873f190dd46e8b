"""`memoryd erase` and `memoryd scrub`: for whoever must make the daemon forget."""

import sys
from dataclasses import asdict
from typing import Any

import click
from pydantic import TypeAdapter, ValidationError

from memoryd import daemon
from memoryd.core import db, errors
from memoryd.core.config import Settings
from memoryd.core.model import Name
from memoryd.custody import erase_act, erasure, scrub, sweep, verify
from memoryd.doors.cli import (
    end_progress,
    fail,
    json_option,
    main,
    own_settings,
    progress_bar,
    run,
    say,
    show,
)
from memoryd.search.encoders import Encoders

TARGETS = ("user", "session", "event", "memory")
OPERATOR = "operator"  # on whose word: whoever may run commands on the home
_NAME = TypeAdapter[str](Name)


@main.command("erase")
@click.argument("receipt_id", required=False)
@click.option("--user", help="All that is this user's.")
@click.option("--session", help="A whole conversation.")
@click.option("--event", help="One event, by its id.")
@click.option("--memory", help="One memory, with all its versions.")
@click.option("--tenant", help="Where to look; alone: all of the tenant, with its keys.")
@click.option("--reason", default="", help="Is kept with the receipt: name nobody in it.")
@click.option("--dry-run", is_flag=True, help="Only count what would go.")
@click.option("--verify", "verified", is_flag=True, help="Then look for what is left.")
@click.option("--no-sweep", is_flag=True, help="Leave the tables' files to the next erasure.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def erase_command(receipt_id: str | None, as_json: bool, **given: Any) -> None:
    """Erase a user, a session, an event, a memory or a tenant, and everything that was made of it.

    The log keeps empty places. Daemons go on, but each table is locked while it is written anew.
    With --verify, every table is then searched for the erased ids and words, and on the embedded
    server its files too. With a RECEIPT_ID, --verify looks again later, for ids alone. Exits with 1
    where there is nothing of that name, and where something is left.

    \b
    Example: memoryd erase --user ada --verify
    """
    if receipt_id is not None:
        _look_again(receipt_id, given, as_json)
        return
    chosen, asked = own_settings(harmful=True), _asked(given)
    if not given["dry_run"] and not given["yes"]:
        _confirm(asked)
    steps = erasure.Steps(
        dry_run=given["dry_run"], sweep=not given["no_sweep"], verify=given["verified"]
    )
    outcome = run(_erase(chosen, asked, steps))
    show(_plain(outcome), as_json, lambda: "\n".join(_lines(outcome, given["dry_run"])))
    if _nothing(outcome) or (outcome.report is not None and not outcome.report.clean):
        raise SystemExit(1)


def _nothing(outcome: erasure.Outcome) -> bool:
    """Whether there was nothing of that name, nor anything that an earlier run had left to do."""
    swept = outcome.swept is not None and outcome.swept.erasures
    return not any(outcome.erasure.rows.values()) and not swept


def _asked(given: dict[str, Any]) -> erase_act.Asked:
    named = {what: given[what] for what in TARGETS if given[what] is not None}
    if len(named) > 1:
        raise errors.Invalid(f"name one thing to erase, not {' and '.join(named)}")
    tenant_id = given["tenant"] or "default"
    if not named and given["tenant"] is None:
        raise errors.Invalid("name what to erase: --user, --session, --event, --memory or --tenant")
    ((what, name),) = named.items() if named else [("tenant", given["tenant"])]
    try:
        _NAME.validate_python(name)
    except ValidationError as error:
        raise errors.Invalid(f"--{what} must be one line of 1 to 255 characters") from error
    return erase_act.Asked(
        tenant_id=tenant_id,
        what=erase_act.BY_FIELD[what if what == "tenant" else f"{what}_id"],
        name=name,
        by=OPERATOR,
        reason=given["reason"],
    )


def _confirm(asked: erase_act.Asked) -> None:
    within = "" if asked.what == "tenant" else f" in tenant {asked.tenant_id!r}"
    what = f"{asked.what} {asked.name!r}{within}"
    if not sys.stdin.isatty():
        fail(f"{what} is not erased: there is nobody to ask; add --yes (or --dry-run)")
    if not click.confirm(f"Erase {what} for ever?", err=True):
        fail("nothing was erased")


async def _erase(chosen: Settings, asked: erase_act.Asked, steps: erasure.Steps) -> erasure.Outcome:
    async with daemon.postgres(chosen, say) as (target, _):
        await daemon.bring_up_to_date(target, say)
        encoders = Encoders()
        conn = await db.connect(target, db.APP)
        try:
            await encoders.look(conn)
        finally:
            await conn.close()
        outcome = await erasure.carry_out(
            *(target, asked, encoders.current, steps),
            now=daemon.now(),
            entropy=daemon.entropy,
            progress=progress_bar("tables written anew"),
        )
        end_progress()
        return outcome


def _look_again(receipt_id: str, given: dict[str, Any], as_json: bool) -> None:
    if not given["verified"]:
        raise errors.Invalid("a RECEIPT_ID is for looking again: add --verify")
    asked = _asked(given) if any(given[what] for what in TARGETS) else None
    report = run(
        _verify(own_settings(harmful=True), given["tenant"] or "default", receipt_id, asked)
    )
    show(_report(report), as_json, lambda: "\n".join(_found(report)))
    if not report.clean:
        raise SystemExit(1)


async def _verify(
    chosen: Settings, tenant_id: str, receipt_id: str, asked: erase_act.Asked | None
) -> verify.Report:
    async with daemon.postgres(chosen, say) as (target, _):
        await daemon.bring_up_to_date(target, say)
        conn = await db.connect(target, db.APP)
        try:
            async with conn.transaction():
                await db.set_tenant(conn, tenant_id)
                known = await erase_act.find(conn, tenant_id, receipt_id)
        finally:
            await conn.close()
        if known is None:
            raise errors.NotFound(f"there is no erasure {receipt_id!r} in tenant {tenant_id!r}")
        if asked and erase_act.fingerprint(receipt_id, asked.name) != known.fingerprint:
            raise errors.Invalid(f"erasure {receipt_id!r} was not of this {asked.what}")
        return await verify.verify(target, tenant_id, receipt_id, asked)


def _plain(outcome: erasure.Outcome) -> dict[str, Any]:
    report = _report(outcome.report) if outcome.report else None
    swept = asdict(outcome.swept) if outcome.swept else None
    return {**asdict(outcome.erasure), "swept": swept, "report": report}


def _report(report: verify.Report) -> dict[str, Any]:
    return {**asdict(report), "clean": report.clean}


def _lines(outcome: erasure.Outcome, dry_run: bool) -> list[str]:
    done = outcome.erasure
    if not any(done.rows.values()):
        return [
            f"there is nothing to erase: no such {done.what} here",
            *_swept(outcome),
            *_found(outcome.report),
        ]
    lines = [f"{'would go' if dry_run else 'erased'}: {done.events:,} events"]
    lines += [f"  {count:>9,}  {table}" for table, count in sorted(done.rows.items()) if count]
    if done.spoken:
        lines.append(f"{done.spoken:,} events of others stay, of which this user is the actor")
    if done.erasure_id:
        lines.append(f"receipt: {done.erasure_id}, on the word of {done.by}")
    return [*lines, *_swept(outcome), *_found(outcome.report)]


def _swept(outcome: erasure.Outcome) -> list[str]:
    if outcome.swept is None or not outcome.swept.erasures:
        return []
    wal = "the write-ahead log's old files are gone" if outcome.swept.wal else NOT_OURS
    return [f"{len(outcome.swept.tables)} tables written anew; {wal}"]


NOT_OURS = "files and write-ahead log of an outside server are its operator's to clean"


def _found(report: verify.Report | None) -> list[str]:
    if report is None:
        return []
    rows = sum(report.rows.values())
    where = f"{rows:,} rows of {len(report.rows)} tables, {report.bytes_read:,} bytes"
    files = f"{report.files:,} files, {report.file_bytes:,} bytes" if report.raw else "no files"
    sought = f"{report.positions:,} positions and {report.words:,} words"
    shared = f" ({report.shared:,} of them said by others too)" if report.shared else ""
    verdict = "nothing is left" if report.clean else "LEFT:"
    lines = [f"looked for {sought}{shared} in {where}, and in {files}: {verdict}"]
    return lines + [f"  {finding}" for finding in report.findings]


@main.command("scrub")
@click.option("--tenant", help="Only this one; otherwise all.")
@click.option("--dry-run", is_flag=True, help="Only say where secrets are.")
@json_option
def scrub_command(tenant: str | None, dry_run: bool, as_json: bool) -> None:
    """Take out of the log what today's rules of the secrets filter would not have let in.

    An event keeps its place and its other words; each has an erasure that names the rules. What is
    found is never printed.

    \b
    Example: memoryd scrub --dry-run
    """
    found = run(_scrub(own_settings(harmful=True), tenant, dry_run))
    show(
        found, as_json, lambda: "\n".join(line for one in found for line in _scrubbed(one, dry_run))
    )


async def _scrub(chosen: Settings, tenant: str | None, dry_run: bool) -> list[scrub.Findings]:
    async with daemon.postgres(chosen, say) as (target, _):
        await daemon.bring_up_to_date(target, say)
        conn = await db.connect(target, db.OWNER)
        try:
            rows = await conn.fetch(db.query("rebuild.tenants"))
            tenants = [row["tenant_id"] for row in rows if tenant in (None, row["tenant_id"])]
            found = [await _scrub_tenant(target, conn, name, dry_run) for name in tenants]
        finally:
            await conn.close()
        end_progress()
        return found


async def _scrub_tenant(
    target: db.Target, conn: db.Conn, tenant_id: str, dry_run: bool
) -> scrub.Findings:
    found = await scrub.search(conn, tenant_id, progress_bar("events looked through"))
    if not dry_run:
        moment = daemon.now()
        await scrub.scrub(conn, found, now=moment, entropy=daemon.entropy)
        await sweep.outlast(conn)
        tables = progress_bar("tables written anew")
        await sweep.sweep(target, tenant_id, now=moment, entropy=daemon.entropy(), progress=tables)
    return found


def _scrubbed(found: scrub.Findings, dry_run: bool) -> list[str]:
    verb = "have secrets" if dry_run else "were scrubbed"
    counts = f"{len(found.events):,} events and {len(found.questions):,} questions {verb}"
    lines = [f"{found.tenant_id}: {counts}"]
    lines += [f"  {count:>7,}  {rule}" for rule, count in sorted(found.rules.items())]
    lines += [f"  {event_id}" for event_id in found.events]
    if found.handles:
        lines.append("a session, user or agent is called by a secret; only `memoryd erase` helps:")
        lines += [f"  {event_id}" for event_id in found.handles]
    return lines
