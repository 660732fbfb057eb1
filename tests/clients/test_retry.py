"""Which failures are tried again, with a clock that the test moves."""

import json

import pytest

from recalld.client import errors, retry
from recalld.v1 import (
    admin_service_pb2,
    memory_service_pb2,
    recall_service_pb2,
    session_service_pb2,
)


def overloaded(retry_after_s: float | None) -> errors.Overloaded:
    return errors.Overloaded("full", retry_after_s=retry_after_s)


def test_service_config_retries_unavailable_and_has_no_timeout() -> None:
    """The config names every service, retries UNAVAILABLE only, and never has a timeout key."""
    config = json.loads(retry.service_config())
    (method,) = config["methodConfig"]
    assert "timeout" not in method
    assert method["retryPolicy"]["retryableStatusCodes"] == ["UNAVAILABLE"]
    modules = (memory_service_pb2, recall_service_pb2, session_service_pb2, admin_service_pb2)
    services = {
        service.full_name
        for module in modules
        for service in module.DESCRIPTOR.services_by_name.values()
    }
    assert {name["service"] for name in method["name"]} == services
    assert config["retryThrottling"]["maxTokens"] > 0


def test_wait_that_fits_the_deadline_is_granted() -> None:
    """An overload with a delay shorter than the deadline is retried after exactly that delay."""
    budget = retry.Budget(1.0, clock=lambda: 0.0)
    assert budget.delay_s(overloaded(0.25)) == 0.25


def test_wait_beyond_the_deadline_is_refused() -> None:
    """An overload whose delay ends at or after the deadline is given up at once."""
    now = [0.0]
    budget = retry.Budget(1.0, clock=lambda: now[0])
    now[0] = 0.75
    assert budget.remaining_s() == pytest.approx(0.25)
    assert budget.delay_s(overloaded(0.25)) is None


def test_attempts_are_bounded() -> None:
    """After four attempts in all, even a short delay is refused."""
    budget = retry.Budget(100.0, clock=lambda: 0.0)
    assert [budget.delay_s(overloaded(0.1)) for _ in range(4)] == [0.1, 0.1, 0.1, None]


@pytest.mark.parametrize(
    "error",
    [overloaded(None), errors.NotReady("loading", retry_after_s=0.1), errors.Internal("fault")],
)
def test_other_failures_are_not_retried_here(error: errors.RecalldError) -> None:
    """Without a delay from the server, and for other errors, the client gives up."""
    assert retry.Budget(10.0, clock=lambda: 0.0).delay_s(error) is None
