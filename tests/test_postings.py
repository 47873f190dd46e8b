"""The postings that are kept between searches."""

import pytest

from memoryd.core import db
from memoryd.search import postings
from memoryd.search.corpus import Corpus
from test_index import QUERIES, READERS, find, flush, history, pooled, store


async def test_a_cache_too_small_for_the_question_changes_no_score(
    database: db.Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with pooled(database) as pool:
        await store(pool, "t", history(100))
        await flush(pool, "t")
        wide, narrow = Corpus("t"), Corpus("t")
        one = [await find(pool, wide, READERS[0], text) for text in QUERIES]
        monkeypatch.setattr(postings, "KEPT_BYTES", 1)
        other = [await find(pool, narrow, READERS[0], text) for text in QUERIES]

    assert len(narrow.postings._kept) == 1
    assert one == other
