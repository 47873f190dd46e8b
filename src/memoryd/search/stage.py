"""One search under way: what the words say of each document, and what the filters leave.

Every statistic is taken over what the reader sees; filters only remove, and change no score.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memoryd.core.model import KINDS, ORIGINS
from memoryd.search import analyze, dates, index, score
from memoryd.search.corpus import Corpus, Floats, Ints, News, View
from memoryd.search.postings import Posting

MANY = 8  # chunks of one message; a log of a thousand must not sink below small talk
_ME = re.compile(r"\b(i|me|my|mine|we|our|us)\b", re.IGNORECASE)
_NONE = np.zeros(0, int)
_OVERVIEW = re.compile(r"\b(summar\w+|overview|recap)\b", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Which chunks; what is omitted does not restrict."""

    session_id: str | None = None
    agent_id: str | None = None
    user_id: str | None = None
    kind: str | None = None
    tag: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    positions: tuple[int, ...] | None = None  # of their events: what a view chose


@dataclass(frozen=True, kw_only=True)
class Search:
    text: str
    now: datetime
    filters: Filters = field(default_factory=Filters)
    as_of: int | None = None  # a log position
    limit: int = 10
    weights: tuple[float, float, float] = score.PRESETS["recall"]


class Stage:
    """One search under way over the first `size` documents, of which `coded` have vectors, seen
    through `view`; all by the `news` of the snapshot that it reads, however far others are.
    """

    def __init__(self, corpus: Corpus, view: View, asked: Search, news: News) -> None:
        self.corpus, self.view, self.asked, self.postings = corpus, view, asked, corpus.postings
        self.position = news["head"] if asked.as_of is None else asked.as_of
        self.size = corpus.end(min(self.position, news["head"]))
        self.coded = min(news["coded"], self.size)
        self.totals = view.totals(self.size)
        self.tagged: NDArray[np.bool_] | None = None
        self.having: Ints = np.zeros(0, int)  # documents with any of the words
        self.pool: Ints = self.having  # the best of them
        self.idf: dict[str, float] = {}
        self.scores = np.zeros(0)  # BM25 of each document, and 0 at the end: of "no neighbour"
        self.sessions = np.zeros(0)  # and of each session
        self._raw: dict[str, Floats] = {}  # parts of those in `having`
        self._high: dict[str, float] = {}  # over all that is visible, filtered or not
        self._spans = dates.preferences(asked.text, asked.now)

    def column(self, name: str, docs: Ints) -> NDArray[Any]:
        return self.corpus.column(name).take(docs)

    def seconds(self, docs: Ints) -> NDArray[Any]:
        """When they happened, in whole seconds since 1970."""
        return self.column("ts", docs) // 1_000_000

    def read_words(self, postings: Mapping[str, Posting]) -> None:
        """Score every document and every session by words."""
        found = [self._visible(*posting) for posting in postings.values()]
        counts = [len(docs) for docs, _ in found]
        docs, often = map(np.concatenate, zip(*found, (_NONE, _NONE), strict=True))
        rarity = [score.idf(count, self.totals.docs) for count in counts]
        self.idf = dict(zip(postings, rarity, strict=True))
        average = max(self.totals.length / max(self.totals.docs, 1), 1e-9)
        share = score.saturate(often, self.column("length", docs), average)
        share *= np.repeat(rarity, counts)
        self.scores = np.bincount(docs, share, self.size + 1).astype(np.float64, copy=False)
        self._read_sessions(np.split(self.column("session", docs), np.cumsum(counts)), often)
        self.having = np.flatnonzero(self.scores != 0)  # 2 ms faster at 500,000 than of floats
        self._anchor(list(postings), np.repeat(np.arange(len(counts)), counts), docs, share)
        self._raw = self._parts(self.having)
        self._high = {name: float(part.max(initial=0)) for name, part in self._raw.items()}

    def _anchor(self, terms: list[str], of_term: Ints, docs: Ints, share: Floats) -> None:
        """The document that most speaks of "the migration" says when "before the migration" was."""
        now = self.asked.now
        for phrase in dates.anchors(self.asked.text, now):
            named = [terms.index(term) for term in analyze.query_terms(phrase) if term in terms]
            having = np.isin(of_term, named)
            if having.any():
                best = int(np.bincount(docs[having], share[having]).argmax())
                moment = datetime.fromtimestamp(int(self.seconds(np.array([best]))[0]), now.tzinfo)
                self._spans.append(dates.anchored(phrase, moment, now))

    def _visible(self, docs: Ints, often: NDArray[Any]) -> tuple[Ints, Floats]:
        end = int(np.searchsorted(docs, self.size))
        docs = docs[:end].astype(np.intp)  # once: each use as an index would do it again
        seen = self.view.visible.values.take(docs)
        return docs.compress(seen), often[:end].compress(seen).astype(np.float64)

    def _read_sessions(self, sessions: list[Ints], often: Floats) -> None:
        totals, at = self.totals, 0
        spoken = int(np.count_nonzero(totals.session_docs))
        average = max(totals.length / max(spoken, 1), 1e-9)
        self.sessions = np.zeros(len(totals.session_length))
        for of_term in filter(len, sessions):
            by = np.bincount(of_term, often[at : at + len(of_term)], len(self.sessions))
            at += len(of_term)
            places = np.flatnonzero(by != 0)
            share = score.saturate(by[places], totals.session_length[places], average)
            self.sessions[places] += score.idf(len(places), spoken) * share

    def _parts(self, docs: Ints) -> dict[str, Floats]:
        """By words: a document's own, with those of its neighbours, and its session's."""
        own = self.scores.take(docs)
        before, after = self.view.neighbours(docs, self.size)
        window = own + self.scores.take(before) + self.scores.take(after)
        session = self.sessions.take(self.column("session", docs))
        return {"bm25": own, "window": window, "session": session}

    def around(self, docs: Ints) -> Ints:
        """Of each of `docs` the two before and the two after it in its session, as places in
        `docs`; -1 for what is not among them.
        """
        before, after = self.view.neighbours(docs, self.size)
        earlier = np.where(before >= 0, self.view.neighbours(before, self.size)[0], -1)
        later = np.where(after >= 0, self.view.neighbours(after, self.size)[1], -1)
        sides = np.stack([before, after, earlier, later])
        order = np.argsort(docs)
        at = np.minimum(np.searchsorted(docs, sides, sorter=order), len(docs) - 1)
        return np.where(docs[order[at]] == sides, order[at], -1)

    def word_parts(self, docs: Ints) -> dict[str, Floats]:
        """The same in [0, 1]."""
        raw = self._raw if docs is self.having else self._parts(docs)
        return {name: score.mm(part, 0.0, self._high[name]) for name, part in raw.items()}

    def by_words(self) -> tuple[Ints, dict[str, Floats]]:
        return self.pool, self.word_parts(self.pool)

    def passing(self, docs: Ints) -> Ints:
        """Those of `docs` that the filters leave."""
        given, column, number = self.asked.filters, self.column, self.corpus.names.find
        named = {"session": given.session_id, "agent": given.agent_id, "user": given.user_id}
        keep = [column(what, docs) == number(who) for what, who in named.items() if who is not None]
        if given.kind is not None:
            kind = KINDS.index(given.kind) if given.kind in KINDS else len(KINDS)
            keep.append(column("kind", docs) == kind)
        if given.since is not None:
            keep.append(column("ts", docs) >= index.micros(given.since))
        if given.until is not None:
            keep.append(column("ts", docs) < index.micros(given.until))
        if given.positions is not None:
            keep.append(np.isin(column("position", docs), given.positions))
        if self.tagged is not None:
            keep.append(self.tagged[docs])
        return docs[np.logical_and.reduce(keep)] if keep else docs

    def bonus(self, docs: Ints) -> dict[str, Floats]:
        """What speaks for a document beside words and vectors: who said it, when, how long."""
        text = self.asked.text
        found = {"date": score.DATE * dates.closeness_many(self._spans, self.seconds(docs))}
        if not _OVERVIEW.search(text):
            found["speaker"] = score.SPEAKER * self._speaks(docs)
            found["parts"] = -score.PARTS * np.log(np.minimum(self.column("parts", docs), MANY))
        return found

    def _speaks(self, docs: Ints) -> Floats:
        """1 where the query names who spoke, or says "I" and a person did."""
        actors = self.column("actor", docs)
        asked = set(re.findall(r"\w+", self.asked.text.casefold()))
        named = [
            number
            for number in np.flatnonzero(np.bincount(actors))
            if set(re.findall(r"\w+", self.corpus.names.listed[number].casefold())) & asked
        ]
        speaks = np.isin(actors, named)
        if _ME.search(self.asked.text):
            speaks |= self.column("origin", docs) == ORIGINS.index("human")
        return speaks.astype(np.float64)
