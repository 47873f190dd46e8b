"""Fill a home at the speed of COPY with what the daemon itself would have written.

The words are drawn as numbers and counted by sorting, 30 times faster than analysing the texts;
`scale.py` checks on one tenant that the bytes are those of `index.flush`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import asyncpg
import numpy as np
from numpy.typing import NDArray

from memoryd import embed
from memoryd.core import ids, tokens
from memoryd.core.model import CHANNELS, IMPORTANCE, KINDS, ORIGINS, SENSITIVITIES
from memoryd.search import analyze, index, vectors, words

Ints = NDArray[Any]

BIG = "default"  # the tenant with half of all chunks
SAMPLE = "sample"  # the tenant that is compared with the daemon's own work
OTHERS = 19
VOCABULARY = 50_000
FLATTEN = 56  # of Zipf-Mandelbrot: the most common word is then in a fifth of the chunks
CHARACTERS = 600  # of an event; 1,000 would make a second chunk
TURNS, AT_ONCE = 40, 8  # of a session, and sessions that go on side by side
SHARED_CODES = 20_000  # distinct token codes of a tenant; its own for each chunk would take 7 GB
PIECES = (100, 200)  # word pieces of a chunk
ROWS = 20_000  # in one COPY
NOW = datetime(2026, 1, 1, tzinfo=UTC)
YEARS = 2
PEOPLE = ("default", "ada", "bob", "eve", "mallory", "trent")
AGENTS = ("coder", "planner", "writer", "reviewer")
NAMED = (*PEOPLE, *AGENTS)  # and from there on sessions
TAGS = ("release", "bug", "idea", "meeting", "travel", "health", "money", "family")
TAGGED = 0.2
OPEN = 0.85  # of the sessions are in a channel that every reader reaches

EVENT = (
    *("tenant_id", "event_id", "position", "ts", "recorded_at", "session_id", "user_id"),
    *("agent_id", "channel", "actor_type", "actor_id", "kind", "sensitivity", "tags", "content"),
    "refs",
)
CHUNK = (
    *("tenant_id", "chunk_id", "event_id", "position", "ordinal", "ts", "session_id", "user_id"),
    *("agent_id", "channel", "sensitivity", "actor_type", "actor_id", "kind", "tags"),
    *("token_est", "whole", "importance", "text"),
)
SEGMENT = ("tenant_id", "first_doc", "docs", "last_position", "columns")
POSTINGS = ("tenant_id", "term", "first_doc", "block")
CODES = ("tenant_id", "model", "first_doc", "docs", "last_position", "last_ordinal", "codes")
TOKENS = ("tenant_id", "model", "key", "pooled", "tokens")


class Language:
    """Words, each of one term that no other word has, and Zipf's chances of them.

    The model's own vocabulary gives the common ones, so that a word is a word piece, as in English;
    coined ones follow.
    """

    def __init__(self) -> None:
        found: dict[str, str] = {}
        for word in _words():
            if len(found) == VOCABULARY:
                break
            terms = analyze.terms(word)
            if len(terms) == 1 and terms[0] in analyze.query_terms(f"{word} benchmark"):
                found.setdefault(terms[0], word)
        self.words = list(found.values())
        self.terms = index.Names(found)
        chances = 1 / (FLATTEN + np.arange(VOCABULARY))
        self._until = np.cumsum(chances / chances.sum())
        letters = np.array([len(word) + 1 for word in self.words])
        self.mean = CHARACTERS / float((letters * chances).sum() / chances.sum())
        # A blank belongs to the token of the word after it, so counts of words add up.
        self.tokens = np.array([tokens.count(f" {word}") for word in self.words])
        self.first_tokens = np.array([tokens.count(word) for word in self.words])

    def draw(self, rng: np.random.Generator, count: int) -> Ints:
        return np.minimum(np.searchsorted(self._until, rng.random(count)), VOCABULARY - 1)

    def queries(self, count: int, seed: int) -> list[str]:
        """Of two to eight words that a reader might ask for."""
        rng = np.random.default_rng(seed)
        drawn = [self.draw(rng, int(rng.integers(2, 9))) for _ in range(count)]
        return [" ".join(self.words[at] for at in query) for query in drawn]


def _words() -> Iterator[str]:
    pieces = (embed.MINILM / "vocab.txt").read_text(encoding="utf-8").split("\n")
    yield from (piece for piece in pieces if re.fullmatch("[a-z]{3,12}", piece))
    for number in range(16**3 * 5**3):
        word, rest = "", number
        for _ in range(3):
            rest, consonant = divmod(rest, 16)
            rest, vowel = divmod(rest, 5)
            word += "bcdfghjklmnprstv"[consonant] + "aeiou"[vowel]
        yield word


@dataclass(frozen=True)
class Part:
    """Chunks of one tenant that become one segment, as columns."""

    language: Language
    tenant_id: str
    first_doc: int
    ts: Ints
    named: Ints  # session, user, agent and who of these speaks
    channel: Ints
    tag: Ints  # -1 for none
    sizes: Ints  # in words
    words: Ints

    @cached_property
    def moments(self) -> list[datetime]:
        return [datetime.fromtimestamp(second, UTC) for second in self.ts.tolist()]

    @cached_property
    def texts(self) -> list[str]:
        words, drawn = self.language.words, self.words.tolist()
        ends = np.cumsum(self.sizes).tolist()
        bounds = zip([0, *ends[:-1]], ends, strict=True)
        return [" ".join([words[at] for at in drawn[start:end]]) for start, end in bounds]

    @cached_property
    def tokens(self) -> Ints:
        """A blank belongs to the token of the word after it, so the counts of words add up."""
        starts = np.cumsum(self.sizes) - self.sizes
        first, within = self.words[starts], self.language.tokens
        more = self.language.first_tokens[first] - within[first]
        found: Ints = np.add.reduceat(within[self.words], starts) + more
        return found

    @cached_property
    def prefixes(self) -> Ints:
        """The terms of date and speaker, a row a document."""
        known: dict[tuple[int, int], list[int]] = {}
        rows = []
        for moment, speaker in zip(self.moments, self.named[:, 3].tolist(), strict=True):
            key = moment.toordinal(), speaker
            if key not in known:
                said = {"ts": moment, "actor_id": named(speaker), "text": ""}
                terms = analyze.terms(words.lexical(said))
                known[key] = [self.language.terms.number(term) for term in terms]
            rows.append(known[key])
        return np.array(rows)

    def rows(self, start: int, end: int) -> tuple[list[Any], list[Any]]:
        """The events and the chunks of the documents from `start` to `end`."""
        rng = np.random.default_rng(self.first_doc + start)
        events, chunks = [], []
        for at in range(start, end):
            position, ts, text = self.first_doc + at + 1, self.moments[at], self.texts[at]
            event_id = ids.new("evt", ts, rng.bytes(ids.ENTROPY_BYTES))
            *where, actor = (named(number) for number in self.named[at].tolist())
            who = (ORIGINS[actor in AGENTS], actor, "message")
            channel = CHANNELS[self.channel[at]]
            tags = [TAGS[self.tag[at]]] if self.tag[at] >= 0 else []
            event = (event_id, position, ts, ts, *where, channel, *who, "none", tags)
            events.append((self.tenant_id, *event, f'{{"text": "{text}"}}', []))
            chunk = (ids.derive("chk", event_id, 0), event_id, position, 0, ts, *where, channel)
            said = (tags, *[int(self.tokens[at])] * 2, IMPORTANCE["message"], text)
            chunks.append((self.tenant_id, *chunk, "none", *who, *said))
        return events, chunks

    def columns(self, names: index.Names) -> index.Docs:
        columns = np.zeros(len(self.ts), index.DOC)
        columns["position"] = self.first_doc + np.arange(len(self.ts)) + 1
        columns["ts"] = self.ts * 1_000_000  # microseconds, as index.micros
        columns["length"] = self.sizes + self.prefixes.shape[1]
        listed = [names.number(named(number)) for number in self.named.ravel().tolist()]
        numbers = np.array(listed).reshape(self.named.shape)
        for at, name in enumerate(("session", "user", "agent", "actor")):
            columns[name] = numbers[:, at]
        columns["parts"] = 1
        columns["tokens"] = self.tokens
        columns["kind"] = KINDS.index("message")
        columns["origin"] = self.named[:, 3] >= len(PEOPLE)
        columns["channel"] = self.channel
        columns["sensitivity"] = SENSITIVITIES.index("none")
        return columns

    def postings(self) -> Iterator[tuple[str, str, int, bytes]]:
        """Every pair of term and document, sorted, equal ones counted."""
        docs, terms = np.arange(len(self.ts)), self.language.terms
        tags = np.array([terms.number(words.TAG + tag) for tag in TAGS])
        tagged = np.flatnonzero(self.tag >= 0)
        having = np.concatenate([self.words, self.prefixes.ravel(), tags[self.tag[tagged]]])
        where = (np.repeat(docs, self.sizes), np.repeat(docs, self.prefixes.shape[1]), tagged)
        pairs = having.astype(np.int64) * index.LARGEST + np.concatenate(where)
        pairs, counts = np.unique(pairs, return_counts=True)
        records = np.empty(len(pairs), index.POSTING)
        records["doc"] = self.first_doc + pairs % index.LARGEST
        records["tf"] = counts
        found = pairs // index.LARGEST
        starts = np.flatnonzero(np.diff(found, prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(found)], strict=True):
            block = records[start:end].tobytes()
            yield self.tenant_id, terms.listed[found[start]], self.first_doc, block


def named(number: int) -> str:
    return NAMED[number] if number < len(NAMED) else f"s{number - len(NAMED)}"


def parts(language: Language, tenant_id: str, docs: int, seed: int) -> Iterator[Part]:
    rng = np.random.default_rng(seed)
    seconds = YEARS * 365 * 86_400
    ts = int(NOW.timestamp()) - seconds + np.sort(rng.integers(0, seconds, docs))
    block = np.arange(docs) // (TURNS * AT_ONCE)
    session = block * AT_ONCE + rng.integers(0, AT_ONCE, docs)
    count = int(session.max()) + 1
    user = rng.integers(0, len(PEOPLE), count)[session]
    agent = rng.integers(len(PEOPLE), len(NAMED), count)[session]
    speaks = np.where(rng.random(docs) < 0.5, user, agent)
    names = np.stack([session + len(NAMED), user, agent, speaks], axis=1)
    channel = np.where(rng.random(count) < OPEN, rng.integers(1, len(CHANNELS), count), 0)[session]
    tag = np.where(rng.random(docs) < TAGGED, rng.integers(0, len(TAGS), docs), -1)
    sizes = np.clip(rng.normal(language.mean, language.mean / 10, docs), 40, 110).astype(int)
    for start in range(0, docs, index.LARGEST):
        at = slice(start, start + index.LARGEST)
        words = language.draw(rng, int(sizes[at].sum()))
        found = (ts[at], names[at], channel[at], tag[at], sizes[at], words)
        yield Part(language, tenant_id, start, *found)


async def fill(conn: asyncpg.Connection, language: Language, chunks: int) -> None:
    """Half of the chunks in one tenant, a thousand in the sample, the rest spread over others.

    `conn` is the login user's, whom row security and triggers do not hold up.
    """
    await conn.execute(
        "set search_path = memoryd; set session_replication_role = replica;"
        "set synchronous_commit = off"
    )
    sample = min(1_000, chunks // 10)
    rest = (chunks - chunks // 2 - sample) // OTHERS
    tenants = {BIG: chunks // 2, SAMPLE: sample}
    tenants |= {f"tenant{number}": rest for number in range(OTHERS)}
    began = NOW - timedelta(days=YEARS * 365)
    await _copy(conn, "tenants", ("tenant_id", "created_at"), [(name, began) for name in tenants])
    for seed, (tenant, docs) in enumerate(tenants.items()):
        names = index.Names()
        for part in parts(language, tenant, docs, seed):
            await _fill_part(conn, part, names)
        await _fill_codes(conn, tenant, docs, seed)
    await conn.execute("vacuum (analyze)")
    await conn.execute("checkpoint")


async def _copy(conn: asyncpg.Connection, table: str, columns: tuple[str, ...], rows: Any) -> None:
    await conn.copy_records_to_table(table, columns=columns, records=rows)


async def _fill_part(conn: asyncpg.Connection, part: Part, names: index.Names) -> None:
    tenant, docs = part.tenant_id, len(part.ts)
    for start in range(0, docs, ROWS):
        events, chunks = part.rows(start, min(start + ROWS, docs))
        await _copy(conn, "events", EVENT, events)
        await _copy(conn, "chunks", CHUNK, chunks)
    known = len(names.listed)
    columns = part.columns(names).tobytes()
    last = part.first_doc + docs
    await _copy(conn, "segments", SEGMENT, [(tenant, part.first_doc, docs, last, columns)])
    new = [(tenant, number, name) for number, name in enumerate(names.listed[known:], known)]
    await _copy(conn, "names", ("tenant_id", "name_id", "name"), new)
    await _copy(conn, "postings", POSTINGS, part.postings())


async def _fill_codes(conn: asyncpg.Connection, tenant: str, docs: int, seed: int) -> None:
    """Random ones: what they say is nothing, what they cost is what real ones cost."""
    rng, model = np.random.default_rng(seed), embed.Encoder()
    width = model.dimensions // 8
    distinct = min(SHARED_CODES if tenant == BIG else SHARED_CODES // OTHERS, docs)
    keys = rng.integers(0, 256, (distinct, index.KEY_BYTES), np.uint8)
    sizes = rng.integers(*PIECES, distinct) * width
    rows = (
        (tenant, model.name, key.tobytes(), rng.bytes(width), rng.bytes(size))
        for key, size in zip(keys, sizes, strict=True)
    )
    await _copy(conn, "token_codes", TOKENS, rows)
    for start in range(0, docs, index.LARGEST):
        count = min(index.LARGEST, docs - start)
        codes = np.zeros(count, vectors.code_type(model.dimensions))
        codes["key"] = keys[rng.integers(0, distinct, count)]
        codes["pooled"] = rng.integers(0, 256, (count, width), np.uint8)
        row = (tenant, model.name, start, count, start + count, 0, codes.tobytes())
        await _copy(conn, "code_segments", CODES, [row])
