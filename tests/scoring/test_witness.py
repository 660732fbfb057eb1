"""Witnesses: marks against plain Python."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recalld.scoring.params import CHANNEL_COUNT
from recalld.scoring.witness import marks_into

VALUES = st.sampled_from([0.0, 1e-30, 0.15, 0.5, 0.7, 1.0, float("nan")])


@given(
    hnp.arrays(np.float32, st.tuples(st.integers(0, 6), st.just(CHANNEL_COUNT)), elements=VALUES),
    hnp.arrays(np.float32, CHANNEL_COUNT, elements=st.sampled_from([0.0, 3.0])),
    st.lists(st.tuples(st.integers(0, CHANNEL_COUNT - 1), VALUES.filter(bool)), max_size=20),
)
def test_each_condition_has_a_bit(said, weights, conditions):
    """Bit i is set where an asked channel says more than nothing and at least what i wants."""
    marks = np.empty(len(said), dtype=np.int64)
    channels = np.array([channel for channel, _ in conditions], dtype=np.int64)
    marks_into(said, weights, channels, np.array([least for _, least in conditions]), marks)
    for values, mark in zip(said.tolist(), marks.tolist(), strict=True):
        for bit, (channel, least) in enumerate(conditions):
            value = values[channel] if weights[channel] else 0.0
            assert bool(mark >> bit & 1) == (value > 0 and value >= least)
