"""Tables and figures of rankings."""

import pytest

from recalld.bench import ranked_report
from recalld.bench.ranked import Answer, Corpus, Question


def answer(category: str, gold: set[str], *ranked: str, score: float = 0.5) -> Answer:
    question = Question("q", frozenset(gold), category)
    return Answer(Corpus("c", [], [question]), question, list(ranked), score)


ANSWERS = [
    answer("one", {"a"}, "a", score=0.9),
    answer("one", {"a", "b"}, "x", "b", score=0.4),
    answer("two", {"z"}, "x", score=0.6),
    answer("none", set(), "x", score=0.5),
]


def test_figures_are_means_over_questions_with_gold():
    """Recalls 1, 1/2 and 0 make 1/2; a question without gold is not counted."""
    figures = ranked_report.figures(ANSWERS)
    assert figures["n"] == 3
    assert figures["r_at_5"] == pytest.approx(0.5)
    assert figures["hit_at_5"] == pytest.approx(2 / 3)


def test_table_has_a_row_per_category_and_one_over_all():
    """Categories by name, then all; the category without gold has no row."""
    table = ranked_report.category_table("t", ANSWERS)
    assert [(row[0], row[1]) for row in table.rows] == [("one", 2), ("two", 1), ("all", 3)]
    assert table.rows[0][2] == pytest.approx(0.75)


def test_abstention_compares_best_scores():
    """Of three answerable questions two score above the unanswerable one."""
    assert ranked_report.abstention_auroc(ANSWERS) == pytest.approx(2 / 3)


def test_difference_to_bm25_is_paired():
    """Against a ranker that finds nothing, the gain is the whole recall."""
    nothing = [answer(a.question.category, set(a.question.gold), "x") for a in ANSWERS]
    sentence = ranked_report.against_bm25(ANSWERS, {"BM25": nothing})
    assert sentence.startswith("R@5 minus BM25's: +50.0 points")
