"""A small world of tenants, users and channels in which every written word is known, and a model
of who may see it that shares nothing with the daemon's: design §8, written down a second time.
"""

import itertools
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import httpx

USERS, AGENTS, SESSIONS = ("ada", "bob"), ("coder", "tester"), ("s1", "s2")
CHANNELS, SENSITIVITIES = ("private", "public", "team", "agent"), ("none", "low", "high", "secret")
# What a key pins besides its tenant: user, agent, channel.
PINS: tuple[tuple[str | None, str | None, str | None], ...] = (
    (None, None, None),
    ("ada", None, None),
    ("bob", "tester", None),
    (None, None, "public"),
    (None, "coder", "agent"),
    ("ada", "coder", "private"),
    ("bob", None, "team"),
)
NOBODYS = "0" * 26  # the part of an id that no row has
PREFIXES = {
    "decision": ("decision_id", "dec_"),
    "task_update": ("task_id", "tsk_"),
    "artifact": ("artifact_id", "art_"),
    "reference": ("artifact_id", "art_"),
    "summary": ("summary_id", "sum_"),
    "handoff": ("handoff_id", "hnd_"),
}

# Kinds of memory that the log does not name to their writer, and what they are read by.
REMEMBERED = {"fact": "memory_id", "document": "memory_id", "entry": "entry_id", "note": "note_id"}
REMEMBERED |= {"called": "memory_id"}  # by a tool

_numbers = itertools.count(1)
_LETTERS = "bcdfghjklmnpqrstvwxz"
_MARKS = re.compile(rf"zq[{_LETTERS}]{{12}}|[0-9A-HJKMNP-TV-Z]{{26}}")


@dataclass(frozen=True)
class Eyes:
    tenant: str
    channel: str
    user: str


@dataclass(frozen=True)
class Key:
    text: str
    tenant: str
    user: str | None
    agent: str | None
    channel: str | None


@dataclass(frozen=True)
class Asker:
    """A key, and whom it says it asks for; what is None is left out of the request."""

    key: Key
    channel: str | None
    user: str | None
    agent: str | None

    @property
    def given(self) -> dict[str, str]:
        said = {"channel": self.channel, "user_id": self.user, "agent_id": self.agent}
        return {name: value for name, value in said.items() if value is not None}

    def eyes(self, channel: str | None = None) -> Eyes:
        """What it may look through; a key that pins something else is refused, and sees nothing."""
        chosen = channel or self.channel or self.key.channel or "private"
        return Eyes(self.key.tenant, chosen, self.user or self.key.user or "default")

    @property
    def refused(self) -> bool:
        key = self.key
        pairs = [(self.channel, key.channel), (self.user, key.user), (self.agent, key.agent)]
        return any(said and pinned and said != pinned for said, pinned in pairs)


@dataclass(frozen=True)
class Row:
    """Something written: whose it is, who may see it, and the words by which it is known."""

    kind: str
    tenant: str
    user: str
    channel: str
    sensitivity: str
    word: str  # may be asked for
    mark: str  # is in every text of it, and in no question
    default: str = "private"  # the channel where neither the request nor the key names one
    at: dict[str, str] = field(default_factory=dict, compare=False)  # where it is read


def may_see(eyes: Eyes, row: Row) -> bool:
    """Design §8, first paragraph."""
    if eyes.tenant != row.tenant:
        return False
    high = eyes.channel in ("private", "team")
    if row.sensitivity not in (("none", "low", "high") if high else ("none", "low")):
        return False
    if row.channel == "public":
        return True
    if row.channel in ("team", "agent"):
        return eyes.channel != "public"
    return eyes.channel == "private" and eyes.user == row.user


@dataclass(frozen=True)
class Request:
    method: str
    route: str  # as the API document has it
    at: dict[str, str] = field(default_factory=dict)
    params: dict[str, Any] = field(default_factory=dict)
    json: Any = None
    content: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    writes: Row | None = None  # what there is once it is answered with 2xx
    eyes: tuple[Eyes, ...] | None = None  # where they are not the asker's own
    repeats: str = ""  # a question that is answered again, with its words

    @property
    def path(self) -> str:
        return self.route.format(**self.at)

    @property
    def text(self) -> str:
        sent = f"{self.path} {self.params} {self.json} {self.content!r} {self.headers}"
        return f"{sent} {self.repeats}"


@dataclass(frozen=True)
class Bundle:
    acb_id: str
    asker: Asker
    question: str

    @property
    def eyes(self) -> Eyes:
        return self.asker.eyes()

    @property
    def agent(self) -> str:
        return self.asker.agent or self.asker.key.agent or "default"


class World:
    """What was written so far, and the one place where an answer is compared with it."""

    def __init__(self, client: httpx.Client, keys: list[Key]) -> None:
        self.client = client
        self.keys = keys
        self.rows: list[Row] = []
        self.bundles: list[Bundle] = []
        self.reads = 0
        self.seen = 0  # marks of rows in answers: an empty answer proves nothing
        self.sent: list[tuple[Asker, Request]] = []  # what was written, as it was asked
        self._by_mark: dict[str, list[Row]] = {}

    def send(self, asker: Asker, asked: Request) -> httpx.Response:
        headers = {"authorization": f"Bearer {asker.key.text}", **asked.headers}
        return self.client.request(
            asked.method,
            asked.path,
            params=asked.params,
            json=asked.json,
            content=asked.content,
            headers=headers,
        )

    def ask(self, asker: Asker, asked: Request) -> httpx.Response:
        """Send it, note what it wrote, and refuse an answer that shows what it may not."""
        answer = self.send(asker, asked)
        assert answer.status_code < 500, f"{asked.method} {asked.path}: {answer.text}"
        self.reads += 1
        self._check(asker, asked, answer)  # before its own row is known: a writer learns its id
        if asked.writes is not None and answer.is_success:
            self._note(asked.writes, answer)
            if asked.writes.kind not in (
                "document",
                "place",
                "entry",
                "note",
            ):  # of whom: at its path
                self.sent.append((asker, asked))
        if asked.route == "/api/v1/acb/build" and answer.is_success:
            self.bundles.append(Bundle(answer.json()["acb_id"], asker, asked.text))
        return answer

    def compare(self, draw: random.Random, routes: dict[str, str]) -> None:
        """A thing that is hidden and one that never was are refused in the same words."""
        row = draw.choice([row for row in self.rows if routes.keys() & row.at.keys()])
        name = draw.choice(sorted(routes.keys() & row.at.keys()))
        who = asker(draw, self.keys)
        hidden = row.at[name]
        missing = hidden[:4] + NOBODYS
        answers = [
            self.ask(who, Request("GET", routes[name], at={name: one}, params=who.given))
            for one in (hidden, missing)
        ]
        same = [one for one in self.rows if one.at.get(name) == hidden]  # a key may name two
        if who.refused or not any(may_see(who.eyes(), one) for one in same):
            told = f"{routes[name]} as {who.given}: {[one.text for one in answers]}"
            assert answers[0].status_code == answers[1].status_code, told
            assert answers[0].text.replace(hidden, missing) == answers[1].text

    def _note(self, row: Row, answer: httpx.Response) -> None:
        said = answer.json()
        if row.kind in REMEMBERED or row.kind == "place":
            name = REMEMBERED.get(row.kind, "place_id")
            told = name if row.kind in ("place", "called") else "id"
            self._keep(replace(row, at={name: said[told]}), "")
            return
        event_id = said.get("event_id") or said.get("version") or said["events"][0]["event_id"]
        at = {"event_id": event_id, **row.at}
        at |= {"key": said["key"]} if row.kind == "reference" else {}
        if row.kind in PREFIXES:
            name, prefix = PREFIXES[row.kind]
            at[name] = said.get(name) or prefix + event_id[4:]
        channel = row.channel if row.kind == "answer" and row.channel else said.get("channel")
        self._keep(replace(row, channel=channel or row.channel, at=at), event_id)

    def _keep(self, kept: Row, event_id: str) -> None:
        self.rows.append(kept)
        for mark in (kept.word, kept.mark, event_id[4:]):
            self._by_mark.setdefault(mark, []).append(kept)

    def _check(self, asker: Asker, asked: Request, answer: httpx.Response) -> None:
        text = f"{answer.headers} {answer.text}"
        found = set(_MARKS.findall(text)) - set(_MARKS.findall(asked.text))
        rows = [self._by_mark[mark] for mark in found if mark in self._by_mark]
        eyes = (asker.eyes(),) if asked.eyes is None else asked.eyes
        eyes = () if asker.refused else eyes
        self.seen += len(rows)
        leaks = [same for same in rows if not any(may_see(e, one) for e in eyes for one in same)]
        assert not leaks, f"{asker} asked {asked} as {eyes} and was shown {leaks}: {text}"


def word() -> str:
    """One that nobody else has, whatever is drawn."""
    number, letters = next(_numbers), ""
    while len(letters) < 12:
        number, at = divmod(number, len(_LETTERS))
        letters += _LETTERS[at]
    return f"zq{letters}"


def asker(draw: random.Random, keys: list[Key]) -> Asker:
    """Mostly someone whom the key allows."""
    key = draw.choice(keys)
    asked = Asker(
        key,
        draw.choice((None, *CHANNELS)),
        draw.choice((None, *USERS)),
        draw.choice((None, *AGENTS)),
    )
    if asked.refused and draw.random() < 0.9:
        return Asker(key, key.channel, key.user, key.agent)
    return asked


def again(asker: Asker, asked: Request, key: Key) -> tuple[Asker, Request]:
    """The very same request with another key, and what that would write."""
    other = replace(asker, key=key)
    eyes, row = other.eyes(), asked.writes
    assert row is not None
    channel = other.channel or key.channel or row.default
    own = replace(row, tenant=eyes.tenant, user=eyes.user, channel=channel)
    seen = (other.eyes(key.channel or "private"),)
    return other, replace(asked, writes=own, eyes=seen)


def make_keys(create: Callable[..., str], tenants: list[str]) -> list[Key]:
    """Every kind of key for every tenant; `create(tenant, **pins)` makes one."""
    made = []
    for tenant in tenants:
        for pins in PINS:
            given = dict(zip(("user_id", "agent_id", "channel"), pins, strict=True))
            text = create(tenant, **{name: value for name, value in given.items() if value})
            made.append(Key(text, tenant, *pins))
    return made
