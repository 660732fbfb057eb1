"""Statements about things that bear different numbers or names."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.bench import eval_claims
from recalld.server.claims import Claim
from recalld.server.subjects import are_apart
from tests.tidy.tree import ROOT


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Room 301 has a projector", "Room 302 has no projector", True),
        ("The order 5521 was shipped", "The order 5522 was refunded", True),
        ("订单 7731 已发货", "订单 7732 未发货", True),
        ("会议室301有投影仪", "会议室302没有投影仪", True),
        ("Room 301 has a projector", "Room 301 has no projector", False),
        ("Box 774 is on shelf 7", "Box 774 is on shelf 9", False),
        ("Box 774 is green", "Room 777 is red", False),
        ("The key is in box 774", "The key is in box 777", False),
        ("Box 774 is on shelf 7", "Box 777 is on shelf 7", True),
        ("The meeting is at 10 on Monday", "The meeting is at 11 on Friday", False),
        ("会议在 3 点开始", "会议在 4 点才开始", False),
        ("30 guests come", "40 guests are invited", False),
        ("", "Room 301", False),
        ("Hut number 12 has a stove", "Hut number 14 has no stove", True),
        ("The kettle on deck 3 is broken", "The kettle on deck 4 is broken", True),
        ("There is a kettle on deck 3", "There is no kettle on deck 4", True),
        ("Cats are forbidden on deck 3", "Cats are allowed on deck 4", True),
        ("Claim #77 was paid", "Claim #78 was not paid", True),
        ("The third deck is closed", "The fourth deck is open", True),
        ("The kettle is on deck 3", "The kettle is on deck 4", False),
        ("I sleep in hut 12", "I sleep in hut 14", False),
        ("Lives at No. 12", "Lives at No. 14", False),
        ("Takes tram 12 home", "Takes tram 14 home", False),
        ("Weight 72 kg", "Weight 75 kg", False),
        ("The budget 500 is agreed", "The budget 700 is agreed", False),
        ("Hut 12 is my home", "Hut 14 is my home", False),
        ("12号客房没有热水", "14号客房有热水", True),
        ("三楼的复印机坏了", "四楼的复印机没坏", True),
        ("第二章写完了", "第三章没写完", True),
        ("我住在三楼", "我住在四楼", False),
        ("例会三点开始", "例会四点开始", False),
        ("预算500", "预算700", False),
        ("体重72公斤", "体重75公斤", False),
        ("3号客房是我的", "4号客房是我的", False),
    ],
)
def test_things_of_other_numbers(one: str, other: str, expected: bool) -> None:
    """Numbers tell things apart where a statement begins with them, and not as its message."""
    assert are_apart(Claim(one), Claim(other)) is expected
    assert are_apart(Claim(other), Claim(one)) is expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Customer Ann Abel pays by card", "Customer Ben Cole pays by invoice", True),
        ("Customer Ann Abel pays by card", "Customer Ben Cole pays by card", True),
        ("The patient Ann Abel is on insulin", "The patient Ben Cole was discharged", True),
        ("Mia is vegetarian", "Tom eats meat", True),
        ("Customer Paul pays by card", "Customer Tom pays by card", True),
        ("Ann is vegetarian", "Joanna is not vegetarian", True),
        ("Mia never eats meat", "Tom also eats meat on Fridays", True),
        ("Dr. Hahn works on Mondays", "Dr. Okoro works on Tuesdays", True),
        ("客户王芳用卡付款", "客户李强付现金", True),
        ("张老师教数学", "刘老师不教数学", True),
        ("Customer Ann Abel pays by card", "Customer Ann Abel pays by invoice", False),
        ("Customer Ann Abel pays by card", "Customer Ben Cole took over from Ann Abel", False),
        ("Mia eats meat", "Tom eats meat", True),
        ("Team Orion is the owner of search", "Team Vega is the owner of search", False),
        ("Ann is my boss", "Ben is my boss", False),
        ("Friday is my gym day", "Saturday is my gym day now", False),
        ("I live in Graz", "I live in Kiel", False),
        ("Lives in Graz", "Lives in Kiel", False),
        ("Uses Python for scripts", "Uses Go for tools", False),
        ("Uses Python as a hobby", "Uses Go as a hobby", False),
        ("Vince has the key", "Only Oskar has the key", False),
        ("Everyone eats meat", "Nobody likes steak", False),
        ("I am vegetarian", "Tom eats meat", False),
        ("客户王芳用卡付款", "客户王芳改付现金", False),
        ("我喜欢绿茶", "我喜欢咖啡", False),
        ("周一开会", "高兴就好", False),
        ("VIP guest Moreau prefers tea", "VIP guest Keller prefers coffee", True),
        ("Tomas, the plumber, comes at 9", "Erik, the plumber, comes at 10", True),
        ("The Ghent office has a lift", "The Cork office has no lift", True),
        ("Nuts are fine for Mia", "Nuts are not fine for Tom", True),
        ("My wife can swim", "My son can't swim", True),
        ("The red team won", "The blue team did not win", True),
        ("ann@birch.io is a supplier", "ben@birch.io is not a supplier", True),
        ("[email] gets the bill", "[email] does not get the bill", True),
        ("[email] is my address", "[email] is my address", False),
        ("My e-mail is ann@birch.io", "My e-mail is ben@birch.io", False),
        ("阿强喜欢喝茶", "阿珍不喜欢喝茶", True),
        ("我妈妈会游泳", "我爸爸不会游泳", True),
        ("南京分公司放假", "厦门分公司不放假", True),
        ("阿强是我老板", "阿珍是我老板", False),
        ("我老板是阿强", "我老板是阿珍", False),
    ],
)
def test_things_of_other_names(one: str, other: str, expected: bool) -> None:
    """Names tell things apart where a statement is about their bearers, not as its message."""
    assert are_apart(Claim(one), Claim(other)) is expected
    assert are_apart(Claim(other), Claim(one)) is expected


def test_templates_of_neighbours_and_of_values() -> None:
    """Of templated neighbours nineteen of twenty are told apart, of values one of a hundred."""
    pairs = list(eval_claims.load(eval_claims.SETS[0]))
    apart = {pair: are_apart(Claim(pair.older), Claim(pair.newer)) for pair in pairs}
    neighbours = [apart[pair] for pair in pairs if not pair.is_marked]
    values = [apart[pair] for pair in pairs if pair.is_marked]
    assert sum(neighbours) >= 0.95 * len(neighbours)
    assert sum(values) <= 0.01 * len(values)


def test_no_true_contradiction_is_taken_for_neighbours() -> None:
    """No statement that contradicts, updates or repeats another is of another thing."""
    rows = [
        json.loads(line)
        for path in (ROOT / "tests/data/claim_pairs.jsonl", ROOT / "tests/data/change_pairs.jsonl")
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    pairs = [(r["older"], r["newer"]) for r in rows if r["class"] in ("update", "contradiction")]
    lines = (ROOT / "bench/data/claims.jsonl").read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, lines):
        pairs += [(row["older"], row[name]) for name in ("update", "contradiction", "same")]
    assert not [pair for pair in pairs if are_apart(*map(Claim, pair))]


@given(st.text(max_size=40), st.text(max_size=40))
def test_being_apart_is_mutual(one: str, other: str) -> None:
    """Any two texts are apart either way round or not at all."""
    first, second = Claim(one), Claim(other)
    assert are_apart(first, second) == are_apart(second, first)
