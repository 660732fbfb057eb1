"""What the fit reports."""

import numpy as np
import pytest

from recalld.bench import fit_weights
from recalld.bench.baselines import Document
from recalld.bench.fit import Mix
from recalld.bench.record_parts import CHANNEL_COUNT
from tests.bench.test_fit import PRESENT, drawn, recorded
from tests.bench.test_ranked import START


def asked(needed, *, all_counts=False, needed_count=None, has_first=True):
    question = recorded(np.zeros((6, CHANNEL_COUNT)), needed)
    vars(question).update(
        all_counts=all_counts,
        needed_count=len(needed) if needed_count is None else needed_count,
        has_first=has_first,
    )
    return question


def test_a_hit_is_one_or_all_as_the_set_counts():
    """Of two needed ones, one among the first five is a hit only where one is enough."""
    assert fit_weights.hit_at_5(asked([0, 5]), [0, 1, 2, 3, 4]) == 1.0
    assert fit_weights.hit_at_5(asked([0, 5], all_counts=True), [0, 1, 2, 3, 4]) == 0.0
    assert fit_weights.hit_at_5(asked([0, 5], all_counts=True), [5, 1, 0, 3, 4]) == 1.0


def test_a_needed_one_that_is_no_candidate_is_a_miss():
    """What the server holds back is not found; a request that needs none is left out."""
    assert fit_weights.hit_at_5(asked([0], all_counts=True, needed_count=2), [0, 1, 2]) == 0.0
    assert fit_weights.hit_at_5(asked([]), [0]) is None


def test_best_has_to_be_first():
    """The second place does not count; where none should be first the question is left out."""
    assert fit_weights.best_at_1(asked([2]), [2, 0]) == 1.0
    assert fit_weights.best_at_1(asked([2]), [0, 2]) == 0.0
    assert fit_weights.best_at_1(asked([2], has_first=False), [2]) is None
    assert fit_weights.best_at_1(asked([2]), []) == 0.0


def test_a_question_without_its_evidence_needs_no_less():
    """Only where a set says so does a question without needed memories need none."""

    def of(set_name, category="c", needed=()):
        question = asked(list(needed))
        vars(question).update(set_name=set_name, category=category)
        return fit_weights.usable(question)

    assert of("pairs") and of("next-day") and of("beam", "abstention")
    assert not of("locomo") and not of("beam", "summarization")
    assert of("locomo", needed=[0]) and not of("locomo", "5 adversarial", [0])


def in_stores(questions, names, set_name="pairs"):
    for question, name in zip(questions, names, strict=True):
        vars(question).update(store=name, set_name=set_name)
    return questions


def test_no_store_is_on_both_sides():
    """All questions of a store are in one fold, and the stores of a set take turns."""
    questions = in_stores(drawn(1, 12, 2), "aabbccddeeff")
    assert fit_weights.folds(questions) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 0, 0]


def test_a_store_does_not_choose_its_own_weights():
    """Changing the labels of a store leaves the weights that score it as they are."""
    questions = in_stores(drawn(2, 20, 2), "aabbccddeeaabbccddee")
    before, _ = fit_weights.cross_validated(questions, 0.01)
    for question in questions:
        if question.store == "a":
            question.needed[:] = (question.needed + 1) % 20
    after, _ = fit_weights.cross_validated(questions, 0.01)
    for question, old, new in zip(questions, before, after, strict=True):
        same = np.allclose(old.weights, new.weights, atol=1e-6)
        assert same == (question.store == "a")


def test_fresh_scenarios_are_scored_and_never_fitted():
    """With no set to fit the present weights come back."""
    questions = in_stores(drawn(3, 10, 2), "abcdeabcde", "fresh")
    mixes, _ = fit_weights.cross_validated(questions, 0.01)
    assert all(m.weights == pytest.approx(PRESENT.weights) for m in mixes)


def test_a_blind_ranker_goes_by_the_other_questions():
    """What the rest of the store's questions score highest comes first, the own scores are left."""
    documents = [Document(f"text {i}", START) for i in range(3)]
    questions = [recorded(np.zeros((3, CHANNEL_COUNT)), [0]) for _ in range(3)]
    for question, served in zip(questions, ([9, 0, 0], [0, 1, 0], [0, 0, 2]), strict=True):
        vars(question).update(served=np.array(served, dtype=float), documents=documents)
    assert [o[0] for o in fit_weights.trivial_orders(questions)["request-blind"]] == [2, 0, 0]


def test_a_cut_is_told_by_what_it_keeps():
    """Needed ones above it, hits left for each question, and silence where none is needed."""
    mix = Mix(np.zeros(CHANNEL_COUNT), 0.0)  # every base is a half
    kept = recorded(np.zeros((2, CHANNEL_COUNT)), [0], factors=[1.0, 0.1])
    none = recorded(np.zeros((2, CHANNEL_COUNT)), [], factors=[0.3, 0.1])
    table = fit_weights.cut_table("any", [kept, none], [mix, mix])
    at = {row[0]: row[1:] for row in table.rows}
    assert at["0.01"] == [1.0, "2.0", 0.0]
    assert at["0.20"] == [1.0, "0.5", 1.0]
