"""What texts claim of each other, by their words."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.server import cues
from recalld.server.claim_pairs import features, is_denied, is_same, may_differ
from recalld.server.claims import Claim

ROOT = Path(__file__).resolve().parents[2]
LINES = (ROOT / "tests" / "data" / "claim_pairs.jsonl").read_text(encoding="utf-8").splitlines()
TEXTS = sorted({json.loads(line)[side] for line in LINES for side in ("older", "newer")})
NUMBERS = st.integers(0, 99_999).map(str)
IDENTIFIERS = st.from_regex(r"[A-Z]{1,3}-?[0-9]{2,6}", fullmatch=True)
FRAMES = (
    "Room {} has a projector",
    "The parcel {} goes to the office",
    "会议室{}有投影仪",
    "订单{}已发货",
)
DENIALS = (
    ("Parking here is allowed", "Parking here is not allowed"),
    ("I eat fish", "I never eat fish"),
    ("The gate is locked at night", "The gate isn't locked at night"),
    ("这里可以停车", "这里不可以停车"),
    ("我吃鱼", "我从不吃鱼"),
    ("晚上锁门", "晚上没锁门"),
)
SUBJECTS = st.sampled_from(["", "On weekdays, ", "As of May ", "平时，", "周末 "])


@given(st.sampled_from(FRAMES), st.one_of(NUMBERS, IDENTIFIERS), st.one_of(NUMBERS, IDENTIFIERS))
def test_other_numbers_and_identifiers_are_other_claims(frame: str, one: str, two: str) -> None:
    """Texts are the same only if their numbers and identifiers are."""
    assert is_same(Claim(frame.format(one)), Claim(frame.format(two))) == (one == two)


@given(st.sampled_from(DENIALS), SUBJECTS, NUMBERS)
def test_a_denial_is_never_the_same(pair: tuple[str, str], lead: str, number: str) -> None:
    """A text and its denial are two claims, whatever stands before and behind them."""
    said, denied = (Claim(f"{lead}{text} ({number})") for text in pair)
    assert is_same(said, said)
    assert not is_same(said, denied)
    assert not is_same(denied, said)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("I do not eat meat", "I really do not eat meat"),
        ("The gate code is 7734", "7734 is the gate code"),
        ("I get up at six", "I get up at 6"),
        ("订单A1001已发货", "订单A1001已经发货了"),
    ],
)
def test_wordings_of_one_claim(one: str, two: str) -> None:
    """Light words, the order of plain words and spelled-out English numbers change nothing."""
    assert is_same(Claim(one), Claim(two))


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Anna owes Ben money", "Ben owes Anna money"),
        ("Call at 3 before 5", "Call at 5 before 3"),
        ("小李借钱给小王", "小王借钱给小李"),
        ("My cat is ill", "His cat is ill"),
    ],
)
def test_who_and_in_which_order_matters(one: str, two: str) -> None:
    """The same words with names or numbers exchanged, or of another person, are another claim."""
    assert not is_same(Claim(one), Claim(two))


@pytest.mark.parametrize(
    "text",
    [
        "I no longer use the blue mug",
        "We switched from the red line to the bus",
        "Actually it was on the left",
        "我不再用那个蓝杯子",
        "改用公交卡了",
        "那双鞋退货了",
        "我已经不练琴了",
    ],
)
def test_cues_of_change(text: str) -> None:
    """Words of an end, a change or a correction are found in both languages."""
    assert features(Claim(text), Claim(text), 1.0).tells_of_change


@pytest.mark.parametrize("text", ["The blue mug is on the shelf", "我用那个蓝杯子", "不错的杯子"])
def test_plain_statements_tell_of_no_change(text: str) -> None:
    """A plain statement tells of none."""
    assert not features(Claim(text), Claim(text), 1.0).tells_of_change


def test_denial_beside_the_point_is_none() -> None:
    """What is denied in a clause of its own does not oppose the clause that both share."""
    pair = features(
        Claim("The flat is on the sixth floor"),
        Claim("The flat is on the sixth floor, there is no lift"),
        1.0,
    )
    assert not pair.flips
    assert features(Claim("Dogs may come in"), Claim("Dogs may not come in"), 1.0).flips


@given(st.sampled_from(TEXTS), st.sampled_from(TEXTS))
def test_the_cheap_test_never_passes_over_a_pair(older: str, newer: str) -> None:
    """Wherever `features` tells of a change or of opposites, `may_differ` holds."""
    pair = features(Claim(older), Claim(newer), 1.0)
    assert may_differ(Claim(older).signs, Claim(newer).signs) or not (
        pair.tells_of_change or pair.opposes
    )


VALUE_WORDS = sorted({w for row in cues.VALUES for g in row for w in re.findall(r"[\w ']+", g)})


@given(st.lists(st.sampled_from([*VALUE_WORDS, "-", "tea", "size", "茶", *TEXTS[:9]]), max_size=4))
def test_a_value_is_found_wherever_one_of_its_class_is(parts: list[str]) -> None:
    """A text has values exactly where the pattern of some group finds one."""
    claim = Claim(" ".join(parts))
    groups = [group for row in cues.VALUES for group in row]
    assert claim.has_values == any(re.search(group, claim.folded) for group in groups)
    assert claim.has_values or not any(claim.values)


CUES = [getattr(cues, name) for name in dir(cues) if isinstance(getattr(cues, name), re.Pattern)]
CUE_TEXTS = st.lists(
    st.sampled_from([*TEXTS, *VALUE_WORDS, "Can't", "NEW Phone", "不", "NOT"]), max_size=3
)


@given(CUE_TEXTS.map(" ".join))
def test_upper_case_hides_no_cue(text: str) -> None:
    """In a folded text each cue stands where it stands in upper or lower case."""
    for cue in CUES:
        either = re.compile(cue.pattern, cue.flags | re.IGNORECASE)
        folded = Claim(text).folded
        assert [m.span() for m in cue.finditer(folded)] == [
            m.span() for m in either.finditer(folded)
        ]


@pytest.mark.parametrize("text", ["Guests may use room 301", "The code is A1B2", "Python 3.11"])
def test_a_full_stop_is_no_part_of_an_identifier(text: str) -> None:
    """A text with and without its full stop says the same."""
    assert is_same(Claim(text), Claim(f"{text}."))


@pytest.mark.parametrize(
    ("one", "other", "denied"),
    [
        ("我对花生过敏", "我对花生不过敏", True),
        ("Paul can swim", "Paul cannot swim", True),
        ("I am allergic to nuts", "I'm not allergic to nuts", True),
        ("他不过是个孩子", "他是个孩子", False),
        ("Dogs are allowed in room 301", "Dogs are not allowed in room 301", True),
        (
            "The garage door opens to the street",
            "The garage door does not open to the street",
            True,
        ),
        ("My sister can drive", "My sister can't drive", True),
        ("The shop will deliver", "The shop won't deliver", True),
        ("I have a dishwasher", "We don't have a dishwasher", True),
        ("家里有洗碗机", "家里没有洗碗机", True),
        ("301房间可以带狗", "301房间不可以带狗", True),
        ("Dogs are allowed in room 301", "Dogs are not allowed in room 302", False),
        ("I like olives", "I don't like anchovies", False),
        ("My sister can drive", "My brother can't drive", False),
        ("I don't like olives", "We do not like olives", False),
        ("I smoke", "I no longer smoke", False),
        ("Yes", "No", False),
        ("我喜欢香菜", "我不喜欢芹菜", False),
    ],
)
def test_a_denial_is_the_same_text_denied(one: str, other: str, denied: bool) -> None:
    """Two texts deny one another when they differ in the denial alone."""
    assert is_denied(Claim(one), Claim(other)) == denied
    assert is_denied(Claim(other), Claim(one)) == denied
