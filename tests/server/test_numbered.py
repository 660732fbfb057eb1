"""Statements about things that bear different numbers."""

from __future__ import annotations

import pytest

from recalld.server.claims import Claim
from recalld.server.numbered import are_apart


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
