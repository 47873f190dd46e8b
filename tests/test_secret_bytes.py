"""Secrets in base64, in any encoding, in what is no text, at the edge of windows, in megabytes."""

import asyncio
import base64
import io
import random
import tarfile
import time
import zipfile
import zlib

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


@pytest.mark.parametrize("code", ["utf-16", "utf-16-be", "utf-32"])
def test_a_wide_text_is_read_whole_in_any_script(code: str) -> None:
    mark = "\ufeff" if code == "utf-16-be" else ""
    said = f"{mark}Wi-Fiのパスワードは「sakura-4711」です。\n密码: hunter2x\n"

    kept = writes.output(said.encode(code), set()).decode(code)

    assert len(kept) == len(said)
    assert "sakura" not in kept and "hunter" not in kept
    assert "Wi-Fiのパスワードは「" in kept and kept.endswith("\n")


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
        began = time.process_time()  # a busy machine is not what it waits for
        await asyncio.sleep(0.001)
        waits.append(time.process_time() - began)

    assert len(waits) > 40
    assert sorted(waits)[-2] < 0.5  # far off: some 40 ms


@pytest.mark.parametrize("code", ["utf-8", "utf-16-le", "utf-16-be"])
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


class Stream(io.BytesIO):
    """As a ZIP is written to a pipe: checksums follow the bytes."""

    def seek(self, *_: int) -> int:
        raise io.UnsupportedOperation


@pytest.mark.parametrize("kind", [io.BytesIO, Stream])
def test_a_zip_opens_without_the_secrets_of_its_stored_members(kind: type[io.BytesIO]) -> None:
    file = kind()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("notes.txt", SAID)
        archive.writestr("packed.txt", SAID * 9, zipfile.ZIP_DEFLATED)
        archive.writestr("other.txt", "nothing in it, but some bytes \0\1\2")

    kept = writes.output(file.getvalue(), seen := set[str]())
    with zipfile.ZipFile(io.BytesIO(kept)) as archive:
        broken, notes, packed = (
            archive.testzip(),
            archive.read("notes.txt"),
            archive.read("packed.txt"),
        )

    assert seen == {"github-token"} and broken is None
    assert KEY.encode() not in kept and b"[redacted:github-token]" in notes
    assert packed.decode() == SAID * 9, "what is compressed is not read: see docs/secrets.md"


def test_a_tar_of_texts_keeps_no_secret_and_opens() -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name in ("notes.txt", f"{KEY}.txt"):
            member = tarfile.TarInfo(name)
            member.size = len(SAID)
            archive.addfile(member, io.BytesIO(SAID.encode()))

    kept = writes.output(file.getvalue(), set())
    with tarfile.open(fileobj=io.BytesIO(kept)) as archive:
        names = archive.getnames()

    assert KEY.encode() not in kept
    assert [name.partition("]")[0] for name in names] == ["notes.txt", "[redacted:github-token"]


def test_a_picture_keeps_its_points_and_its_checksums() -> None:
    def chunk(kind: bytes, said: bytes) -> bytes:
        crc = zlib.crc32(kind + said).to_bytes(4, "big")
        return len(said).to_bytes(4, "big") + kind + said + crc

    points = random.Random(1).randbytes(900) + SAID.encode()
    picture = b"\x89PNG\r\n\x1a\n" + chunk(b"tEXt", b"Comment\0" + SAID.encode())
    picture += chunk(b"IDAT", points)

    kept = writes.output(picture, set())

    said = kept[16 : 16 + 8 + len(SAID)]
    assert KEY.encode() not in said and chunk(b"tEXt", said) in kept
    assert kept.endswith(chunk(b"IDAT", points))


@pytest.mark.parametrize("first", [b"PK\x03\x04", b"\x89PNG\r\n\x1a\n", b"\0" * 257 + b"ustar"])
def test_what_only_begins_like_an_archive_is_filtered_all_the_same(first: bytes) -> None:
    noise = random.Random(2).randbytes(900)

    kept = writes.output(first + noise + SAID.encode() + noise, set())

    assert KEY.encode() not in kept
