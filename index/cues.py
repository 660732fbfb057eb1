"""Cues: situations in which a memory matters by its writer's word, as vectors of requests.

A request near a cue of a memory says that the memory's role matters now. The block of one
generation holds all its cues, each with the label of its memory; it knows nothing of texts, embeds
nothing and never ranks.

Invariants: a view never changes for a reader that holds it; a score lies in [0, 1], means the same
from request to request, and is 0 for a request no nearer than unrelated ones are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recalld.index.backend import check_vectors
from recalld.index.embedder import RequestBackground
from recalld.index.errors import BadLabel
from recalld.index.growth import grown
from recalld.scoring.affinity import cues_into, nearest_cues_into

if TYPE_CHECKING:
    from recalld.index.columns import Columns

Floats = NDArray[np.float32]
CueVectors = Mapping[int, Floats]
"""Label -> float32[c, dim], vectors of all its cues in their order; none: it has no cues now."""
NO_CUES: CueVectors = {}
# Spreads above the background of unrelated requests between which a score goes from 0 to 1;
# measured with the default model (docs/EVALUATION.md).
NEAR_FROM, NEAR_TO = 2.75, 4.0
COLUMNS = ("labels", "numbers", "vectors", "centres", "stretches")


@dataclass(frozen=True)
class CueScores:
    """What the cues say of a request, row by row.

    Attributes:
        cosines: float32[rows], of the cue that counts, what all requests share taken off; 0 where
            none does.
        scores: float32[rows], in [0, 1].
        numbers: int64[rows], place of that cue among those of its memory; -1 where none counts.
    """

    cosines: Floats
    scores: Floats
    numbers: NDArray[np.int64]


@dataclass(frozen=True)
class CueBlock:
    """Immutable view of cues, appended beyond `count`.

    Attributes:
        labels: int64[capacity], the memory of each cue.
        numbers: int64[capacity], its place among the cues of that memory.
        vectors: float32[capacity, dim], unit length, as embedded.
        centres: int64[capacity], the nearest centre of the background.
        stretches: float32[capacity], 1 over the length of what is left without that centre; 0 where
            nothing is.
        count: cues in use.
        background: of requests; None: cues are kept, and not compared.
    """

    labels: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    numbers: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    vectors: Floats = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    centres: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    stretches: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    count: int = 0
    background: RequestBackground | None = None

    @property
    def size_bytes(self) -> int:
        """Bytes of memory that the cues take."""
        return self.count * (4 * self.vectors.shape[1] + 28)

    def changed(self, cues: CueVectors) -> CueBlock:
        """Return the next view, in which some memories have these checked cues and no others."""
        kept = self.without(cues)
        given = {label: vectors for label, vectors in cues.items() if len(vectors)}
        if not given:
            return kept
        added = np.concatenate(list(given.values()))
        if kept.count == 0:
            kept = CueBlock(
                vectors=np.zeros((0, added.shape[1]), np.float32), background=self.background
            )
        end = kept.count + len(added)
        columns: dict[str, Any] = {
            name: grown(held, kept.count, end) for name, held in kept._columns().items()
        }
        block = replace(kept, **columns, count=end)
        new = slice(kept.count, end)
        counts = [len(vectors) for vectors in given.values()]
        block.labels[new] = np.repeat(list(given), counts)
        block.numbers[new] = np.concatenate([np.arange(count) for count in counts])
        block.vectors[new] = added
        if self.background is not None:
            centres = self.background.nearest(added)
            lengths = np.linalg.norm(added - self.background.centres[centres], axis=1)
            block.centres[new] = centres
            block.stretches[new] = np.divide(
                1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0
            )
        return block

    def without(self, labels: Collection[int]) -> CueBlock:
        """Return the view without the cues of some memories; itself where they have none."""
        if not self.count or not labels:
            return self
        stays = ~np.isin(self.labels[: self.count], list(labels))
        if stays.all():
            return self
        kept = np.flatnonzero(stays)
        columns = {name: held[kept] for name, held in self._columns().items()}
        return replace(self, **columns, count=len(kept))

    def _columns(self) -> dict[str, Any]:
        """What is held of each cue, by attribute."""
        return {name: getattr(self, name) for name in COLUMNS}

    def vectors_of(self, label: int) -> Floats:
        """Return the vectors of a memory's cues, float32[c, dim], a copy."""
        return self.vectors[: self.count][self.labels[: self.count] == label]

    def rows(self, columns: Columns) -> NDArray[np.int64]:
        """Return the row of each cue's memory, int64[count]; -1 where it is not live."""
        labels = self.labels[: self.count].tolist()
        return np.array([columns.row(label) for label in labels], dtype=np.int64)


def check_cues(cues: CueVectors, labels: Collection[int], dim: int) -> CueVectors:
    """Check cues on their way in.

    Args:
        cues: as given.
        labels: memories that are written.
        dim: width of a part of the vectors.

    Raises:
        BadLabel: when a label is not among `labels`.
        BadVector: when a vector is unfit.
    """
    for label in cues:
        if label not in labels:
            raise BadLabel(f"cues of label {label}, which is not written")
    return {label: check_vectors(rows, len(rows), dim) for label, rows in cues.items()}


def score_cues(
    block: CueBlock,
    rows: NDArray[np.int64],
    requests: tuple[Floats, tuple[float, ...]],
    row_count: int,
) -> CueScores | None:
    """Score every row by its nearest cue.

    Args:
        block: of a generation, with at least one cue, and a background.
        rows: int64[block.count], row of each cue's memory, -1 = none.
        requests: float32[q, dim] and a weight in (0, 1] of each: the request, then turns before it.
        row_count: rows of the generation.

    Returns:
        The scores, or None where no cue is near. Of equally near cues the first one counts.
    """
    assert block.background is not None
    background = block.background
    count = block.count
    cues = block.vectors[:count], block.centres[:count], block.stretches[:count]
    vectors, weights = requests
    asked = vectors, np.array(weights, dtype=np.float32)
    scale = np.array((background.scale.mean, background.scale.spread, NEAR_FROM, NEAR_TO))
    near = np.empty(count, np.float32), np.empty(count, np.float32)
    if not cues_into(cues, background.centres, asked, scale, *near):
        return None
    found = CueScores(
        np.zeros(row_count, np.float32),
        np.zeros(row_count, np.float32),
        np.full(row_count, -1, np.int64),
    )
    numbers = block.numbers[:count]
    nearest_cues_into(rows, numbers, near, found.cosines, found.scores, found.numbers)
    return found
