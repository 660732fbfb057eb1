"""Evidence that is handed over, against plain Python."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recalld.scoring.hand_over import beside_into, handing_on_into, inherit_into
from recalld.scoring.masks import Excluded
from recalld.scoring.params import Doubt

COUNT = 8
ROW = st.integers(0, COUNT - 1)
PAIRS = st.lists(st.tuples(ROW, ROW).filter(lambda pair: pair[0] != pair[1]), max_size=10)
SCORES = hnp.arrays(np.float32, COUNT, elements=st.sampled_from([0.0, 0.25, 0.5, 1.0]))


def columns(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Lay out pairs as the kernels take them."""
    return tuple(np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))


@given(PAIRS, SCORES, SCORES)
def test_an_heir_has_the_strongest_evidence_of_what_it_replaced(pairs, raw, normalised):
    """The larger counts; of equal predecessors the first, and an heir hands on only its own."""
    expected = [(float(raw[row]), float(normalised[row]), 0) for row in range(COUNT)]
    for older, heir in pairs:
        if normalised[older] > expected[heir][1]:
            expected[heir] = float(raw[older]), float(normalised[older]), 1
    gained = np.zeros(COUNT, np.uint8)
    inherit_into(*columns(pairs), raw, normalised, gained)
    assert list(zip(raw.tolist(), normalised.tolist(), gained.tolist(), strict=True)) == expected


@given(PAIRS, st.data())
def test_only_what_was_replaced_or_is_doubtful_hands_on(pairs, data):
    """A pair counts where the older one stands back and the newer one may answer."""
    reasons = st.sampled_from([Excluded.NO, Excluded.SUPERSEDED, Excluded.FILTER])
    excluded = np.array(data.draw(st.lists(reasons, min_size=COUNT, max_size=COUNT)), np.uint8)
    doubts = np.array(
        data.draw(st.lists(st.sampled_from(Doubt), min_size=COUNT, max_size=COUNT)), np.uint8
    )
    places = np.empty(len(pairs), np.int64)
    count = handing_on_into(excluded, doubts, *columns(pairs), places)
    expected = [
        place
        for place, (older, heir) in enumerate(pairs)
        if excluded[heir] == Excluded.NO
        and (
            excluded[older] == Excluded.SUPERSEDED
            or (excluded[older] == Excluded.NO and doubts[older] != Doubt.NONE)
        )
    ]
    assert places[:count].tolist() == expected


@given(PAIRS, SCORES, hnp.arrays(np.uint8, COUNT, elements=st.integers(0, 1)))
def test_a_turn_gains_from_its_best_visible_neighbour(pairs, evidence, excluded):
    """Raw is the larger evidence of the turns beside it, normalised its share of the full one."""
    best = [0.0] * COUNT
    for one, other in pairs:
        for row, beside in ((one, other), (other, one)):
            if not excluded[beside]:
                best[row] = max(best[row], float(evidence[beside]))
    raw, normalised = np.zeros(COUNT, np.float32), np.zeros(COUNT, np.float32)
    beside_into(evidence, excluded, columns(pairs), 0.6, raw, normalised)
    assert raw.tolist() == best
    assert np.allclose(normalised, [min(1.0, x / 0.6) for x in best])
