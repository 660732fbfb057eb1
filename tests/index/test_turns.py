"""Turns: fair between owners, in order within each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.index.turns import Turns, share_of


def drained(turns: Turns[int], owners: dict[int, str]) -> list[int]:
    """Takes everything out, one item a turn."""
    taken = []
    while turns:
        item = turns.first()
        turns.drop_first()
        turns.pass_on(owners[item])
        taken.append(item)
    return taken


def naive(items: list[str]) -> list[int]:
    """The same by rounds over lists: each round takes the first of every owner that has any."""
    queues: dict[str, list[int]] = {}
    for number, owner in enumerate(items):
        queues.setdefault(owner, []).append(number)
    taken = []
    while any(queues.values()):
        taken += [queue.pop(0) for queue in queues.values() if queue]
    return taken


@given(st.lists(st.sampled_from("abcd"), max_size=40))
def test_rounds(items: list[str]) -> None:
    """One item of each owner a round, owners in the order of arrival, items in theirs."""
    turns: Turns[int] = Turns()
    for number, owner in enumerate(items):
        turns.add(owner, number)
    assert sorted(turns) == list(range(len(items)))
    assert drained(turns, dict(enumerate(items))) == naive(items)
    assert not turns


def test_removing() -> None:
    """An item is taken out wherever it stands; one that does not wait is not found."""
    turns: Turns[int] = Turns()
    for owner, item in (("a", 1), ("a", 2), ("b", 3)):
        turns.add(owner, item)
    assert turns.remove("a", 2) and turns.remove("b", 3)
    assert not turns.remove("a", 2) and not turns.remove("c", 1)
    assert list(turns) == [1] and turns.first() == 1
    turns.clear()
    assert not turns


@pytest.mark.parametrize(
    ("limit", "owners", "share"), [(512, 1, 256), (512, 3, 128), (3, 1, 1), (1, 9, 1)]
)
def test_shares(limit: int, owners: int, share: int) -> None:
    """Room for one more owner stays, and everybody gets at least one."""
    assert share_of(limit, owners) == share
