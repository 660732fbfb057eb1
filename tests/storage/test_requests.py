"""Recent answers: bounds, order of giving way, pruning."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recalld.storage.requests import REQUEST_OVERHEAD_BYTES, RecentRequests
from tests.storage.samples import request


def held(recent: RecentRequests, ids: str) -> str:
    return "".join(name for name in ids if recent.find("acme", name) is not None)


def test_the_oldest_gives_way_by_count() -> None:
    """Beyond the count the oldest is dropped, and the map is no longer complete."""
    recent = RecentRequests(count_max=2)
    recent.add([request("a"), request("b")])
    assert recent.complete
    recent.add([request("c")])
    assert held(recent, "abc") == "bc"
    assert not recent.complete


def test_the_oldest_gives_way_by_size() -> None:
    """Beyond the bytes the oldest are dropped, by response, hash and overhead."""
    one = REQUEST_OVERHEAD_BYTES + len(b"hash") + 100
    recent = RecentRequests(bytes_max=2 * one)
    recent.add([request(name, response=bytes(100)) for name in "ab"])
    assert held(recent, "ab") == "ab"
    recent.add([request("c", response=bytes(101))])
    assert held(recent, "abc") == "c"


def test_one_answer_beyond_all_bounds_is_not_kept() -> None:
    """An answer larger than the whole map is left to the disk."""
    recent = RecentRequests(bytes_max=1_000)
    recent.add([request("a", response=bytes(2_000))])
    assert held(recent, "a") == ""
    assert not recent.complete


def test_a_repeated_key_is_replaced_and_counted_once() -> None:
    """Adding a key again replaces its answer and makes it the newest."""
    recent = RecentRequests(count_max=2)
    recent.add([request("a"), request("b"), request("a", response=b"new")])
    assert recent.complete
    recent.add([request("c")])
    assert held(recent, "abc") == "ac"
    found = recent.find("acme", "a")
    assert found is not None
    assert found.response == b"new"


@given(times=st.lists(st.integers(0, 5), max_size=10), before_us=st.integers(0, 6))
def test_pruning_drops_exactly_the_older(times: list[int], before_us: int) -> None:
    """After pruning exactly the answers created at or after the time are there."""
    recent = RecentRequests()
    recent.add(request(str(n), create_time_us=time) for n, time in enumerate(times))
    recent.prune(before_us)
    for number, time in enumerate(times):
        assert (recent.find("acme", str(number)) is not None) == (time >= before_us)
    assert recent.complete


def test_what_may_be_on_disk() -> None:
    """A key may have an answer on disk when it is held here, or when any answer gave way."""
    recent = RecentRequests(count_max=2)
    recent.add([request("a"), request("b")])
    assert [recent.may_have("acme", name) for name in "ac"] == [True, False]
    recent.add([request("c")])
    assert [recent.may_have("acme", name) for name in "ad"] == [True, True]
