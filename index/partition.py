"""PartitionIndex: all memories of one tenant's user, searchable.

It holds columns, words and vectors; texts stay in the store. Writers replace one reference to an
immutable generation; readers take it once and never wait. It never reads a clock, file or wire.

Invariants: one writer at a time (the caller's lock); a write that raises changed nothing; labels
are unique; columns, postings and vectors have the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from recalld.index.analyzer import Analyzer
from recalld.index.backend import split_vectors
from recalld.index.columns import IndexRow
from recalld.index.conditions import Filter
from recalld.index.cues import NO_CUES, CueVectors, check_cues
from recalld.index.embedder import RequestBackground
from recalld.index.errors import BadLabel
from recalld.index.filter import View, exclude
from recalld.index.generation import Generation, Reading
from recalld.index.graph import Graph, graph_bytes
from recalld.index.plan import QueryPlan, Ranking
from recalld.index.row_check import check_rows
from recalld.index.search import Searcher
from recalld.index.sketch import sketched
from recalld.index.time_channel import TimeAsked
from recalld.index.words import searched_text
from recalld.scoring.decay import factor_table
from recalld.scoring.params import RankParams

Vectors = tuple[NDArray[np.float32], ...]
EXACT_MAX = 500_000
# Rows below which compaction is not worth its copy, and the share of removed ones that is.
COMPACT_COUNT_MIN, REMOVED_SHARE_MAX = 64, 0.5


class PartitionIndex:
    """Index of one partition.

    Thread safety: any number of searches beside one writer.
    """

    def __init__(
        self,
        dim: int,
        params: RankParams,
        analyzer: Analyzer | None = None,
        exact_max: int = EXACT_MAX,
        requests: RequestBackground | None = None,
        fingerprint: str = "",
    ) -> None:
        """Make an empty partition.

        Args:
            dim: width of the vectors, > 0.
            params: numbers of the ranking, of the model that makes the vectors.
            analyzer: shared between partitions of one server; None makes an own one.
            exact_max: matches up to which every one is looked at.
            requests: background by which cues are compared; None: they are kept only.
            fingerprint: of that model.
        """
        self.dim, self.scale, self.fingerprint = dim, params.scales()[0], fingerprint
        self._parts = len(params.scales())
        tables = factor_table(params), factor_table(params, tentative=1.0)
        self._searcher = Searcher(params, analyzer or Analyzer(), exact_max, *tables)
        self.generation = Generation.empty(dim, self._parts, requests, fingerprint)

    def __len__(self) -> int:
        """Return the number of live rows."""
        return self.generation.columns.live_count

    def __contains__(self, label: int) -> bool:
        """Tell whether a label is live."""
        return self.generation.columns.row(label) >= 0

    @property
    def size_bytes(self) -> int:
        """Bytes of memory that it takes, estimated, a graph that it has or wants included."""
        graphed = len(self) if len(self) > self._searcher.exact_max else 0
        return self.generation.size_bytes + graph_bytes(graphed, self.dim)

    def read(self, texts: Sequence[str], text_weights: Sequence[float], time: TimeAsked) -> Reading:
        """Do the part of a search that needs no vector, while the vector is being made."""
        generation = self.generation
        return Reading(generation, self._searcher.read(generation, texts, text_weights, time))

    def search(self, plan: QueryPlan, reading: Reading | None = None) -> Ranking:
        """Find what matters; vectors of another model than the rows' are left out.

        Args:
            plan: the question.
            reading: what `read` said of the plan's texts; the rows are those of that moment.

        Returns:
            At most k hits, by score descending, then newer, then larger label; all that match when
            fewer than k do and `min_score` is 0.

        Raises:
            BadPlan: when the plan breaks a limit.
            BadVector: when a vector is unfit.
        """
        plan = plan.asked_of(self.fingerprint)
        plan.check(self.dim, self._parts)
        generation, words = self.generation.or_as_read(reading)
        return self._searcher.search(generation, plan, words)

    def match(self, view: View, condition: Filter) -> list[int]:
        """Return the labels of all rows that pass, without ranking, in the order of entry.

        Raises:
            BadPlan: when the filter is too large, or names a field that does not exist.
        """
        columns = self.generation.columns
        rows = np.flatnonzero(exclude(columns, view, condition) == 0)
        matched: list[int] = columns.labels[rows].tolist()
        return matched

    def vectors_of(self, labels: Sequence[int]) -> NDArray[np.float32]:
        """Return the vectors as they were added, all parts side by side, a copy.

        Raises:
            BadLabel: when a label is absent or named twice.
        """
        generation = self.generation
        self._present(labels)
        places = np.array([generation.columns.row(label) for label in labels], dtype=np.int64)
        return np.concatenate([block.vectors[places] for block in generation.blocks], axis=1)

    def cues_of(self, label: int) -> NDArray[np.float32]:
        """Return the vectors of a row's cues, float32[c, dim], a copy; none where it has none."""
        return self.generation.cues.vectors_of(label)

    def add(
        self, rows: Sequence[IndexRow], vectors: NDArray[np.float32], cues: CueVectors = NO_CUES
    ) -> None:
        """Add rows; all of them or, on any error, none.

        Args:
            rows: labels distinct and not present.
            vectors: float32[len(rows), dim] or, with a relevance part, twice as wide; see
                `recalld.index.backend.split_vectors`.
            cues: of those that have some.

        Raises:
            BadLabel: when a label is present, named twice or out of range, or has cues and no row.
            BadVector: when a vector is unfit.
            BadPlan: when a value of a row is out of range.
        """
        checked = split_vectors(vectors, len(rows), self.dim, self._parts)
        check_rows(rows)
        present = self.generation.columns
        for row in rows:
            if present.row(row.label) >= 0:
                raise BadLabel(f"label {row.label} is in the partition already")
        known = check_cues(cues, {row.label for row in rows}, self.dim)
        if rows:
            self.generation = self._appended(self.generation, rows, checked).with_cues(known)

    def update(self, rows: Sequence[IndexRow], cues: CueVectors = NO_CUES) -> None:
        """Change everything but text and vector of rows; all of them or none.

        Args:
            rows: labels distinct and present.
            cues: of those whose cues change; the others keep theirs.

        Raises:
            BadLabel: when a label is absent or named twice, or has cues and no row.
            BadVector: when a vector of a cue is unfit.
            BadPlan: when a value of a row is out of range.
        """
        check_rows(rows)
        known = check_cues(cues, {row.label for row in rows}, self.dim)
        generation = self.generation
        columns = generation.columns
        self._present([row.label for row in rows])
        keys, held = columns.dictionaries[0].values, columns.strings[0]
        renamed = [row for row in rows if keys[held[columns.row(row.label)]] != row.key]
        same = [row for row in rows if row not in renamed]
        if same:
            columns = columns.updated(same)
        generation = replace(generation, columns=columns)
        if renamed:
            # The key is among the words, so such a row is entered anew with its old vector.
            places = np.array([columns.row(row.label) for row in renamed])
            vectors = tuple(block.vectors[places] for block in generation.blocks)
            generation = self._exchanged(generation, renamed, vectors)
        self.generation = generation.with_cues(known)

    def replace(
        self, rows: Sequence[IndexRow], vectors: NDArray[np.float32], cues: CueVectors = NO_CUES
    ) -> None:
        """Change rows whole, text and vector included, in one step for readers; all or none.

        Args:
            rows: labels distinct and present.
            vectors: float32[len(rows), dim] or, with a relevance part, twice as wide; see
                `recalld.index.backend.split_vectors`.
            cues: of those whose cues change; the others keep theirs.

        Raises:
            BadLabel: when a label is absent, named twice or out of range, or has cues and no row.
            BadVector: when a vector is unfit.
            BadPlan: when a value of a row is out of range.
        """
        checked = split_vectors(vectors, len(rows), self.dim, self._parts)
        check_rows(rows)
        labels = [row.label for row in rows]
        known = check_cues(cues, labels, self.dim)
        self._present(labels)
        if rows:
            self.generation = self._exchanged(self.generation, rows, checked).with_cues(known)

    def remove(self, labels: Sequence[int]) -> None:
        """Remove rows; all of them or none. More than half removed: the rest is compacted.

        Raises:
            BadLabel: when a label is absent or named twice.
        """
        self._present(labels)
        if labels:
            left = self._removed(self.generation, labels)
            self.generation = replace(left, cues=left.cues.without(labels))

    @property
    def wants_graph(self) -> bool:
        """Tell whether there are more rows than an exact scan should take, and no fit graph."""
        generation = self.generation
        graph, columns = generation.graph, generation.columns
        is_large = len(self) > self._searcher.exact_max
        return is_large and (graph is None or graph.is_stale(columns))

    def build_graph(
        self, threads: int = 1, is_wanted: Callable[[], bool] = lambda: True
    ) -> Graph | None:
        """Build a graph over the present rows, without touching the partition.

        It may run beside searches and writes; hand the result to `attach_graph` under the writer's
        lock. For the arguments see `recalld.index.graph.Graph.build`.
        """
        generation = self.generation
        return Graph.build(generation.columns, generation.blocks[0], threads, is_wanted)

    def attach_graph(self, graph: Graph) -> bool:
        """Answer from a graph built before; False when the rows have got other numbers since."""
        is_fit = graph.fits(self.generation.columns)
        if is_fit:
            self.generation = replace(self.generation, graph=graph)
        return is_fit

    def _appended(
        self, generation: Generation, rows: Sequence[IndexRow], vectors: Vectors
    ) -> Generation:
        """Return the generation with checked rows added."""
        analyze = self._searcher.analyzer.analyze
        documents = [analyze(searched_text(row)) for row in rows]
        blocks = tuple(
            block.appended(part) for block, part in zip(generation.blocks, vectors, strict=True)
        )
        return replace(
            generation,
            columns=generation.columns.appended(rows),
            postings=generation.postings.appended(documents),
            blocks=blocks,
            sketch=sketched(generation.sketch, blocks[0]),
        )

    def _removed(self, generation: Generation, labels: Sequence[int]) -> Generation:
        """Return the generation without present rows, compacted when mostly removed."""
        places = [generation.columns.row(label) for label in labels]
        columns = generation.columns.removed(places)
        postings = generation.postings.removed(places)
        removed_count = columns.count - columns.live_count
        if columns.count < COMPACT_COUNT_MIN or removed_count <= REMOVED_SHARE_MAX * columns.count:
            return replace(generation, columns=columns, postings=postings)
        return replace(generation, columns=columns, postings=postings).compacted()

    def _exchanged(
        self, generation: Generation, rows: Sequence[IndexRow], vectors: Vectors
    ) -> Generation:
        """Return the generation with present rows entered anew."""
        removed = self._removed(generation, [row.label for row in rows])
        return self._appended(removed, rows, vectors)

    def _present(self, labels: Sequence[int]) -> None:
        """Check that labels are live and distinct."""
        if len(set(labels)) != len(labels):
            raise BadLabel("a label is named twice")
        for label in labels:
            if label not in self:
                raise BadLabel(f"label {label} is not in the partition")
