"""Renewals as a store takes and gives them: vectors of another model that wait for their place."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Renewal:
    """The vectors that a row would have under another model.

    Attributes:
        label: of the row; one renewal a row.
        fingerprint: of the model that made the vectors; not empty.
        source_hash: of the texts that they were made from, opaque here; not empty.
        vector: float32[dim], finite, C-contiguous, read-only when it comes from a store.
        cues: float32[c, dim], one row for each cue; None = the row has none.
    """

    label: int
    fingerprint: str
    source_hash: bytes
    vector: NDArray[np.float32]
    cues: NDArray[np.float32] | None = None


class RenewalStore(Protocol):
    """The part of a store that keeps renewals. They go with their rows when these are purged.

    Thread safety: every method may be called from any thread.
    """

    def put(self, renewals: Sequence[Renewal]) -> Future[None]:
        """Queues renewals behind the writes that wait; a later one of a row replaces an earlier.

        A renewal whose row is gone by then is not kept.

        Raises:
            StoreClosed, StoreFailed: nothing was queued.
        """
        ...

    def of_partition(self, tenant: str, user_id: str, fingerprint: str) -> list[Renewal]:
        """Returns the durable renewals of a partition for one model, in label order."""
        ...

    def apply(self, tenant: str, user_id: str, fingerprint: str) -> Future[int]:
        """Gives all rows of a partition the vectors of their renewals, which go; all or none.

        Revisions stay: nothing that a caller wrote changes.

        Args:
            tenant, user_id: the partition; every row of it has a renewal for the model.
            fingerprint: of the model.

        Returns:
            A future of how many rows got their vectors.
        """
        ...

    def foreign(self, fingerprint: str) -> list[tuple[str, str, int]]:
        """Returns tenant, user and count of rows whose vectors are not all of a model, ordered."""
        ...

    def fingerprints(self) -> dict[str, int]:
        """Returns the models of the rows' vectors, each with the width of its vectors."""
        ...

    def drop_others(self, fingerprint: str) -> int:
        """Removes the renewals for every other model, and those without a row; returns how many."""
        ...
