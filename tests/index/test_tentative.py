"""Tentative statements: told from plans, decisions and unsure facts, in both languages."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalld.index import tentative
from recalld.index.columns import IndexRow
from recalld.index.filter import View
from recalld.index.partition import PartitionIndex
from recalld.index.plan import QueryPlan
from recalld.index.tentative import asks_for_ideas, is_tentative
from recalld.scoring.params import (
    DECISION,
    EVENT,
    FACT,
    MEDIUM,
    PINNED,
    PREFERENCE,
    Doubt,
    RankParams,
)

MUSED = (
    "I'm thinking of learning the harp",
    "We might move to the coast instead",
    "Maybe I should sell the boat",
    "A week in Malta would be nice some day",
    "She joked about opening a bakery and I haven't decided what to say",
    "随口说想去学潜水",
    "也许明年换辆电车",
    "还在考虑要不要养猫",
    "新工作的事还没决定",
)
FIRM = (
    "I decided to learn the harp",
    "We move to the coast in May",
    "The bakery opens at seven, one day a week at noon",
    "My sister May plays the tuba",
    "Booked the diving course",
    "决定明年换车",
    "每天早上七点遛狗",
    "要不是下雨，球赛就不会改期",
    "已经报了潜水班",
)


@pytest.mark.parametrize("text", MUSED)
def test_a_musing_is_tentative(text: str) -> None:
    """What somebody only plays with in thought is told as such."""
    assert is_tentative(PREFERENCE, MEDIUM, text)


@pytest.mark.parametrize("text", FIRM)
def test_a_firm_statement_is_not_tentative(text: str) -> None:
    """Plans, decisions and habits are firm, whatever words they share with musings."""
    assert not is_tentative(EVENT, MEDIUM, text)


def test_facts_and_pinned_memories_are_never_tentative() -> None:
    """An unsure fact is no musing, and a pinned memory always counts."""
    assert not is_tentative(FACT, MEDIUM, MUSED[0])
    assert not is_tentative(DECISION, PINNED, MUSED[0])


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("What ideas did I have for the summer?", True),
        ("我之前想过去哪儿来着", True),
        ("Book the hotel", False),
        ("订一下酒店", False),
    ],
)
def test_requests_for_ideas_are_known(text: str, asks: bool) -> None:
    """A request that asks for ideas, or for what was said, is told from one that wants facts."""
    assert asks_for_ideas(text) is asks


@pytest.mark.parametrize(
    ("text", "first"), [("summer trip flight", 2), ("ideas for the summer trip flight", 1)]
)
def test_a_musing_yields_unless_it_is_asked_for(text: str, first: int) -> None:
    """Of two equally near memories the firm one comes first, or the musing when ideas are asked."""
    index = PartitionIndex(4, RankParams(0.0, 0.1))
    vector = np.array([[1, 0, 0, 0]], dtype=np.float32)
    rows = [
        IndexRow(1, "summer trip flight", PREFERENCE, doubt=Doubt.TENTATIVE, create_time_us=2),
        IndexRow(2, "summer trip flight", PREFERENCE, create_time_us=1),
    ]
    index.add(rows, np.repeat(vector, 2, axis=0))
    plan = QueryPlan(View(10), vectors=vector, texts=(text,))
    assert index.search(plan).labels.tolist()[0] == first


@settings(max_examples=300)
@given(st.from_regex(tentative._MUSING) | st.from_regex(tentative._IDEAS))
def test_a_sign_stands_in_every_text_that_a_pattern_matches(text: str) -> None:
    """The quick look for signs never hides a match, whatever the case and the letters are."""
    assert tentative._may_match(text)
