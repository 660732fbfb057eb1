"""Statements about things that bear different numbers or names."""

from __future__ import annotations

import pytest

from recalld.server.claims import Claim
from recalld.server.subjects import are_apart


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
    ],
)
def test_things_of_other_names(one: str, other: str, expected: bool) -> None:
    """Names tell things apart where a statement is about their bearers, not as its message."""
    assert are_apart(Claim(one), Claim(other)) is expected
    assert are_apart(Claim(other), Claim(one)) is expected
