"""States of which a person has one at a time."""

from __future__ import annotations

import json

import pytest

from recalld.index.judge import Stand
from recalld.server import states
from recalld.server.claims import Claim
from recalld.server.states import read, stand_of
from tests.tidy.tree import ROOT


def stand(older: str, newer: str) -> Stand:
    """How two texts stand to each other by their states."""
    one, other = read(Claim(older)), read(Claim(newer))
    return Stand.APART if one is None or other is None else stand_of(one, other, is_near=True)


@pytest.mark.parametrize(
    ("older", "newer", "expected"),
    [
        ("I live in Graz", "I moved to Kiel", Stand.UPDATE),
        ("我住在银川", "我搬到兰州了", Stand.UPDATE),
        ("I work at Siemens", "I started at Nokia", Stand.UPDATE),
        ("I work at Siemens", "My employer is Nokia", Stand.CONTRADICTION),
        ("I am single", "I got married in June", Stand.UPDATE),
        ("I'm married", "I am single", Stand.CONTRADICTION),
        ("I'm vegan", "I eat meat again", Stand.UPDATE),
        ("I never smoke", "I smoke a pack a day", Stand.CONTRADICTION),
        ("我滴酒不沾", "我每晚喝点红酒", Stand.CONTRADICTION),
        ("I am unemployed", "I found a job", Stand.UPDATE),
        ("I have no children", "My daughter is four", Stand.CONTRADICTION),
        ("I'm pregnant", "Our baby was born today", Stand.UPDATE),
        ("I live in Austria", "I moved to Graz", Stand.APART),
        ("I live in Graz", "My cousin moved to Kiel", Stand.APART),
        ("I live in Graz", "I moved to Graz", Stand.APART),
        ("我住在银川", "我把沙发搬到卧室了", Stand.APART),
        ("我在北京工作", "我入职小米了", Stand.APART),
        ("I'm a vegetarian", "I don't eat beef", Stand.APART),
        ("I eat meat", "I like vegetarian food", Stand.APART),
        ("I am single", "I am not married", Stand.APART),
        ("I smoke a lot", "I want to be a non-smoker", Stand.APART),
        ("I smoke a lot", "I smoke salmon", Stand.APART),
        ("我吃素", "我不爱吃肉", Stand.APART),
        ("I'm looking for a flat", "I found a bike", Stand.APART),
        ("My son is an only child", "My brother lives abroad", Stand.APART),
        ("The weather is fine", "", Stand.APART),
    ],
)
def test_states_exclude_each_other(older: str, newer: str, expected: Stand) -> None:
    """Two states of a sort, of one person, are a change where that is said, else at odds."""
    assert stand(older, newer) is expected


def test_no_state_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text in which no word for a state is looked for names none."""
    lines = (ROOT / "bench/data/changes.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)[side] for line in lines for side in ("older", "newer")]
    passed = [text for text in texts if read(Claim(text)) is None]
    monkeypatch.setattr(states, "_WORDS", ("",))
    assert not [text for text in passed if (found := read(Claim(text))) and found.states]


def test_names_are_compared_of_near_statements_only() -> None:
    """Of statements far from each other a name may be anything; other states still exclude."""
    home, move = read(Claim("I live in Graz")), read(Claim("I moved to Kiel"))
    single, married = read(Claim("I am single")), read(Claim("I got married"))
    assert home and move and single and married
    assert stand_of(home, move, is_near=False) is Stand.APART
    assert stand_of(single, married, is_near=False) is Stand.UPDATE
