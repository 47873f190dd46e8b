"""Secrets in base64, in any encoding, in what is no text, at the edge of windows, in megabytes."""

import asyncio
import base64
import random
import time

import pytest

import secret_specs
from memoryd import redact
from memoryd.redact import rules, writes
from test_secrets import KEY, SAID


def test_what_is_no_text_keeps_all_but_its_secrets() -> None:
    chance = random.Random(4)
    noise = chance.randbytes(5_000)
    seen: set[str] = set()

    kept = writes.output(noise + SAID.encode() + noise + KEY.encode("utf-16-le") + noise, seen)

    assert seen == {"github-token"}
    assert kept.count(noise) == 3
    assert KEY.encode() not in kept.replace(b"\0", b"")


@pytest.mark.parametrize("content", [b"", b"\xff", b"\x7fELF" + SAID.encode() + b"\0\xff"])
def test_bytes_without_text_and_programs_stay(content: bytes) -> None:
    assert writes.output(content, set()) == content


def test_a_broken_text_is_read_as_what_it_was_meant_to_be() -> None:
    cut = "il mio codice fiscale è SVJHGJ76R22S642X, perché no".encode() + b"\xc3"

    assert b"SVJHGJ" not in writes.output(cut, set())


@pytest.mark.parametrize("first", [b"", b"\0"], ids=["text", "bytes"])
async def test_filtering_megabytes_leaves_the_others_their_turn(first: bytes) -> None:
    """Without a keyword in it, a text is one long search, during which nothing else could run."""
    given = first * 65_536 + "qqq vvv www xxx zzz öö ".encode() * 400_000
    rules.load()
    waits = []

    work = asyncio.ensure_future(asyncio.to_thread(writes.output, given, set()))
    while not work.done():
        began = time.perf_counter()
        await asyncio.sleep(0.001)
        waits.append(time.perf_counter() - began)

    assert len(waits) > 40
    assert sorted(waits)[-2] < 0.5  # far off: some 40 ms; the busy machine is forgiven once


@pytest.mark.parametrize("code", ["utf-8", "utf-16-le"])
def test_a_secret_in_base64_is_found(code: str) -> None:
    said = base64.b64encode("für alle: DB_PASSWORD=Sommer2024!\n".encode(code)).decode()
    text = f"data:\n  env: {said}\n  image: {'iVBORw0KGgoAAAANSUhEUg' * 3}\n"

    assert redact.text(text) == text.replace(said, "[redacted:password]")


@pytest.mark.parametrize("after", ["", "\nroot@host:~# ", "\ndone\n", "\n\nand so on"])
@pytest.mark.parametrize("before", range(40, 60, 3))
def test_a_secret_in_base64_that_is_broken_into_lines_is_found(before: int, after: str) -> None:
    said = base64.encodebytes((b"# " + b"x" * before + b"\nDB_PASSWORD=Sommer2024!\n") * 4).decode()

    clean = redact.text(f"$ base64 .env\n{said.rstrip()}{after}")

    assert clean == f"$ base64 .env\n[redacted:password]{after}"


@pytest.mark.parametrize("said", ["a harmless text of some length, see?", "ÄÖÜ" * 40, "\0" * 60])
def test_what_is_harmless_in_base64_stays(said: str) -> None:
    text = base64.b64encode(said.encode()).decode()

    assert redact.text(text) == text


@pytest.mark.parametrize("length", [rules.WINDOW, 2 * rules.WINDOW])
@pytest.mark.parametrize("key", ["ghp_{36w}", "api_key = {20w}", "-----BEGIN EC PRIVATE KEY-----"])
def test_the_edge_of_a_window_hides_nothing(length: int, key: str) -> None:
    secret = secret_specs.fill(key, random.Random(1))[0]
    for before in range(length - len(secret) - 2, length + 3):
        text = "x " * (before // 2) + " " * (before % 2) + secret

        assert redact.text(text).endswith("]")


def test_noise_stays_as_it_is() -> None:
    """Pictures and archives look like this: one changed byte, and they cannot be opened."""
    draw = random.Random(5)
    for _ in range(8):
        noise, seen = draw.randbytes(5 * 1024 * 1024), set[str]()

        assert writes.output(noise, seen) == noise
        assert seen == set()
