"""The in-memory store keeps the contract."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recalld.storage.memory_store import MemoryImage, MemoryStore
from tests.conformance.partition_contract import PartitionContract
from tests.conformance.purge_contract import PurgeContract
from tests.conformance.renewal_contract import RenewalContract
from tests.conformance.store_contract import Reopen, StoreContract
from tests.conformance.trace_contract import TraceContract


class TestMemoryStore(
    StoreContract, PartitionContract, TraceContract, PurgeContract, RenewalContract
):
    """The contract, on the oracle."""

    @pytest.fixture
    def reopen(self) -> Iterator[Reopen]:
        image, opened = MemoryImage(), []

        def open_again() -> MemoryStore:
            for store in opened:
                store.close()
            opened.append(MemoryStore(image))
            return opened[-1]

        yield open_again
        for store in opened:
            store.close()
