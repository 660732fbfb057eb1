"""Quotas: calls a second and memories, each tenant for itself."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from hypothesis import given
from hypothesis import strategies as st

from recalld.server import quotas, status
from recalld.server.errors import QuotaExceeded
from recalld.server.quotas import CallRate, MemoryQuota
from recalld.server.sections import QuotasSection
from tests.server.core import FixedClock, memory, opened


class Ticking(FixedClock):
    """A monotonic clock that only the test moves."""

    now_s = 0.0

    def monotonic_s(self) -> float:
        return self.now_s


def passes(rate: CallRate, tenant: str) -> bool:
    """Whether one more call of a tenant passes."""
    try:
        rate.take(tenant)
    except QuotaExceeded:
        return False
    return True


def test_no_quota() -> None:
    """Without a quota any number of calls passes."""
    rate = CallRate(QuotasSection(), Ticking())
    assert all(passes(rate, "a") for _ in range(1000))


def test_calls_a_second() -> None:
    """As many calls pass at once as a second allows, then one for each that has come back; each
    tenant has a bucket of its own."""
    clock = Ticking()
    rate = CallRate(QuotasSection(calls_per_s=4), clock)
    assert [passes(rate, "a") for _ in range(6)] == [True] * 4 + [False] * 2
    assert passes(rate, "b")
    clock.now_s = 0.5
    assert [passes(rate, "a") for _ in range(3)] == [True, True, False]
    clock.now_s = 60.0
    assert [passes(rate, "a") for _ in range(5)] == [True] * 4 + [False]


@pytest.mark.parametrize(("per_s", "after_s"), [(4.0, 0.25), (0.1, 10.0)])
def test_when_to_come_again(per_s: float, after_s: float) -> None:
    """A refusal says after how long the next call passes, and then it does."""
    clock = Ticking()
    rate = CallRate(QuotasSection(calls_per_s=per_s), clock)
    while passes(rate, "a"):
        pass
    with pytest.raises(QuotaExceeded) as caught:
        rate.take("a")
    assert caught.value.retry_after_s == pytest.approx(after_s)
    clock.now_s = caught.value.retry_after_s + 1e-9
    assert passes(rate, "a")


@given(
    st.lists(st.floats(0, 3), min_size=1, max_size=60),
    st.sampled_from([0.5, 1.0, 3.0, 7.5]),
)
def test_never_more_than_the_rate(pauses_s: list[float], per_s: float) -> None:
    """In any window at most one burst and what the rate allows since have passed."""
    clock = Ticking()
    rate = CallRate(QuotasSection(calls_per_s=per_s), clock)
    passed_s = []
    for pause_s in pauses_s:
        clock.now_s += pause_s
        if passes(rate, "a"):
            passed_s.append(clock.now_s)
    for i, start_s in enumerate(passed_s):
        for count, end_s in enumerate(passed_s[i:], start=1):
            assert count <= max(1.0, per_s) + (end_s - start_s) * per_s + 1e-6


def test_buckets_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of too many tenants the one that called least recently is forgotten."""
    monkeypatch.setattr(quotas, "BUCKET_COUNT_MAX", 2)
    rate = CallRate(QuotasSection(calls_per_s=1), Ticking())
    assert passes(rate, "a") and passes(rate, "b") and not passes(rate, "a")
    assert passes(rate, "c")
    assert not passes(rate, "a") and passes(rate, "b")


def details(error: Exception) -> dict[str, Any]:
    """Details of an error's status by type."""
    failure = status.translate(error, "r")
    assert failure.code == grpc.StatusCode.RESOURCE_EXHAUSTED
    found: dict[str, Any] = {}
    for packed in status_pb2.Status.FromString(failure.details).details:
        name = packed.TypeName().rpartition(".")[2]
        found[name] = getattr(error_details_pb2, name).FromString(packed.value)
    return found


def test_status() -> None:
    """A used-up quota is RESOURCE_EXHAUSTED, QUOTA_EXCEEDED, with the quota's name and a delay."""
    found = details(QuotaExceeded("quotas.calls_per_s", "is used up", retry_after_s=2.5))
    assert found["ErrorInfo"].reason == "QUOTA_EXCEEDED"
    [violation] = found["QuotaFailure"].violations
    assert (violation.subject, violation.description) == ("quotas.calls_per_s", "is used up")
    assert found["RetryInfo"].retry_delay.ToTimedelta().total_seconds() == 2.5


async def test_memories_of_a_tenant() -> None:
    """A write that would make too many memories stores none of them; saying something again, and
    editing, need no room; all users of the tenant count together."""
    async with opened() as core:
        core.writer.quota = MemoryQuota(3, core.partitions)
        await core.remember("u", memory("likes tea"), memory("likes rice"))
        with pytest.raises(QuotaExceeded, match="2 more memories: this tenant holds 2 of 3"):
            await core.remember("v", memory("lives in Leeds"), memory("plays chess"))
        assert await core.listed("v") == []
        [result] = (await core.remember("v", memory("lives in Leeds"))).results
        with pytest.raises(QuotaExceeded):
            await core.remember("u", memory("plays chess"))
        await core.remember("u", memory("likes tea"))
        await core.update("v", result.id, "content", content="lives in York")
        await core.forget("v", result.id)
        with pytest.raises(QuotaExceeded):
            await core.remember("v", memory("forgotten ones count until they are erased"))
        assert core.partitions.count_of("default") == 3
        assert core.partitions.count_of("other") == 0


async def test_writes_side_by_side() -> None:
    """Writes to several users at once never end above the quota."""
    async with opened() as core:
        core.writer.quota = MemoryQuota(10, core.partitions)
        writes = [core.remember(f"u{i}", memory(f"fact {i}")) for i in range(25)]
        done = await asyncio.gather(*writes, return_exceptions=True)
        assert sum(isinstance(one, QuotaExceeded) for one in done) == 15
        assert core.partitions.count_of("default") == 10
