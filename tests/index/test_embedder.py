"""The parts that all embedders share."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recalld.index.background_texts import SMALL_TALK, UNRELATED_MEMORIES, UNRELATED_REQUESTS
from recalld.index.embedder import (
    Calibration,
    default_model_dir,
    make_fingerprint,
    measure_calibration,
    unit_rows,
)
from recalld.index.errors import BadVector
from recalld.index.hash_embedder import HashEmbedder


def test_calibration_is_mean_and_deviation_of_all_pairs() -> None:
    """Calibration is mean and standard deviation over every request with every memory."""
    embedder = HashEmbedder(32)
    cosines = [
        float(
            embedder.embed([request], is_query=True)[0].astype(np.float64)
            @ embedder.embed([memory], is_query=False)[0].astype(np.float64)
        )
        for request in UNRELATED_REQUESTS
        for memory in UNRELATED_MEMORIES
    ]
    mean = sum(cosines) / len(cosines)
    spread = math.sqrt(sum((c - mean) ** 2 for c in cosines) / len(cosines))
    measured = measure_calibration(embedder)
    assert measured.mean == pytest.approx(mean, abs=1e-5)
    assert measured.spread == pytest.approx(spread, abs=1e-5)


def test_requests_are_told_apart_without_what_they_share() -> None:
    """The background is that of all pairs of requests, the mean of their language taken off.

    Small talk has means of its own.
    """
    embedder = HashEmbedder(32)
    vectors = embedder.embed(UNRELATED_REQUESTS, is_query=True).astype(np.float64)
    means = [vectors[:8].mean(axis=0), vectors[8:].mean(axis=0)]
    rests = []
    for vector in vectors:
        rest = vector - max(means, key=lambda mean: float(mean @ vector))
        rests.append(rest / np.linalg.norm(rest))
    cosines = [float(a @ b) for i, a in enumerate(rests) for b in rests[:i]]
    found = embedder.requests
    assert found is not None
    idle = embedder.embed(SMALL_TALK, is_query=True).astype(np.float64)
    means += [idle[:16].mean(axis=0), idle[16:].mean(axis=0)]
    assert found.centres == pytest.approx(np.array(means), abs=1e-6)
    mean = sum(cosines) / len(cosines)
    assert found.scale.mean == pytest.approx(mean, abs=1e-5)
    spread = math.sqrt(sum((c - mean) ** 2 for c in cosines) / len(cosines))
    assert found.scale.spread == pytest.approx(spread, abs=1e-5)


@pytest.mark.parametrize(
    ("mean", "spread"), [(0.5, 0.0), (0.5, -0.1), (2.0, 0.1), (math.nan, 0.1), (0.5, math.nan)]
)
def test_impossible_calibration_is_refused(mean: float, spread: float) -> None:
    """A calibration that would break every later score is refused."""
    with pytest.raises(BadVector):
        Calibration(mean, spread)


@given(
    hnp.arrays(np.float32, (3, 4), elements=st.floats(-1e3, 1e3, width=32)).filter(
        lambda rows: (np.abs(rows).max(axis=1) > 1e-3).all()
    )
)
def test_unit_rows_keep_their_direction(rows: np.ndarray) -> None:
    """Normalised rows have length 1 and point where they pointed."""
    unit = unit_rows(rows)
    for before, after in zip(rows.astype(np.float64), unit.astype(np.float64), strict=True):
        length = math.sqrt(sum(x * x for x in before))
        np.testing.assert_allclose(after, before / length, atol=1e-6)


@pytest.mark.parametrize("bad", [0.0, math.nan, math.inf, -math.inf])
def test_rows_without_direction_are_refused(bad: float) -> None:
    """A row that is zero, NaN or infinite is refused and named."""
    rows = np.array([[1, 0], [bad, bad]], np.float32)
    with pytest.raises(BadVector, match="vector 1 of 2"):
        unit_rows(rows)


def test_fingerprint_depends_on_content_only() -> None:
    """The order of parts does not matter, any value does."""
    one = make_fingerprint({"a": 1, "b": "x"})
    assert one == make_fingerprint({"b": "x", "a": 1})
    assert one != make_fingerprint({"a": 1, "b": "y"})


def test_default_model_dir_follows_the_given_environment() -> None:
    """The default folder is in the XDG cache, or in `.cache` of the home folder without one."""
    given = default_model_dir({"XDG_CACHE_HOME": "/cache"})
    assert given == Path("/cache/recalld/models/e5-small-int8")
    assert default_model_dir({}) == Path.home() / ".cache/recalld/models/e5-small-int8"
