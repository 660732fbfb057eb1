"""Words of rows and their scores, against textbook BM25."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recalld.index.analyzer import Tokens
from recalld.index.postings import SINGLE_HAN_UNIT, Postings
from tests.scoring import naive

WORD = st.sampled_from(["a", "b", "c", "dd20-7", "猫", "黑猫", "狗"])
DOCUMENT = st.lists(WORD, max_size=8)


def tokens(words: list[str]) -> Tokens:
    """Wrap words as the analyzer would."""
    return Tokens(tuple(words), frozenset())


def assert_scores(postings: Postings, documents: list[list[str]], live: list[bool], query) -> None:
    """Compare all scores of live rows with the oracle."""
    oracle = naive.BM25(documents, live, SINGLE_HAN_UNIT)
    bm25, evidence = postings.score(query)
    assert len(bm25) == len(evidence) == len(documents)
    assert np.isclose(postings.ceiling(query), oracle.ceiling(query))
    for row in range(len(documents)):
        if live[row]:
            expected = oracle.score(query, row)
            assert np.allclose([bm25[row], evidence[row]], expected, rtol=1e-4, atol=1e-6)


@given(st.lists(st.lists(DOCUMENT, max_size=4), max_size=5), DOCUMENT, st.data())
def test_scores_equal_textbook_bm25(batches, query, data):
    """After any appends and removals, every live row scores as if the index were built anew."""
    postings = Postings()
    documents: list[list[str]] = []
    live: list[bool] = []
    for batch in batches:
        postings = postings.appended([tokens(d) for d in batch])
        documents += batch
        live += [True] * len(batch)
        present = [row for row, is_live in enumerate(live) if is_live]
        gone = data.draw(st.lists(st.sampled_from(present), unique=True)) if present else []
        postings = postings.removed(gone)
        for row in gone:
            live[row] = False
    assert postings.live_count == sum(live)
    assert_scores(postings, documents, live, query)


@given(st.lists(DOCUMENT, max_size=10), st.data(), DOCUMENT)
def test_compaction_keeps_scores(documents, data, query):
    """Compacted postings score the kept rows like the oracle, and grow further."""
    kept = [row for row in range(len(documents)) if data.draw(st.booleans())]
    postings = Postings().appended([tokens(d) for d in documents])
    postings = postings.removed([row for row in range(len(documents)) if row not in kept])
    compacted = postings.compacted(np.array(kept, dtype=np.int64))
    compacted = compacted.appended([tokens(["a", "猫"])])
    remaining = [documents[row] for row in kept] + [["a", "猫"]]
    assert_scores(compacted, remaining, [True] * len(remaining), query)
    compacted = compacted.removed([0])
    assert_scores(compacted, remaining, [False] + [True] * len(kept), query)


@given(st.lists(DOCUMENT, min_size=1, max_size=6), st.lists(DOCUMENT, max_size=6), DOCUMENT)
def test_an_older_view_does_not_see_later_writes(first, later, query):
    """Rows appended or removed after a view was taken change none of its scores."""
    view = Postings().appended([tokens(d) for d in first])
    before = [array.tolist() for array in view.score(query)]
    newer = view.appended([tokens(d) for d in later])
    newer.removed([0])
    assert [array.tolist() for array in view.score(query)] == before
    assert_scores(view, first, [True] * len(first), query)


def test_holders_name_the_rows_and_the_rarity():
    """A word of one row is rarest; the more rows hold it, the less rare it is."""
    postings = Postings().appended([tokens(["x", "y"]), tokens(["x"]), tokens(["x", "z"])])
    rows, rarity = postings.holders("y")
    assert rows.tolist() == [0]
    assert rarity == 1
    rows, common = postings.holders("x")
    assert rows.tolist() == [0, 1, 2]
    assert 0 < common < rarity
    assert postings.holders("unknown")[0].tolist() == []


def test_term_frequencies_beyond_the_packed_limit_saturate():
    """A word repeated a thousand times counts like 255 times, and spoils no other entry."""
    documents = [["a"] * 1000, ["a", "b"]]
    postings = Postings().appended([tokens(d) for d in documents])
    assert_scores(postings, documents, [True, True], ["a", "b"])


def test_an_empty_query_and_an_empty_index_score_nothing():
    """No words, no scores; no rows, no scores."""
    assert Postings().score(["a"])[0].tolist() == []
    assert Postings().appended([tokens(["a"])]).score([])[0].tolist() == [0]
