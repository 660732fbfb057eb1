"""Masks: counting, leaving out and listing, against plain Python."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recalld.scoring.masks import EXCLUDED_COUNT, Excluded, filter_into, passing, tally

REASONS = hnp.arrays(
    np.uint8, st.integers(0, 200), elements=st.sampled_from([0, 0, 0, *map(int, Excluded)])
)


@given(REASONS)
def test_every_memory_stays_or_is_counted_under_its_reason(excluded):
    """Those that stay are listed in their order; all are counted once."""
    counts = tally(excluded)
    expected = Counter(excluded.tolist())
    assert counts.tolist() == [expected[reason] for reason in range(EXCLUDED_COUNT)]
    stay = [row for row, reason in enumerate(excluded.tolist()) if reason == 0]
    assert passing(excluded, len(stay)).tolist() == stay


@given(REASONS, st.randoms())
def test_a_filter_leaves_out_what_was_not_left_out_before(excluded, random):
    """A memory that does not pass is filtered, but keeps a reason that it has already."""
    passes = np.array([random.random() < 0.5 for _ in excluded], dtype=np.bool_)
    expected = [
        reason or (0 if fits else int(Excluded.FILTER))
        for reason, fits in zip(excluded.tolist(), passes.tolist(), strict=True)
    ]
    filter_into(passes, excluded)
    assert excluded.tolist() == expected
