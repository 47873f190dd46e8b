"""What a write brings beside its JSON content: names and handles, and raw bytes."""

import re
from collections.abc import Iterator
from dataclasses import replace

from memoryd import redact
from memoryd.core.model import Draft
from memoryd.redact import archives

SAMPLE = 65_536  # bytes that tell whether the rest is text
STRANGE = 0.01  # of a text's bytes may be control characters
WINDOW = 256 * 1024  # bytes looked through at once; the interpreter serves nobody else meanwhile
SHORTEST = 16  # characters of a run of text in bytes that are none: with 8, noise reads like text
TOGETHER = 1_000  # runs
APART = "\n\0\n"  # no rule reads across it

# ELF, Windows, macOS, Java, WebAssembly. One in eight has a text that reads like a password in use
# ("-pass arg"), and a program that was changed may not run.
_PROGRAM = re.compile(
    rb"(?s)\x7fELF|MZ.{0,1000}PE\0\0|[\xce\xcf]\xfa\xed\xfe|\xca\xfe\xba\xbe|\0asm"
)
_OURS = re.compile(r"[a-z]{3}_[0-9A-HJKMNP-TV-Z]{26}")  # an id; an event may have 256 of them
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
# The longer marks first: that of UTF-16 begins one of UTF-32.
_MARKS = {
    b"\xff\xfe\0\0": "utf-32-le",
    b"\0\0\xfe\xff": "utf-32-be",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
}
# A run of text, in one byte a character, in two and in four, whichever comes first of them.
_RUNS = {
    width: re.compile(rb"(?:[\t\n\r -~]%s){%d,}[\t\n\r -~]?" % (rb"\0" * (width - 1), SHORTEST))
    for width in (1, 2, 4)
}


def names(draft: Draft, seen: set[str]) -> Draft:
    """`draft` without secrets in what it is called; its content is left as it is.

    What it is looked up by is refused instead.
    """
    redact.refuse(
        tenant_id=draft.tenant_id,
        session_id=draft.session_id,
        user_id=draft.user_id,
        agent_id=draft.agent_id,
        idempotency_key=draft.idempotency_key,
    )
    return replace(
        draft,
        actor=replace(draft.actor, id=redact.text(draft.actor.id, seen)),
        tags=tuple(redact.text(tag, seen) for tag in draft.tags),
        refs=tuple(ref if _OURS.fullmatch(ref) else redact.text(ref, seen) for ref in draft.refs),
    )


def output(given: bytes, seen: set[str]) -> bytes:
    """Bytes without the secrets in their text.

    What is not UTF-8 keeps its length: a secret is overwritten in place, so that a document, a
    database or a text in another encoding can still be read, and checksums of archives and pictures
    are made to fit. Programs stay as they are.
    """
    try:
        whole = given.decode()
    except UnicodeDecodeError:
        whole = "\0"
    if "\0" not in whole:
        return redact.text(whole, seen).encode()
    sample = given[:SAMPLE]
    if len(_CONTROL.findall(sample)) <= STRANGE * len(sample):
        code = _code(sample)
        return redact.masked(given.decode(*code), seen).encode(*code)
    if _PROGRAM.match(given):
        return given
    if wide := _wide(given):
        return redact.masked(given.decode(wide), seen).encode(wide)
    return _runs_masked(given, seen)


def _runs_masked(given: bytes, seen: set[str]) -> bytes:
    kept = bytearray(given)
    for width, pattern in _RUNS.items():
        for runs in _together(_runs(given, pattern)):
            _mask(kept, runs, width, seen)
    if kept != given:
        archives.mend(given, kept)
    return bytes(kept)


def _wide(given: bytes) -> str | None:
    """The code of a text in two or four bytes a letter: by its mark, or by the zeros of Latin ones.

    What is not all of that code is no text: then runs are read.
    """
    zeros = [given[at : SAMPLE + at : 2].count(0) * 5 > min(len(given), SAMPLE) for at in (0, 1)]
    code = next((code for mark, code in _MARKS.items() if given.startswith(mark)), None)
    code = code or {(False, True): "utf-16-le", (True, False): "utf-16-be"}.get(
        (zeros[0], zeros[1])
    )
    try:
        text = given.decode(code) if code else ""
    except UnicodeDecodeError:
        return None
    strange = sum(one < " " and one not in "\t\n\r\x1b" for one in text[:SAMPLE])
    return code if text and strange <= STRANGE * min(len(text), SAMPLE) else None


def _code(sample: bytes) -> tuple[str, str]:
    """UTF-8 with a fault in it, as where a log was cut, or an older code of a byte a letter."""
    text = sample.decode(errors="surrogateescape")
    faults = sum("\udc80" <= one <= "\udcff" for one in text)
    letters = sum(one > "\x7f" for one in text) - faults
    return ("utf-8", "surrogateescape") if letters > faults else ("latin-1", "strict")


def _mask(kept: bytearray, runs: list[re.Match[bytes]], width: int, seen: set[str]) -> None:
    texts = [run[0][::width].decode("ascii") for run in runs]
    given = APART.join(texts)
    clean = redact.masked(given, seen)
    if clean == given:
        return
    at = 0
    for run, text in zip(runs, texts, strict=True):
        kept[run.start() : run.end() : width] = clean[at : at + len(text)].encode()
        at += len(text) + len(APART)


def _runs(given: bytes, pattern: re.Pattern[bytes]) -> Iterator[re.Match[bytes]]:
    at = 0
    while at < len(given):
        begun = pattern.search(given, at, at + WINDOW)
        if begun is None:
            at += WINDOW - SHORTEST * max(_RUNS)  # one may begin where the window ends
        elif run := pattern.match(given, begun.start()):
            yield run
            at = run.end()


def _together(runs: Iterator[re.Match[bytes]]) -> Iterator[list[re.Match[bytes]]]:
    """Many at once: most are short, and to look through a text has a price of its own."""
    some: list[re.Match[bytes]] = []
    for run in runs:
        some.append(run)
        if len(some) == TOGETHER:
            yield some
            some = []
    if some:
        yield some
