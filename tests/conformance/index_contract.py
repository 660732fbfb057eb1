"""What every IndexBackend keeps; run against each backend by subclassing.

A subclass gives `make` and the recall it promises; the oracle is plain NumPy in float64.
"""

from __future__ import annotations

import numpy as np
import pytest

from recalld.index.backend import IndexBackend
from recalld.index.errors import BadLabel, BadVector

DIM = 24
SEED = 7


def unit_vectors(count: int, seed: int = SEED) -> np.ndarray:
    """Make clustered unit vectors float32[count, DIM]; uniform ones are unfit for recall tests."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((12, DIM))
    vectors = centres[random.integers(0, 12, count)] + 0.4 * random.standard_normal((count, DIM))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


class IndexContract:
    """Tests of the contract."""

    recall_min = 1.0

    def make(self) -> IndexBackend:
        """Return an empty backend of DIM columns."""
        raise NotImplementedError

    def filled(self, count: int) -> tuple[IndexBackend, np.ndarray, np.ndarray]:
        """Return a backend with `count` vectors, its labels and its vectors."""
        backend, vectors = self.make(), unit_vectors(count)
        labels = np.arange(1, count + 1) * 3
        backend.add(labels, vectors)
        return backend, labels, vectors

    def recall(self, backend: IndexBackend, labels, vectors, k: int = 10) -> float:
        """Return the share of true neighbours found over 20 queries."""
        found = 0
        for query in unit_vectors(20, seed=1):
            truth = labels[np.argsort(-(vectors.astype(np.float64) @ query))[:k]]
            got, similarity = backend.search(query, k)
            assert len(got) == k
            assert np.all(np.diff(similarity) <= 0)
            by_label = dict(zip(labels.tolist(), vectors, strict=True))
            exact = [float(by_label[int(label)] @ query) for label in got]
            assert np.allclose(similarity, exact, atol=1e-5)
            found += len(set(truth.tolist()) & set(got.tolist()))
        return found / (20 * k)

    def test_neighbours_are_found(self):
        """Enough true neighbours are found, best first, with their cosine similarities."""
        assert self.recall(*self.filled(1500)) >= self.recall_min

    def test_k_is_clamped_to_what_there_is(self):
        """More than there are gives all, fewer than one gives none, an empty index gives none."""
        backend, labels, vectors = self.filled(5)
        assert set(backend.search(vectors[0], 50)[0].tolist()) == set(labels.tolist())
        for k in (0, -1):
            assert len(backend.search(vectors[0], k)[0]) == 0
        assert len(self.make().search(vectors[0], 3)[0]) == 0

    def test_equal_similarities_come_larger_label_first(self):
        """Ties have one order."""
        backend = self.make()
        vector = unit_vectors(1)
        for label in (5, 9, 7):
            backend.add([label], vector)
        assert backend.search(vector[0], 3)[0].tolist() == [9, 7, 5]

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 2.0, 1e30])
    def test_unfit_vectors_are_refused_everywhere(self, bad):
        """A vector that is not finite or not of length 1 is neither added nor asked for."""
        backend, _, vectors = self.filled(3)
        broken = vectors.copy()
        broken[1, 0] = bad
        with pytest.raises(BadVector):
            backend.add([100, 101, 102], broken)
        with pytest.raises(BadVector):
            backend.search(broken[1], 1)
        assert len(backend) == 3

    def test_another_width_or_type_is_refused(self):
        """Wrong widths and dtypes raise instead of reading past a buffer."""
        backend, _, vectors = self.filled(3)
        for query in (vectors[0][:10], vectors[0].astype(np.float64), vectors):
            with pytest.raises(BadVector):
                backend.search(query, 1)
        with pytest.raises(BadVector):
            backend.add([50], vectors[:, :10])

    def test_bad_labels_are_refused_and_change_nothing(self):
        """Labels that are taken, doubled, zero or negative raise; nothing is half done."""
        backend, labels, vectors = self.filled(3)
        for wrong in ([labels[0], 50], [50, 50], [0, 50], [-1, 50]):
            with pytest.raises(BadLabel):
                backend.add(wrong, vectors[:2])
        assert backend.labels() == set(labels.tolist())
