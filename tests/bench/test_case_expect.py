"""Each expectation of a reported case: a result in which it holds, and one in which it does not."""

import pytest

from recalld.bench.case_expect import JUDGES, Result, Seen, Situation, failures, rough_token_count


def seen(label: str, *marks: str, score: float = 0.5, live: bool = True, **fields) -> Seen:
    names = frozenset(label.split("+"))
    return Seen(f"id-{min(names)}", names, frozenset(marks), fields, score, live)


def result(*memories: str | Seen, **more) -> Result:
    listed = [m if isinstance(m, Seen) else seen(m) for m in memories]
    return Result(memories=listed, **more)


ABC = result("a", "b", "c")
FAILED = Result(error="NOT_FOUND")
LOW = result(seen("a", score=0.1))
TEXT = Result(text="tea at 四点", token_count=5)
PAGED = Result(pages=[["1", "2"], ["3"]])

EXPECTATIONS = [
    ("ok", True, ABC, FAILED),
    ("error", ["NOT_FOUND", "ABORTED"], FAILED, ABC),
    ("top1", "a", ABC, result("b", "a")),
    ("top3_contains", ["a", "c"], ABC, result("b", "d", "e", "a")),
    ("contains", ["c", "a"], ABC, result("a")),
    ("absent", ["d"], ABC, result("a", "d")),
    ("absent_prefix", ["n"], result("name", "a1"), result("n12")),
    ("order", [["a", "b"], ["a", "z"]], ABC, result("b", "a")),
    ("count", {"eq": 3}, ABC, result("a")),
    ("count", {"min": 2, "max": 3}, ABC, result("a", "b", "c", "d")),
    ("at_most_one_of", [["a", "z"], ["b"]], ABC, result("a", "z")),
    ("flags", {"a": ["superseded", "conflict"]}, result(seen("a", "conflict")), ABC),
    ("not_flags", {"a": ["superseded"]}, ABC, result(seen("a", "superseded"))),
    ("fields", {"a": {"t": -5}}, result(seen("a", t=-5)), result(seen("a", t=0))),
    ("same_as", 0, ABC, result("b", "a", "c")),
    ("abstain", {"control": 0}, LOW, result(seen("a", score=0.9))),
    ("abstain", {"control": 0}, result(), ABC),
    ("abstain", {"control": 0}, Result(memories=[seen("a")], abstained=True), ABC),
    ("text_has", ["tea", "四点"], TEXT, Result(text="coffee")),
    ("text_lacks", ["coffee"], TEXT, Result(text="no coffee")),
    ("tokens_max", 5, TEXT, Result(text="a", token_count=6)),
    ("tokens_max", 2, Result(text="茶水", token_count=1), Result(text="茶水杯", token_count=1)),
    ("pages", {"unique": 3, "repeated": 0}, PAGED, Result(pages=[["1", "2"], ["2"]])),
    ("any_of", [{"top1": "z"}, {"count": {"eq": 3}}], ABC, result("a")),
    ("any_of", [{"top1": "a"}, {"error": ["NOT_FOUND"]}], FAILED, result("b")),
]


def situation(answer: Result, **stored: Seen | None) -> Situation:
    return Situation(answer, [ABC], stored.get, [])


@pytest.mark.parametrize(("key", "value", "good", "bad"), EXPECTATIONS)
def test_expectation_holds_and_fails(key, value, good, bad):
    """An expectation holds on a result made for it and gives a reason on one made against it."""
    assert failures({key: value}, situation(good)) == []
    assert len(failures({key: value}, situation(bad))) == 1


def test_every_expectation_is_tried():
    """No judge goes without a passing and a failing example."""
    elsewhere = {"distinct", "same_record", "should"}
    assert {key for key, *_ in EXPECTATIONS} | elsewhere == JUDGES.keys()


def test_distinct_asks_the_store():
    """Two labels are apart if the store holds two memories; one, or a lost one, is not enough."""
    pair = {"distinct": [["a", "b"]]}
    apart = situation(result(), a=seen("a"), b=seen("b", "superseded", live=False))
    folded = situation(result(), a=seen("a+b"), b=seen("a+b"))
    lost = situation(result(), a=seen("a"), b=None)
    assert failures(pair, apart) == []
    assert len(failures(pair, folded)) == 1
    assert len(failures(pair, lost)) == 1


def test_same_record_is_one_live_memory():
    """Two labels are one record if they are one memory that is current."""
    pair = {"same_record": [["a", "b"]]}
    one = seen("a+b")
    dead = seen("a+b", live=False)
    assert failures(pair, situation(result(), a=one, b=one)) == []
    assert len(failures(pair, situation(result(), a=dead, b=dead))) == 1
    assert len(failures(pair, situation(result(), a=seen("a"), b=seen("b")))) == 1


def test_should_is_reported_and_fails_nothing():
    """A softer goal that does not hold is noted beside."""
    noted = situation(ABC)
    assert failures({"should": {"top1": "b"}}, noted) == []
    assert len(noted.should) == 1
    held = situation(ABC)
    assert failures({"should": {"top1": "a"}}, held) == []
    assert held.should == []


def test_marks_are_read_from_the_store_for_what_is_not_in_the_result():
    """A memory that is not returned is looked up with its marks."""
    stored = situation(result("b"), a=seen("a", "superseded"))
    assert failures({"flags": {"a": ["superseded"]}}, stored) == []
    assert len(failures({"not_flags": {"a": ["superseded"]}}, stored)) == 1


def test_failed_call_proves_no_absence():
    """A call that failed satisfies nothing that does not name the error."""
    assert len(failures({"absent": ["a"]}, situation(FAILED))) == 1
    assert len(failures({"count": {"eq": 0}}, situation(FAILED))) == 1


def test_folded_labels_count_once():
    """A memory of two labels is one result."""
    folded = situation(result("a+b"))
    assert failures({"at_most_one_of": [["a", "b"]], "count": {"eq": 1}}, folded) == []


def test_unknown_expectation_is_refused():
    """An expectation without a judge is an error, not a pass."""
    with pytest.raises(ValueError, match="unknown expectation: shines"):
        failures({"shines": True}, situation(ABC))


def test_rough_count_is_one_a_character_and_one_for_four_others():
    """Two Han characters and five others are 2 + 2 tokens."""
    assert rough_token_count("茶水abcde") == 4
    assert rough_token_count("") == 0
