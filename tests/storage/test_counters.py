"""The counters of labels and revisions."""

from __future__ import annotations

import pytest

from recalld.storage.counters import Counters
from recalld.storage.errors import StaleRevision, StoreBusy
from recalld.storage.store import WriteBatch
from tests.storage.samples import memory


def test_a_refused_batch_leaves_the_counters_alone() -> None:
    """When submitting raises, the same revision and labels can be used again."""
    counters = Counters(0, {"acme": 4})
    batch = WriteBatch("acme", 5, (memory(10, 5),))

    def refuse(batch: WriteBatch) -> None:
        raise StoreBusy("full")

    with pytest.raises(StoreBusy):
        counters.submit(batch, refuse)
    assert counters.allocate_labels(1) == range(1, 2)
    assert counters.submit(batch, lambda batch: batch.revision) == 5
    assert counters.allocate_labels(1) == range(11, 12)


def test_a_stale_batch_is_not_submitted() -> None:
    """A batch that does not follow its tenant's revision never reaches the writer."""
    counters = Counters(0, {"acme": 4})
    seen: list[WriteBatch] = []
    with pytest.raises(StaleRevision):
        counters.submit(WriteBatch("acme", 4, (memory(1, 4),)), seen.append)
    counters.submit(WriteBatch("acme", 4), seen.append)
    counters.submit(WriteBatch("zeta", 1), seen.append)
    assert [batch.revision for batch in seen] == [4, 1]
