"""Generation: everything of a partition at one moment, immutable."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recalld.index.columns import Columns
from recalld.index.cues import CueBlock, CueVectors
from recalld.index.embedder import RequestBackground
from recalld.index.evidence import Words
from recalld.index.exact import VectorBlock
from recalld.index.graph import Graph
from recalld.index.heirs import Heirs, find_heirs
from recalld.index.postings import Postings
from recalld.index.relation import Neighbours, find_neighbours
from recalld.index.roles import RoleRows
from recalld.index.sketch import SketchBlock
from recalld.scoring import masks
from recalld.scoring.params import ACTIVE, CONFLICTED, DOCUMENT, EVENT, Makeup


@dataclass(frozen=True)
class Generation:
    """What one search sees; immutable.

    Attributes:
        columns, postings, blocks: of the same rows; one block for each vector of a memory,
            similarity first.
        graph: approximate index over rows of the same numbers, or None.
        roles: what is known of the roles of the same rows.
        cues: of the same memories, by label.
        fingerprint: of the model that made the vectors.
        sketch: of the same rows' similarity vectors; None where there are few.
    """

    columns: Columns
    postings: Postings
    blocks: tuple[VectorBlock, ...]
    graph: Graph | None = None
    roles: RoleRows = field(default_factory=RoleRows)
    cues: CueBlock = field(default_factory=CueBlock)
    fingerprint: str = ""
    sketch: SketchBlock | None = None

    @staticmethod
    def empty(
        dim: int, parts: int, requests: RequestBackground | None, fingerprint: str
    ) -> Generation:
        """Return a generation without rows, for `parts` vectors of width `dim` each."""
        return Generation(
            Columns.empty(),
            Postings(),
            tuple(VectorBlock.empty(dim) for _ in range(parts)),
            cues=CueBlock(background=requests),
            fingerprint=fingerprint,
        )

    def or_as_read(self, reading: Reading | None) -> Reading:
        """Return what was read, or, where that is of another model or nothing, this generation."""
        if reading is None or reading.generation.fingerprint != self.fingerprint:
            return Reading(self)
        return reading

    @property
    def size_bytes(self) -> int:
        """Bytes of memory that the rows take, estimated; the graph is apart."""
        rows = self.columns.size_bytes + self.postings.size_bytes + self.roles.rows.nbytes
        sketch = 0 if self.sketch is None else self.sketch.size_bytes
        blocks = sum(block.size_bytes for block in self.blocks)
        return rows + self.cues.size_bytes + blocks + sketch

    def compacted(self) -> Generation:
        """Return the generation with its live rows only, without a graph.

        Rows get other numbers, which end the graph: it is built anew when wanted.
        """
        kept = np.flatnonzero(self.columns.alive[: self.columns.count])
        return Generation(
            self.columns.compacted(kept),
            self.postings.compacted(kept),
            tuple(block.compacted(kept) for block in self.blocks),
            cues=self.cues,
            fingerprint=self.fingerprint,
            sketch=None if self.sketch is None else self.sketch.compacted(kept),
        )

    def with_cues(self, cues: CueVectors) -> Generation:
        """Return the generation in which some memories have other cues; itself where none has."""
        return replace(self, cues=self.cues.changed(cues)) if cues else self

    @cached_property
    def current(self) -> NDArray[np.bool_]:
        """Whether each row is live and ACTIVE or CONFLICTED, bool[count]; found when asked for."""
        count = self.columns.count
        status = self.columns.small[masks.STATUS, :count]
        return (self.columns.alive[:count] == 1) & ((status == ACTIVE) | (status == CONFLICTED))

    @cached_property
    def neighbours(self) -> Neighbours:
        """Rows that stand beside one another in a conversation; found when first asked for."""
        return find_neighbours(self.columns)

    @cached_property
    def cue_rows(self) -> NDArray[np.int64]:
        """Row of each cue's memory, -1 where it is not live; found when first asked for."""
        return self.cues.rows(self.columns)

    @cached_property
    def makeup(self) -> Makeup:
        """What most rows are."""
        if 2 * len(self.neighbours.earlier) > self.columns.live_count:
            return Makeup.TURNS
        kinds = self.columns.small[masks.KIND, : self.columns.count]
        is_event = ((kinds == EVENT) | (kinds == DOCUMENT)) & (self.columns.alive[: len(kinds)] > 0)
        is_most = 2 * np.count_nonzero(is_event) > self.columns.live_count
        return Makeup.EVENTS if is_most else Makeup.STATEMENTS

    @cached_property
    def heirs(self) -> Heirs:
        """Rows that stand for replaced ones; found when first asked for."""
        return find_heirs(self.columns)


class Reading(NamedTuple):
    """The rows of one moment, and what the words of a request say of them, if that is known."""

    generation: Generation
    words: Words | None = None
