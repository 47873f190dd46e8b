"""What placeholders stand for, as far as an instruction needs it: a short text whole, of a long one
the lines around the words that are asked for. Knows the client, no framework.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memoryd import neutral
from memoryd.client import AsyncClient, kept
from memoryd.core import errors, tokens

CONTEXT = 1  # lines around each place
PLACES = 20  # a word that stands in more places than this tells nothing
ENDS = 20  # lines of the beginning and of the end, where no word is found
NUMBER = 3  # tokens that a line's share of its block's head takes, at most
FOUND = 5  # passages of a search
ISSUED = 1_000  # placeholders that may be expanded, the newest: as many as the daemon takes
MESSAGES = 50  # that tell what an instruction means, the newest
COMMAND_LONGEST = 500  # characters of a command that a description is made from
LONGEST = (
    20_000  # characters of an instruction, as the daemon takes it, and of what was said before
)
_BLOCK = re.compile(r"\[lines (\d+)-(\d+) of \d+\]\n")


async def recalled(
    memory: AsyncClient,
    instruction: str,
    context: Sequence[str],
    issued: Sequence[str],
    room: int,
    where: Mapping[str, Any],
    *,
    model: bool = False,
) -> str | None:
    """What an instruction needs of what is not before the model, within `room` tokens and in a
    fence that it cannot close; None where it needs nothing. Only `issued` is ever opened.
    """
    if not instruction.strip() or not room:
        return None
    said = [_plain(one[-LONGEST:]) for one in context[-MESSAGES:]]
    found = await memory.intent(
        _plain(instruction)[:LONGEST],
        context=said,
        issued=issued[-ISSUED:],
        budget=room,
        model=model,
    )
    if found.action == "search" and found.query:
        return await searched(memory, found.query, room, where)
    if found.action == "expand":
        return fence("\n\n".join([await _part(memory, one, where) for one in found.expand]))
    return None


async def searched(
    memory: AsyncClient, query: str, room: int, where: Mapping[str, Any]
) -> str | None:
    """The passages that `query` finds, best first, within `room` tokens."""
    answer = await memory.search(query, limit=FOUND, **where)
    texts = [f"{one.actor_type} {one.actor_id}: {one.text}" for one in answer.results]
    said = "\n".join(fitting(texts, room))
    return fence(said) if said else None


def storable(text: str) -> str | bytes:
    """As the client takes it: halves of letters, which some tools let through, only as bytes."""
    whole = text.encode(errors="surrogatepass")
    return text if whole == text.encode(errors="replace") else whole


def _plain(text: str) -> str:
    """Without halves of letters, which JSON does not take."""
    return text.encode(errors="replace").decode()


def fence(text: str) -> str:
    """Stored text is data, whatever it says."""
    return f"<memory>\n{neutral.fenced(text)}\n</memory>"


def fitting(lines: Iterable[str], room: int) -> list[str]:
    """The first of the lines, as many as `room` tokens hold."""
    kept_lines = []
    for line in lines:
        room -= tokens.count(line) + 1
        if room < 0:
            break
        kept_lines.append(line)
    return kept_lines


def shortened(text: str, room: int) -> str:
    """The first lines, and where there are more, how to get at them."""
    lines = text.split("\n")
    shown = fitting(lines, room)
    more = [] if len(shown) == len(lines) else ["…(more: ask for lines, or find)"]
    if not shown and room:  # one line may be the whole text
        shown = [lines[0][:room]]
    return "\n".join([*shown, *more])


async def _part(memory: AsyncClient, one: kept.Expansion, where: Mapping[str, Any]) -> str:
    """A part with the key that it is of. What was erased since is said to be gone."""
    try:
        said = await _whole(memory, one, where) if one.whole else await _lines(memory, one, where)
    except errors.NotFound:
        return f"{one.key}: it is not stored any more"
    except errors.Invalid:
        return f"{one.key}: it is no text"
    return f"{one.key}:\n{said}"


async def _whole(memory: AsyncClient, one: kept.Expansion, where: Mapping[str, Any]) -> str:
    found = await memory.retrieve(one.key, **where)
    return found.content if found.content is not None else "it is no text"


async def _lines(memory: AsyncClient, one: kept.Expansion, where: Mapping[str, Any]) -> str:
    """Those around the rarest words first, in the order of the text."""
    first = await memory.retrieve(one.key, lines=f"1-{ENDS}", **where)
    total = first.part.total
    places = [
        await memory.retrieve(one.key, find=word, context=CONTEXT, limit=PLACES, **where)
        for word in one.find
    ]
    told = sorted((at for at in places if 0 < at.part.total <= PLACES), key=_rarity)
    chosen: dict[int, str] = {}
    for at in told:
        for number, line in numbered(at.content or "").items():
            before = chosen.get(number, line)  # of a long line, what is around another word
            chosen[number] = before if line in before else f"{before} {line}"
    if not chosen:
        last = await memory.retrieve(one.key, lines=f"-{ENDS}", **where)
        chosen = {**_counted(first), **_counted(last)}
    return _shown(_within(chosen, one.max_tokens), total)


def _rarity(at: kept.ReferenceRead) -> tuple[int, int]:
    """In how many lines a word stands; in a long one, how much is around all its places."""
    return at.part.total, len(at.content or "")


def numbered(found: str) -> dict[int, str]:
    r"""The lines of an answer to `find`, by their numbers. Its heads say how many lines follow, so
    that a line of the text that looks like a head is a line.

    >>> numbered("[lines 2-3 of 9]\nb\n[lines 7-7 of 9]\n[lines 9-9 of 9]\ni")
    {2: 'b', 3: '[lines 7-7 of 9]', 9: 'i'}
    """
    lines, at, every = found.split("\n"), 0, {}
    while at < len(lines) and (head := _BLOCK.fullmatch(f"{lines[at]}\n")):
        first, last = int(head[1]), int(head[2])
        for number in range(first, last + 1):
            at += 1
            every[number] = lines[at]
        at += 1
    return every


def _counted(read: kept.ReferenceRead) -> dict[int, str]:
    lines = (read.content or "").removesuffix("\n").split("\n")
    return dict(enumerate(lines, read.part.first or 1))


def _within(chosen: Mapping[int, str], room: int) -> list[tuple[int, str]]:
    """As many as there is room for, those that were chosen first before the others."""
    kept_lines, left = [], room
    for number, line in chosen.items():
        left -= tokens.count(line) + 1 + NUMBER
        if left < 0:
            break
        kept_lines.append((number, line))
    if not kept_lines:  # one line may be the whole text
        kept_lines = [(number, f"{line[:room]}…") for number, line in list(chosen.items())[:1]]
    return sorted(kept_lines)


def _shown(lines: Sequence[tuple[int, str]], total: int) -> str:
    """Each run of lines under a head that says which they are."""
    shown: list[str] = []
    for at, (number, line) in enumerate(lines):
        if at == 0 or lines[at - 1][0] != number - 1:
            last = number
            while (
                at + last - number + 1 < len(lines) and lines[at + last - number + 1][0] == last + 1
            ):
                last += 1
            shown.append(f"[lines {number}-{last} of {total}]")
        shown.append(line)
    return "\n".join(shown)
