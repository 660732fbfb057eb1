"""Generation: everything of a partition at one moment, immutable."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from recalld.index.backend import IndexBackend
from recalld.index.columns import Columns
from recalld.index.evidence import Words
from recalld.index.exact import VectorBlock
from recalld.index.heirs import Heirs, find_heirs
from recalld.index.postings import Postings
from recalld.index.relation import Neighbours, find_neighbours
from recalld.index.roles import RoleRows


@dataclass(frozen=True)
class Generation:
    """What one search sees; immutable.

    Attributes:
        columns, postings, blocks: of the same rows; one block for each vector of a memory,
            similarity first.
        graph: approximate index over the live rows, or None.
        roles: what is known of the roles of the same rows.
    """

    columns: Columns
    postings: Postings
    blocks: tuple[VectorBlock, ...]
    graph: IndexBackend | None = None
    roles: RoleRows = field(default_factory=RoleRows)

    @cached_property
    def neighbours(self) -> Neighbours:
        """Rows that stand beside one another in a conversation; found when first asked for."""
        return find_neighbours(self.columns)

    @cached_property
    def is_of_turns(self) -> bool:
        """Whether most rows stand beside others in a conversation."""
        return 2 * len(self.neighbours.earlier) > self.columns.live_count

    @cached_property
    def heirs(self) -> Heirs:
        """Rows that stand for replaced ones; found when first asked for."""
        return find_heirs(self.columns)


class Reading(NamedTuple):
    """The rows of one moment, and what the words of a request say of them, if that is known."""

    generation: Generation
    words: Words | None = None
