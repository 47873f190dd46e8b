"""`memoryd import`: edited files come back as events."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import httpx

from memoryd.core import errors
from memoryd.core.config import Settings
from memoryd.custody import markdown, markdown_folder
from memoryd.custody.markdown_folder import Listed, Source, Written, digest
from memoryd.custody.markdown_head import FENCE, Broken
from memoryd.custody.markdown_things import KINDS, Thing, View, key_of
from memoryd.doors import imports, reach
from memoryd.doors.cli import clipped, fail, json_option, main, printable, run, say, settings, show
from memoryd.doors.cli_export import (
    agent_option,
    channel_option,
    opened,
    user_option,
)
from memoryd.doors.cli_view import WIDEST
from memoryd.doors.imports import Step

MOST_LINES = 24  # of a difference, in the plan; --json has all of it


@main.command("import")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("--yes", is_flag=True, help="Record it without asking.")
@user_option
@agent_option
@channel_option
@json_option
def import_(folder: Path, dry_run: bool, yes: bool, as_json: bool, **given: str | None) -> None:
    """Record what was edited in the files of an export.

    Shows what would change, and asks. What somebody else changed meanwhile is a conflict, and
    is not overwritten; importing twice changes nothing more. Whose eyes it looks through is as it
    was exported, unless said.

    \b
    Example: memoryd import notes --dry-run
    """
    root = opened(folder, create=False)
    known = markdown_folder.listed(root)
    if not known.files and not markdown_folder.paths(root):
        fail(f"{folder} has no files of an export; make some: memoryd export --markdown {folder}")
    eyes = {**known.eyes, **{name: value for name, value in given.items() if value is not None}}

    def agree(steps: list[Step]) -> bool:
        count = sum(one.request is not None for one in steps)
        if not as_json:
            click.echo(_plan(steps))
        return not dry_run and (not count or yes or _asked(count, as_json))

    steps = run(_import(settings(), root, eyes, agree))
    told = {"dry_run": dry_run, "eyes": eyes, "steps": [_told(one) for one in steps]}
    show(told, as_json, lambda: "\n".join(_outcome(steps)))
    if any(one.action in ("conflict", "refused") for one in steps):
        sys.exit(1)


def _asked(count: int, as_json: bool) -> bool:
    if as_json or not sys.stdin.isatty():
        fail(f"{_counted(count)} not recorded: there is nobody to ask; add --yes")
    return click.confirm(f"Record {_counted(count)}?", err=True)


async def _import(
    chosen: Settings,
    root: Path,
    eyes: Mapping[str, str],
    agree: Callable[[list[Step]], bool],
) -> list[Step]:
    known = markdown_folder.listed(root)
    found, steps = _read(root, known)
    async with reach.client(chosen, say) as client:
        for source, thing in found:
            steps.append(await imports.step(client, eyes, source, thing))
        steps.sort(key=lambda one: one.file)
        if not agree(steps):
            return steps
        after = Listed(known.eyes if known.files else dict(eyes), dict(known.files))
        try:
            return [await _record(client, eyes, root, after, one) for one in steps]
        finally:
            if after != known:
                markdown_folder.save(root, after)


def _read(root: Path, known: Listed) -> tuple[list[tuple[Source, Thing]], list[Step]]:
    """The files that were changed or made, and what is to say of the others."""
    found: dict[str, list[tuple[Source, Thing | None]]] = {}
    steps: list[Step] = []
    paths = markdown_folder.paths(root)
    for path in paths:
        read = _read_one(root, path, known.files.get(path))
        if isinstance(read, Step):
            steps.append(read)
        else:
            of = key_of(read[1]) if read[1] else known.files[path].of
            found.setdefault(of or path, []).append(read)
    steps += [one for of, same in found.items() for one in _twice(of, same)]
    single = [same[0] for same in found.values() if len(same) == 1]
    there = {*paths, markdown_folder.README}
    gone = {path: one.of for path, one in known.files.items() if path not in there}
    steps += [_deleted(path, of) for path, of in gone.items() if of not in found]
    return [(source, thing) for source, thing in single if thing], steps


def _twice(of: str, same: list[tuple[Source, Thing | None]]) -> list[Step]:
    """Of files that nobody edited none is to be chosen."""
    if len(same) == 1 or not any(thing for _, thing in same):
        return []
    names = ", ".join(source.path for source, _ in same)
    why = f"{'name' if of.startswith('view ') else 'id'}: {of} is in {names}; keep one"
    return [Step(file=source.path, action="refused", why=why) for source, _ in same]


def _deleted(path: str, of: str) -> Step:
    why = "nothing is deleted; export again to have the file back"
    return Step(file=path, action="deleted", of=of, why=why)


def _read_one(root: Path, path: str, listed: Written | None) -> tuple[Source, Thing | None] | Step:
    """The file and what it says, or None where it is as it was written."""
    if not markdown_folder.nameable(path):
        shown = path.encode(errors="replace").decode()
        return Step(file=shown, action="refused", why="its name is none that can be kept")
    try:
        source = markdown_folder.read(root, path)
        if source is None:
            return Step(file=path, action="skipped", why="it is gone")
        if listed and listed.sha256 == digest(source.raw):
            return source, None
        text = markdown.decode(source.raw, path)
        if not text.removeprefix("\ufeff").startswith(FENCE):
            why = "it has no front matter, so it is none of ours; the README says how to begin one"
            return Step(file=path, action="skipped", why=why)
        return source, markdown.parse(KINDS[path.partition("/")[0]], text, path)
    except errors.Invalid as error:
        return Step(file=path, action="refused", why=_without_name(error, path))


def _without_name(error: errors.Invalid, path: str) -> str:
    """A refusal as it stands behind the name of its file."""
    if isinstance(error, Broken):
        return f"line {error.line}: {error.said}"
    return error.detail.removeprefix(f"{path}: ")


async def _record(
    client: httpx.AsyncClient, eyes: Mapping[str, str], root: Path, after: Listed, step: Step
) -> Step:
    """Send what a step has to send, and write into its file what is remembered now."""
    thing, done = step.now, step
    if step.request is not None:
        try:
            thing = await _sent(client, eyes, root, step)
        except errors.Unavailable:
            say("import again: what was recorded is not recorded twice")
            raise
        except errors.Conflict as error:
            return replace(step, action="conflict", why=imports.told(error))
        except errors.MemorydError as error:
            return replace(step, action="refused", why=imports.told(error))
        made = thing.version if isinstance(thing, View) else thing.id
        done = replace(step, recorded=str(made))
    if done.action == "same" or done.recorded:
        _file(root, after, done, thing)
    return done


def _file(root: Path, after: Listed, step: Step, thing: Thing | None) -> None:
    """Write into a file what is remembered now, and list it.

    Without `thing` nobody edited it, however an editor saved it: it is listed as it is, so that the
    next export may write it anew.
    """
    assert step.source and step.said
    raw = markdown.write(thing).encode() if thing else step.source.raw
    if markdown_folder.rewrite(root, step.source, raw):
        after.files[step.file] = Written(key_of(thing or step.said), digest(raw))
    else:
        say(printable(f"{step.file} was saved meanwhile, and is left as it is"))


async def _sent(
    client: httpx.AsyncClient, eyes: Mapping[str, str], root: Path, step: Step
) -> Thing:
    """What memoryd made of a step, if that is still what the person agreed to."""
    assert step.request and step.source and step.said
    if step.action == "create" and not markdown_folder.writable(root, step.file):
        raise errors.Invalid("id: it could not be written into the file; make that possible first")
    now = await imports.step(client, eyes, step.source, step.said)
    if now.now is not None:
        return now.now
    if now.request != step.request:
        raise errors.Conflict(now.why or "it changed meanwhile; import again")
    request = step.request
    more: dict[str, Any] = {"params": request.params, "headers": request.headers}
    answer = await reach.call(client, request.method, request.path, json=request.body, **more)
    return request.answered(answer)


def _plan(steps: list[Step]) -> str:
    lines = [line for one in steps for line in _lines(one)]
    counts = Counter(one.action for one in steps if one.action != "same")
    total = ", ".join(f"{name}: {count}" for name, count in sorted(counts.items()))
    return "\n".join([*lines, total or "nothing was edited"])


def _lines(step: Step) -> Iterator[str]:
    if step.action == "same" and not step.why:
        return
    what = ", ".join(step.fields)
    said = f"{what} ({step.why})" if what and step.action == "change" and step.why else step.why
    yield printable(f"{step.action:<9} {step.file}  {said or what}".rstrip())
    shown = step.diff.removesuffix("\n").split("\n") if step.diff else []
    for line in shown[2 : 2 + MOST_LINES]:
        yield f"    {clipped(printable(line), WIDEST)}"
    if len(shown) > 2 + MOST_LINES:
        yield f"    (and {len(shown) - 2 - MOST_LINES} more lines)"


def _outcome(steps: list[Step]) -> Iterator[str]:
    for one in steps:
        if one.recorded:
            yield printable(f"recorded {one.file} as {one.recorded}")
        elif one.request and one.action in ("conflict", "refused"):
            yield printable(f"{one.action} {one.file}: {one.why}; nothing was overwritten")


def _told(step: Step) -> dict[str, Any]:
    names = ("file", "action", "of", "fields", "why", "diff", "recorded")
    return {name: getattr(step, name) for name in names}


def _counted(count: int) -> str:
    return "1 change" if count == 1 else f"{count} changes"
