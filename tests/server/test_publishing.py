"""What readers see of a write once it is durable."""

from __future__ import annotations

import numpy as np
import pytest

from recalld.server import publishing
from recalld.server.claims import Claim
from recalld.server.partition import Partition
from tests.server.core import TENANT, Core, memory, texts

CONTENTS = [f"Shelf {i} holds the {thing}" for i in range(4) for thing in ("bread", "tea", "salt")]


async def _partition(core: Core) -> Partition:
    """The partition of the user that all tests write to."""
    return await core.partitions.open(TENANT, "u", core.caller())


@pytest.mark.parametrize("inline_max", [0, len(CONTENTS) - 1, len(CONTENTS)])
async def test_where_rows_are_indexed_changes_nothing(
    core: Core, inline_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the event loop and on a thread the same rows come into the index, with their vectors."""
    monkeypatch.setattr(publishing, "ADDED_INLINE_COUNT_MAX", inline_max)
    await core.remember("u", *map(memory, CONTENTS))
    partition = await _partition(core)
    labels = sorted(partition.records)
    alone = [core.embedder.embed([content], is_query=False) for content in CONTENTS]
    assert [partition.records[label].content for label in labels] == CONTENTS
    assert partition.index.generation.columns.labels.tolist() == labels
    np.testing.assert_array_equal(partition.index.vectors_of(labels), np.concatenate(alone))
    assert texts((await core.recall("u", CONTENTS[5], k=1)).hits) == [CONTENTS[5]]


async def test_texts_that_were_read_are_not_read_again(core: Core) -> None:
    """What planning read in a new text is kept with its row; an edit of the text drops it."""
    for content in ("I like tea", "I no longer like tea", "I like green tea"):
        await core.remember("u", memory(content))
    partition = await _partition(core)
    assert len(partition.signs) >= 2
    edited = next(label for label, r in partition.records.items() if r.content == "I like tea")
    await core.update("u", partition.records[edited].id, "content", content="I have no tea")
    for label, signs in partition.signs.items():
        assert signs == Claim(partition.records[label].content).signs
