"""Roles and cues, against plain Python."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recalld.scoring.affinity import nearest_cues_into, roles_into
from tests.scoring.drawn import UNIT


@given(st.integers(0, 6), st.integers(1, 5), st.data())
def test_keys_then_kinds_have_their_say(count, roles, data):
    """A role's score is the text's, then mixed with those of a known key and of a known kind."""
    affinities = data.draw(hnp.arrays(np.float32, (count, roles), elements=UNIT))
    weights = data.draw(hnp.arrays(np.float32, roles, elements=UNIT))
    of = st.integers(-1, roles - 1)
    key_roles = np.array(data.draw(st.lists(of, min_size=3, max_size=3)), np.int64)
    kind_roles = np.array(data.draw(st.lists(of, min_size=3, max_size=3)), np.int64)
    keys = data.draw(hnp.arrays(np.int32, count, elements=st.integers(0, 2)))
    kinds = data.draw(hnp.arrays(np.uint8, count, elements=st.integers(0, 2)))
    scores = np.empty(count, np.float32)
    roles_into(affinities, weights, (keys, key_roles), (kinds, kind_roles), 0.7, 0.3, scores)
    for row in range(count):
        score = sum(float(a) * float(w) for a, w in zip(affinities[row], weights, strict=True))
        for role, share in ((key_roles[keys[row]], 0.7), (kind_roles[kinds[row]], 0.3)):
            if role >= 0:
                score += share * (float(weights[role]) - score)
        assert np.isclose(scores[row], min(1.0, max(0.0, score)), atol=1e-5)


@given(st.lists(st.tuples(st.integers(-1, 3), st.sampled_from([0.0, 0.5, 1.0])), max_size=12))
def test_the_nearest_cue_of_a_memory_speaks_for_it(cues):
    """Of a memory's cues the one with the highest score counts, of equal ones the first."""
    rows = np.array([row for row, _ in cues], np.int64)
    scores = np.array([score for _, score in cues], np.float32)
    # Backwards, so that the first number does not come first.
    numbers = np.arange(len(cues))[::-1].copy()
    found = np.zeros(4, np.float32), np.zeros(4, np.float32), np.full(4, -1, np.int64)
    nearest_cues_into(rows, numbers, (-scores, scores), *found)
    for row in range(4):
        own = [i for i in range(len(cues)) if rows[i] == row and scores[i] > 0]
        best = min(own, key=lambda i: (-scores[i], numbers[i]), default=None)
        expected = (0.0, 0.0, -1) if best is None else (-scores[best], scores[best], numbers[best])
        assert (found[0][row], found[1][row], found[2][row]) == expected
