"""The drift of resident memory."""

from __future__ import annotations

import pytest

from recalld.bench.bench_soak import drift


def test_flat() -> None:
    """Readings that stay have no drift."""
    assert drift([100.0] * 5) == pytest.approx(0.0)


def test_rising() -> None:
    """A straight rise from 100 to 110 is a drift of a tenth."""
    assert drift([100.0, 102.5, 105.0, 107.5, 110.0]) == pytest.approx(0.1)


def test_one_reading() -> None:
    """One reading tells no drift."""
    with pytest.raises(ValueError, match="two readings"):
        drift([100.0])
