"""What every store does with renewals; a test module subclasses this and supplies `reopen`."""

import numpy as np

from recalld.storage.purge import PurgeOrder
from recalld.storage.renewal import Renewal
from recalld.storage.store import WriteBatch
from tests.conformance.purge_contract import before_and_after
from tests.conformance.store_contract import Reopen
from tests.storage.samples import memory


def renewal(label: int, model: str = "model-2", *, seed: int = 0, cue_count: int = 0) -> Renewal:
    """A renewal of a row, with other vectors for each seed."""
    random = np.random.default_rng(100 * label + seed)
    cues = random.random((cue_count, 3)).astype(np.float32) if cue_count else None
    return Renewal(label, model, b"hash-%d" % seed, random.random(6).astype(np.float32), cues)


def plain(one: Renewal) -> tuple[object, ...]:
    """A form that compares by value."""
    cues = None if one.cues is None else (one.cues.shape, one.cues.tobytes())
    return one.label, one.fingerprint, one.source_hash, one.vector.tobytes(), cues


class RenewalContract:
    """Facts about renewals."""

    def test_renewals_stay(self, reopen: Reopen) -> None:
        """Renewals come back after a restart, by partition and model; the last of a row wins."""
        store = reopen()
        rows = (
            memory(1, 1),
            memory(2, 1, relevant_when=("a", "b"), cues=np.zeros((2, 4), np.float32)),
            memory(3, 1, user_id="bob"),
        )
        store.write(WriteBatch("acme", 1, rows))
        made = [renewal(1), renewal(2, cue_count=2), renewal(3), renewal(4)]
        store.renewals.put(made).result()
        store.renewals.put([again := renewal(1, seed=1)]).result()
        store = reopen()
        kept = store.renewals.of_partition("acme", "ann", "model-2")
        assert [plain(one) for one in kept] == [plain(again), plain(made[1])]
        assert [one.label for one in store.renewals.of_partition("acme", "bob", "model-2")] == [3]
        assert store.renewals.of_partition("acme", "ann", "model-3") == []
        assert store.check() == []

    def test_applied_renewals_are_the_rows_vectors(self, reopen: Reopen) -> None:
        """Applied renewals replace vectors, cues and model of one partition, and nothing else."""
        store = reopen()
        cues = np.zeros((1, 4), np.float32)
        rows = (memory(1, 1, relevant_when=("a",), cues=cues), memory(2, 1, user_id="bob"))
        store.write(WriteBatch("acme", 1, rows))
        made = renewal(1, cue_count=1)
        store.renewals.put([made, renewal(2)]).result()
        assert store.renewals.foreign("model-2") == [("acme", "ann", 1), ("acme", "bob", 1)]
        assert store.renewals.apply("acme", "ann", "model-2").result() == 1
        store = reopen()
        first, second = store.load()
        assert first.record == rows[0].record and second.record == rows[1].record
        assert first.vector is not None and first.vector.tobytes() == made.vector.tobytes()
        assert first.cues is not None and made.cues is not None
        assert first.cues.tobytes() == made.cues.tobytes()
        assert (first.fingerprint, second.fingerprint) == ("model-2", "model-1")
        assert store.renewals.of_partition("acme", "ann", "model-2") == []
        assert len(store.renewals.of_partition("acme", "bob", "model-2")) == 1
        assert store.revisions() == {"acme": 1}
        assert store.check() == []

    def test_foreign_rows_are_counted(self, reopen: Reopen) -> None:
        """Rows of another model, without a vector or without those of their cues are foreign."""
        store = reopen()
        cues = np.zeros((1, 4), np.float32)
        rows = (
            memory(1, 1),
            memory(2, 1, vector=None, user_id="bob"),
            memory(3, 1, relevant_when=("a",)),
            memory(4, 1, relevant_when=("a",), cues=cues),
        )
        store.write(WriteBatch("acme", 1, rows))
        assert store.renewals.foreign("model-1") == [("acme", "ann", 1), ("acme", "bob", 1)]
        assert store.renewals.foreign("model-9") == [("acme", "ann", 3), ("acme", "bob", 1)]
        assert store.renewals.fingerprints() == {"model-1": 4}

    def test_renewals_for_other_models_go(self, reopen: Reopen) -> None:
        """Renewals for a model that is not wanted any more can be dropped."""
        store = reopen()
        store.write(WriteBatch("acme", 1, (memory(1, 1), memory(2, 1))))
        store.renewals.put([renewal(1), renewal(2, "model-3")]).result()
        assert store.renewals.drop_others("model-2") == 1
        store = reopen()
        assert len(store.renewals.of_partition("acme", "ann", "model-2")) == 1
        assert store.renewals.of_partition("acme", "ann", "model-3") == []

    def test_a_purge_takes_renewals_along(self, reopen: Reopen) -> None:
        """The renewal of a purged row goes with it; those of other rows stay."""
        store = reopen()
        rows = (memory(1, 1), memory(2, 1))
        store.write(WriteBatch("acme", 1, rows))
        store.renewals.put([renewal(1), renewal(2)]).result()
        order = PurgeOrder("f" * 32, "ann", 5, (rows[0].record,), False, frozenset())
        store.write(WriteBatch("acme", 2, purge=order))
        for opened in before_and_after(store, reopen):
            left = opened.renewals.of_partition("acme", "ann", "model-2")
            assert [one.label for one in left] == [2]
            assert opened.check() == []
