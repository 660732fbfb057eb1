"""One order to the embedder, and how it ends."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future

import numpy as np

from recalld.index.embed_job import Job


def job() -> Job:
    return Job("t", True, ["a", "b"], [], deque([0, 1]), np.zeros((2, 4)), Future(), queued_s=1.0)


def test_cancelled_between_its_runs() -> None:
    """It can be cancelled after its first text was taken, and then neither ends nor fails."""
    one = job()
    one.take_row(None)
    assert one.future.cancel()
    assert not one.is_wanted
    one.finish()
    assert one.future.cancelled()


def test_finished() -> None:
    """Whoever waits gets the vectors."""
    one = job()
    one.finish()
    assert one.future.result() is one.out


def test_failed() -> None:
    """Whoever waits gets the error."""
    one, error = job(), ValueError("x")
    one.fail(error)
    assert one.future.exception() is error


def test_tells_its_wait_once() -> None:
    """How long it waited is told with its first text, and not again."""
    one, told = job(), list[bool]()
    rows = [one.take_row(lambda is_query, _wait_s: told.append(is_query)) for _ in range(2)]
    assert rows == [0, 1]
    assert told == [True]
