"""Candidates for a ranking, as tests draw and build them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recalld.scoring import masks
from recalld.scoring.decay import DOUBT_FLOOR, flat_table
from recalld.scoring.params import CHANNEL_COUNT, Channel, Fusion
from recalld.scoring.rank import Candidates

FACTOR = st.floats(0.25, 1, width=32)
UNIT = st.sampled_from([0.0, 0.125, 0.3, 0.5, 1.0]) | st.floats(0, 1, width=32)


def candidates(
    normalised: Mapping[Channel, Sequence[float]] | np.ndarray,
    create_us: Sequence[int] | np.ndarray | None = None,
    factors: Sequence[float] | np.ndarray | None = None,
    fusion: Fusion = Fusion.WEIGHTED,
) -> Candidates:
    """Candidates 1.. whose only factor is their confidence; channels' own numbers are negated."""
    given = dict(normalised) if isinstance(normalised, Mapping) else dict(enumerate(normalised))
    count = len(next(iter(given.values())))
    times = np.zeros((masks.TIME_COUNT, count), dtype=np.int64)
    times[masks.CREATE_TIME] = 0 if create_us is None else create_us
    confidence = np.ones(count) if factors is None else np.asarray(factors)
    small = np.ones((masks.SMALL_COUNT, count), dtype=np.uint8)
    table = flat_table()
    table[DOUBT_FLOOR] = 0.0
    said = {
        Channel(channel): (-np.asarray(values, np.float32), np.array(values, np.float32))
        for channel, values in given.items()
    }
    facts = np.arange(1, count + 1), small, times, confidence.astype(np.float32)
    rules = table, np.array([0, 0, 0, masks.CREATE_TIME, fusion])
    return Candidates(np.arange(count), said, facts, rules)


@st.composite
def drawn_candidates(draw, max_size: int = 25, fusion: Fusion = Fusion.WEIGHTED) -> Candidates:
    """Draw candidates with tied and untied evidence."""
    m = draw(st.integers(0, max_size))
    return candidates(
        draw(hnp.arrays(np.float32, (CHANNEL_COUNT, m), elements=UNIT)),
        draw(hnp.arrays(np.int64, m, elements=st.integers(0, 3))),
        draw(hnp.arrays(np.float32, m, elements=FACTOR)),
        fusion,
    )
