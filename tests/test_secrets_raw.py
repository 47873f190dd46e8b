"""A thousand secrets through every door, and none of them in any byte of the data folder."""

import asyncio
import base64
import json
import random
import re
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
import yaml

import make
import raw_files
import secret_lines
from commands import memoryd, serving
from desk import Desk, edit
from memoryd import embedded, redact
from memoryd.redact import rules
from secret_lines import Line

PER_RULE = 8
TOGETHER = 10  # lines of one request
CANARY = "a heron stands in the river"  # what no rule finds, to prove that the search would


def lines() -> list[Line]:
    """Those of the bench that the filter finds: it is the doors that are on trial here."""
    made = secret_lines.made(PER_RULE, seed=5)
    random.Random(5).shuffle(made)
    return [one for one in made if not any(s in redact.text(one.text) for s in one.secrets)]


def together(some: list[Line], lines: int = TOGETHER) -> list[str]:
    """Texts of several lines each."""
    parts = [some[at : at + lines] for at in range(0, len(some), lines)]
    return ["\n\n".join(one.text for one in part) for part in parts]


def parts(text: str, most: int) -> list[str]:
    """Of `most` characters, cut between lines."""
    return re.findall(rf"(?s).{{1,{most}}}(?:\n\n|$)", text)


class Doors:
    """Each takes a text, or a short one where names are asked for."""

    def __init__(self, client: httpx.Client, cited: str) -> None:
        self.client, self.cited = client, cited
        self.refused: list[httpx.Response] = []

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        done = self.client.post(f"/api/v1/{path}", json=body)
        assert done.is_success, (path, done.status_code, done.json().get("field"))
        found: dict[str, Any] = done.json()
        return found

    def message(self, text: str) -> None:
        self.post("events", **make.body(content={"text": text, "meta": {"list": [text]}}))

    def tool_call(self, text: str) -> None:
        content = {"tool": "sh", "arguments": {"command": text}, "env": text.splitlines()}
        self.post("events", **make.body(kind="tool_call", content=content))

    def tool_result(self, text: str) -> None:
        content = {"tool": "sh", "text": text, "stderr": text}
        self.post("events", **make.body(kind="tool_result", content=content))

    def tool_bytes(self, text: str) -> None:
        sent = base64.b64encode((text + "\nand on\n" * 9_000).encode()).decode()
        content = {"tool": "sh", "bytes": sent}
        self.post("events", **make.body(kind="tool_result", content=content))

    def decision_event(self, text: str) -> None:
        content = {"decision": text, "rationale": [text]}
        self.post("events", **make.body(kind="decision", content=content))

    def task_event(self, text: str) -> None:
        content = {"title": text, "details": text}
        self.post("events", **make.body(kind="task_update", content=content))

    def artifact(self, text: str) -> None:
        content = {"name": "notes", "text": text}
        self.post("events", **make.body(kind="artifact", content=content))

    def secret(self, text: str) -> None:
        self.post("events", **make.body(content={"text": text}, sensitivity="secret"))

    def batch(self, text: str) -> None:
        self.post("events/batch", events=[make.body(content={"text": text})] * 2)

    def upload(self, text: str) -> None:
        self._upload(text.encode(), "text/plain")

    def upload_wide(self, text: str) -> None:
        self._upload(text.encode("utf-16"), "application/octet-stream")

    def upload_output(self, text: str) -> None:
        self._upload(text.encode(), "text/plain", tool="sh")

    def _upload(self, body: bytes, media_type: str, **more: Any) -> None:
        asked = {"session_id": "s1", **more}
        sent = {"content": body, "headers": {"content-type": media_type}}
        done = self.client.post("/api/v1/artifacts", params=asked, **sent)  # type: ignore[arg-type]  # httpx names them one by one
        assert done.status_code == 201

    def decision(self, text: str) -> None:
        self.post("decisions", decision=text, consequences=[text])

    def task(self, text: str) -> None:
        made = self.post("tasks", title=text)
        self.post("tasks", task_id=made["task_id"], details=text)

    def summary(self, text: str) -> None:
        self.post("summaries", session_id="s1", text=text, cites=[self.cited])

    def handoff(self, text: str) -> None:
        for part in parts(text, 3_900):
            made = self.post("handoffs", to_agent="b", note=part)
            self.post(
                f"handoffs/{made['handoff_id']}/accept", agent_id="b", session_id="s1", note=part
            )

    def questions(self, text: str) -> None:
        self.post("acb/build", session_id="s1", query_text=text)
        self.post("search", query=text)
        self.post("handoffs", to_agent="b", query_text=text, idempotency_key=str(len(text)))

    def malformed(self, text: str) -> None:
        self._refuse("events", json.dumps(make.body(content={"text": text}))[:-1])
        self._refuse("events", json.dumps(make.body(content={"text": [text]}, tags=text)))
        self._refuse("tasks", json.dumps({"title": "x", text[:200]: text}))

    def _refuse(self, path: str, body: str) -> None:
        sent = {"content": body, "headers": {"content-type": "application/json"}}
        self.refused.append(self.client.post(f"/api/v1/{path}", **sent))  # type: ignore[arg-type]  # httpx names them one by one

    def names(self, some: list[str]) -> None:
        actor = {"type": "tool", "id": some[0]}
        content = {"tool": some[0], "text": "x", "path": some[1], "name": some[2]}
        content |= {name: name for name in some}
        given = {"kind": "tool_result", "tags": some, "refs": some, "actor": actor}
        self.post("events", **make.body(content=content, **given))
        self.post("acb/build", session_id="s1", intent=some[0])
        asked = {"name": some[0], "path": some[1], "actor_id": some[2], "tag": some}
        self._upload(some[0].encode(), "text/plain", **asked)

    def handles(self, name: str) -> None:
        for field in ("session_id", "user_id", "agent_id", "idempotency_key"):
            self._refuse("events", json.dumps(make.body(**{field: name})))
        self.refused.append(self.client.get(f"/api/v1/events/{name[:80]}"))
        self.refused.append(self.client.get("/api/v1/decisions/query", params={"cursor": name}))


NAMED = ("names", "handles", "questions")
TEXTS = [
    name
    for name, one in vars(Doors).items()
    if callable(one) and not name.startswith("_") and name not in (*NAMED, "post")
]


def views(client: httpx.Client, whole: str) -> None:
    """Every format takes all of them at once, as far as a text goes."""
    for part in parts(whole, 90_000):
        written = {"text": part}
        for kind, body in {
            "text/markdown": part,
            "application/yaml": yaml.safe_dump(written),
            "application/json": json.dumps(written),
        }.items():
            name = f"identity.{kind.partition('/')[2]}"
            sent = {"content": body.encode(), "headers": {"content-type": kind}}
            done = client.put(f"/api/v1/views/{name}", **sent)  # type: ignore[arg-type]  # httpx names them one by one
            assert done.is_success, done.status_code


def commands(home: Path, url: str, folder: Path, texts: list[str], names: list[str]) -> None:
    desk = Desk(home, url, folder, "ada")
    desk.put("these are the rules")
    desk.post("tasks", title="the task")
    desk.post("decisions", decision="the decision")
    desk.export()
    edit(desk.only("views"), "these are the rules", texts[0])
    edit(desk.only("tasks"), "the task", texts[1].splitlines()[0])
    edit(desk.only("decisions"), "the decision", texts[2])
    desk.take()
    done = memoryd(home, "record", "-", stdin=texts[3], MEMORYD_URL=url)
    assert done.returncode == 0, done.stderr
    refused = memoryd(
        home, "keys", "create", "--tenant", "t", "--role", "agent", "--user", names[0]
    )
    assert refused.returncode != 0


@contextmanager
def joined(home: Path) -> Iterator[embedded.Server]:
    server = embedded.join(home, print)
    try:
        yield server
    finally:
        server.close()


async def store_uncompressed(server: embedded.Server) -> None:
    """So that what the server would compress can be read in its files."""
    conn = await asyncpg.connect(**vars(server.address))
    columns = await conn.fetch(
        "select attrelid::regclass::text as owner, attname from pg_attribute"
        " where attrelid in (select oid from pg_class where relkind = 'r'"
        " and relnamespace = 'memoryd'::regnamespace) and attstorage in ('x', 'm')"
    )
    for owner, column in columns:
        await conn.execute(f'alter table {owner} alter column "{column}" set storage external')
    assert len(columns) > 50
    await conn.close()


async def pieces(server: embedded.Server) -> bytes:
    """All artifacts, decompressed."""
    conn = await asyncpg.connect(**vars(server.address))
    rows = await conn.fetch("select bytes from memoryd.artifact_pieces order by digest, piece")
    await conn.close()
    return b"\n".join(zlib.decompress(row["bytes"]) for row in rows)


@pytest.fixture
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="memoryd-raw-"))
    folder.chmod(0o711)
    yield folder / "home"
    shutil.rmtree(folder)


def test_no_byte_of_a_secret_is_in_the_data_folder(home: Path) -> None:
    given = lines()
    texts, names = together(given), [one.text for one in given if _is_name(one)]
    longer = together(given, 10 * TOGETHER)  # for a door that adds 60 KB to each
    canary = raw_files.Needles([CANARY]).sought
    needles = raw_files.Needles([CANARY, *(secret for one in given for secret in one.secrets)])

    with joined(home) as server, serving(home) as served:
        asyncio.run(store_uncompressed(server))
        commands(home, served.url, home.parent / "files", texts, names)
        with httpx.Client(base_url=served.url, timeout=120) as client:
            cited = client.post("/api/v1/events", json=make.body(content={"text": CANARY})).json()
            doors = Doors(client, cited["event_id"])
            for name in TEXTS:
                for text in longer if name == "tool_bytes" else texts:
                    getattr(doors, name)(text)
            for at in range(0, len(names) - 3, TOGETHER):
                doors.names(names[at : at + TOGETHER])
                doors.handles(names[at])
            for text in parts("\n\n".join(texts), 18_000):
                doors.questions(text)
            views(client, "\n\n".join(texts))
        stored = asyncio.run(pieces(server))
    shutil.rmtree(home.parent / "files")
    found = raw_files.found(home.parent, needles)

    assert len(given) > 1_000
    assert {one.rule for one in given} == {rule.name for rule in rules.rules()}
    assert {one.status_code for one in doors.refused} <= {400, 404, 422}
    assert any(some & canary for some in found.values())
    assert {path: some - canary for path, some in found.items() if some - canary} == {}
    assert needles.within(stored) == set()
    assert b"[redacted:" in stored


def _is_name(line: Line) -> bool:
    """One line of at most 200 characters, all of which the filter finds under any name."""
    return len(line.text) <= 200 and line.text.isprintable()


def test_the_search_finds_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\0" * 9_999 + "THE Heron".lower().encode("utf-16-le"))
    (tmp_path / "b").write_bytes(b"nothing")

    found = raw_files.found(tmp_path, raw_files.Needles(["the heron", "the other"]))

    assert [Path(path).name for path in found] == ["a"]
