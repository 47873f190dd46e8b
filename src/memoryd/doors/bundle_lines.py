"""A bundle → lines for a terminal: each section's bar, its items, what was left out.

They are made for 80 columns, and take a second, indented line where there are fewer, down to 60.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memoryd.core import pack
from memoryd.doors.cli import INDENT, LEAST, clipped, printable, row

BAR = 20  # characters
FEW = 8  # items of a section, unless all are asked for
USED, LENT, FREE, RESERVED = "█▓░·"
REF = 30  # characters of an id: `evt_` and a ULID

Shown = Mapping[str, Any]


def bundle(
    answer: Shown, width: int, every: bool, past: bool, talk: str | None = None
) -> list[str]:
    """What a person wants to know of a bundle, which may show the `past`, or only what was said in
    the session `talk`; where it was built makes no difference.
    """
    return [
        *_sections(answer, width, every),
        *_totals(answer, width),
        *_omissions(answer["omissions"], width),
        *(line for note in _notes(answer, past, talk) for line in textwrap.wrap(note, width)),
        "",
        f"built at log position {answer['provenance']['position']:,}; to see it again, as it is:",
        f"  memoryd bundle --replay {answer['acb_id']}",
    ]


def difference(new: str, old: str, found: Shown, width: int) -> list[str]:
    """What came in, what fell out and what changed, with the reason of each."""
    came, fell = found["came_in"], found["fell_out"]
    lines = [
        f"new  {printable(new)}",
        f"old  {printable(old)}",
        f"     {found['kept']} kept, {len(came)} came in, {len(fell)} fell out",
    ]
    for sign, changes in (("+", came), ("-", fell), ("~", found["changed"])):
        for one in changes:
            ref = one["refs"][-1] if one["type"] == "chunk" else one["refs"][0]
            where = f"{sign} {one['section']:<18}  {one['why']:<21} "
            said = _words(one["text"], named=one["type"] not in ("chunk", "turn", "reference"))
            lines += ["", *_fitted(printable(where), printable(ref), width, indent=2)]
            lines += ["  " + clipped(said, max(width - 2, LEAST))]
    return lines


def _sections(answer: Shown, width: int, every: bool) -> Iterator[str]:
    budget = answer["budget_tokens"]
    for section in answer["sections"]:
        name, used = section["name"], section["token_est"]
        cap, share = pack.CAPS[name], pack.share(name, budget)
        most = f"  cap {cap:,}" if share < cap else ""
        line = f"{name:<18}  {_bar(used, share)} {used:>7,} of {share:>6,}"
        yield line + (most if len(line + most) <= width else "")
        yield from _items(section, width, every)


def _items(section: Shown, width: int, every: bool) -> Iterator[str]:
    items = [_item(number, one, width) for number, one in enumerate(section["items"], 1)]
    more = 0 if every else max(len(items) - FEW, 0)
    last = more and section["name"] == "recent_window"  # the newest stand last there
    if last:
        yield f"{'':9} … {more} before these (--all shows them)"
    for lines in items[more:] if last else items[: len(items) - more]:
        yield from lines
    if more and not last:
        yield f"{'':9} … {more} more (--all shows them)"
    if items:
        yield ""


def _item(number: int, one: Shown, width: int) -> list[str]:
    score = one.get("score")
    lead = f"{number:>3} {score:>5.2f} " if score is not None else " " * 10
    own = one.get(f"{one['type']}_id")
    ref = own or one["refs"][-1 if score is not None else 0]
    head = f"{lead}{printable(ref):<{REF}}  "
    return row(head, "", _words(one["text"], bool(own)), width)


def _fitted(head: str, more: str, width: int, indent: int = INDENT) -> list[str]:
    """One line, or two where the terminal is too narrow."""
    if len(head + more) <= width:
        return [head + more]
    return [head.rstrip(), " " * indent + more]


def _words(text: str, named: bool) -> str:
    """What it says, after who said it, or the state of a task: the head has more than fits."""
    head, _, body = text.partition("\n")
    parts = head.strip("[]").split(", ")
    said = ""
    if parts[0].startswith("tsk_"):
        said = f"{parts[1]}: "
    elif not named and parts[0] != "":
        origin = parts[1] if parts[0].isdecimal() and len(parts) > 1 else parts[0]
        said = f"{origin.partition(' ')[2]}: " if " " in origin else ""
    return printable(said + " ".join(body.split()))


def _bar(used: int, share: int) -> str:
    """Full at its share; beyond it, the part is marked that others did not need."""
    if used <= share:
        filled = _cells(used, share)
        return USED * filled + FREE * (BAR - filled)
    own = _cells(share, used)
    return USED * own + LENT * (BAR - own)


def _cells(part: int, whole: int) -> int:
    """Of the bar; something is never shown as nothing."""
    return max(round(BAR * part / whole), int(part > 0)) if whole else 0


def _totals(answer: Shown, width: int) -> Iterator[str]:
    budget, used = answer["budget_tokens"], answer["token_used_est"]
    reserve = pack.reserve(budget)
    kept, filled = _cells(reserve, budget), _cells(used, budget)
    bar = USED * filled + FREE * (BAR - filled - kept) + RESERVED * kept
    line = f"{'total':<18}  {bar} {used:>7,} of {budget:>6,}  "
    yield from _fitted(line, f"{reserve:,} in reserve ({RESERVED})", width, indent=20)
    shares = [pack.share(section["name"], budget) for section in answer["sections"]]
    used_of = [section["token_est"] for section in answer["sections"]]
    if any(used > share for used, share in zip(used_of, shares, strict=True)):
        yield f"{'':18}  {LENT} is room that other sections left"


def _omissions(omissions: Sequence[Shown], width: int) -> Iterator[str]:
    """By reason and section, with as many refs as fit."""
    grouped: dict[tuple[str, str], tuple[int, str, list[str]]] = {}
    for one in omissions:
        key = (one["reason"], one.get("section") or "")
        count, _, refs = grouped.get(key, (0, "", []))
        own = [one["artifact_id"]] if one.get("artifact_id") else one["candidates"]
        grouped[key] = (count + one["count"], "+" if one.get("more") else " ", [*refs, *own])
    if grouped:
        yield ""
        yield "left out"
    longest = max((len(reason) for reason, _ in grouped), default=0)
    for (reason, section), (count, more, refs) in sorted(grouped.items()):
        head = f"  {reason:<{longest}} {count:>5}{more}{section:<18} "
        room = width - (len(head) if len(head) + REF <= width else INDENT)
        shown = refs[: max((room + 1) // (REF + 1), 1)]
        yield from _fitted(printable(head), printable(" ".join(shown)), width)


def _notes(answer: Shown, past: bool, talk: str | None) -> Iterator[str]:
    provenance = answer["provenance"]
    pending = provenance.get("embedding", {}).get("pending_vectors")
    if pending:
        yield f"({pending:,} chunks are found by words alone as yet)"
    if provenance.get("degraded"):
        yield f"({provenance['degraded']})"
    if provenance.get("hidden"):
        yield f"({provenance['hidden']:,} more are hidden from this user and channel)"
    if talk is not None and _silent(answer):
        # What is hidden is counted over all sessions.
        what = "nothing that you see" if provenance.get("hidden") else "nothing"
        yield f"{what} was said in session {printable(talk)!r}; name one with --session"
    if any(section["items"] for section in answer["sections"]):
        return
    if past and provenance["position"] == 0:
        yield "it is empty: nothing was recorded by then"
    else:
        yield "it is empty; see what is recorded with: memoryd events"


def _silent(answer: Shown) -> bool:
    """Whether its session has nothing that could stand in the window."""
    left_out = any(one.get("section") == "recent_window" for one in answer["omissions"])
    windows = [one["items"] for one in answer["sections"] if one["name"] == "recent_window"]
    return windows == [[]] and not left_out
