"""Trivial rankers on corpora small enough to rank by hand."""

import math
from datetime import UTC, datetime, timedelta

import pytest

from recalld.bench import baselines
from recalld.bench.baselines import Bm25, Document

START = datetime(2026, 1, 1, tzinfo=UTC)


def document(text: str, day: int = 0, importance: int = 0) -> Document:
    return Document(text, START + timedelta(days=day), importance)


def test_english_tokens_lose_stop_words_and_endings():
    """Stop words go, plural and -ing endings are cut."""
    assert baselines.tokens_en("The boxes were standing in Anna's cities") == [
        "boxe",
        "stand",
        "anna",
        "city",
    ]


def test_chinese_tokens_are_bigrams_and_whole_latin_runs():
    """Han runs become bigrams, Latin and digit runs stay whole."""
    assert baselines.tokens_zh("买v2花生酱 茶") == ["买", "v2", "花生", "生酱", "茶"]


def test_corpus_language_is_told_by_its_characters():
    """A corpus with one Chinese text in two counts as Chinese."""
    assert baselines.tokenizer_for(["茶", "tea"]) is baselines.tokens_zh
    assert baselines.tokenizer_for(["tea"]) is baselines.tokens_en


def test_bm25_prefers_the_rare_word():
    """A word of one document outweighs a word of all, and unmatched documents are left out."""
    ranker = Bm25(["red tea", "red kettle", "blue cup"], baselines.tokens_en)
    assert ranker.rank("red kettle", 5) == [1, 0]


def test_bm25_weight_of_one_word_by_hand():
    """One word in one of two equally long documents weighs ln 2 times its saturated count."""
    ranker = Bm25(["tea cup", "red jug"], baselines.tokens_en)
    rows, weights = ranker._weights["tea"]
    assert rows.tolist() == [0]
    assert weights[0] == pytest.approx(math.log(2) * 2.2 / 2.2)


def test_bm25_of_no_document_finds_nothing():
    """An empty corpus answers every query with nothing."""
    assert Bm25([], baselines.tokens_en).rank("tea", 5) == []


def test_fixed_orders_ignore_the_query():
    """Newest, longest and most important sort by their one criterion, ties in order of storing."""
    documents = [
        document("short", day=1, importance=2),
        document("the longest", day=0, importance=0),
        document("medium", day=2, importance=2),
    ]
    ranked = {n: rank("anything", 3) for n, rank in baselines.rankers(documents).items()}
    assert ranked["newest first"] == [2, 0, 1]
    assert ranked["longest first"] == [1, 2, 0]
    assert ranked["most important first"] == [0, 2, 1]


def test_importance_is_no_ranker_where_all_are_equal():
    """Without different importances there is nothing to rank by."""
    assert "most important first" not in baselines.rankers([document("a"), document("b")])
