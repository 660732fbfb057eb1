"""The role channel: from the words of a request to the memories that its situation needs.

Request -> situations (by their example requests) -> how much each role matters -> rows (by the
example memories of each role, by key and by kind). It never embeds anything and knows nothing of
the texts themselves: it works on similarity vectors.

Invariants: a score lies in [0, 1] and means the same from query to query, the share of what a
memory is good for that this situation needs more than others do; a request or a memory unlike
every example scores 0.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from recalld.index.columns import KEY, Columns
from recalld.index.dictionary import Dictionary
from recalld.index.embedder import unit_rows
from recalld.index.growth import grown
from recalld.index.role_catalogue import Catalogue
from recalld.scoring import masks
from recalld.scoring.affinity import roles_into
from recalld.scoring.params import KIND_COUNT

Floats = NDArray[np.float32]
# Cosines (centred) this far apart differ by a factor of e in their shares.
TEMPERATURE = 0.06
# A text whose nearest example is no nearer than the first is like nothing in the catalogue, one
# that is as near as the second is surely like it; between them shares grow. Chosen so that raw
# dialogue, which the catalogue knows nothing of, gets scores below 0.01.
REQUEST_FADE = (0.3, 0.6)
MEMORY_FADE = (0.15, 0.5)
# A writer who gives a key has said what the memory is; the text may add a second role.
KEY_SHARE = 0.7
# The kind says less: a decision is also about something.
KIND_SHARE = 0.3
# Share of one situation from which it is named. With each example request left out in turn, 44 % of
# them get a name, and 31 % of these names are the very situation (docs/CATALOGUE.md).
RECOGNISED_MIN = 0.3
# Rows classified at once: bounds the table of row by example to a few megabytes.
CHUNK_COUNT = 512


@dataclass(frozen=True)
class Examples:
    """Example texts of some owners (roles or situations) as centred vectors.

    Attributes:
        vectors: float32[m, dim], unit length, the owners' one after the other.
        starts: int64[owners], first row of each owner; every owner has at least one.
        fade: cosines of the nearest example between which shares grow from 0 to all.
        centres: float32[languages, dim], mean vector of each language, unit length.
    """

    vectors: Floats
    starts: NDArray[np.int64]
    centres: Floats
    fade: tuple[float, float]

    @staticmethod
    def of(owners: Sequence[Sequence[str]], vectors: Floats, fade: tuple[float, float]) -> Examples:
        """Centre vectors.

        Args:
            owners: example texts of each owner.
            vectors: float32[m, dim], unit length, of all texts in their order.
            fade: see above.
        """
        texts = [text for owner in owners for text in owner]
        chinese = np.array([any("\u4e00" <= char <= "\u9fff" for char in text) for text in texts])
        parts = [vectors[mask] for mask in (chinese, ~chinese) if mask.any()]
        centres = np.stack([part.mean(axis=0) for part in parts])
        counts = [len(owner) for owner in owners]
        starts = np.cumsum([0, *counts[:-1]], dtype=np.int64)
        return Examples(_centred(vectors, centres), starts, centres, fade)

    def shares(self, vectors: Floats) -> Floats:
        """Say whose examples vectors are nearest to.

        Args:
            vectors: float32[n, dim], unit length.

        Returns:
            float32[n, owners], >= 0; rows sum to 1 where an example is near, to 0 where none is.
        """
        nearest = np.maximum.reduceat(
            _centred(vectors, self.centres) @ self.vectors.T, self.starts, axis=1
        )
        best = nearest.max(axis=1, keepdims=True)
        shares = np.exp((nearest - best) / np.float32(TEMPERATURE))
        low, high = self.fade
        sureness = np.clip((best - low) / (high - low), 0, 1)
        return np.asarray(shares * (sureness / shares.sum(axis=1, keepdims=True)), np.float32)


def _centred(vectors: Floats, centres: Floats) -> Floats:
    """Take off what all texts of a language share; each vector's is the nearest centre."""
    centre = centres[np.argmax(vectors @ centres.T, axis=1)]
    apart = vectors - centre
    # A text at the centre itself is like nothing in particular.
    apart[np.linalg.norm(apart, axis=1) == 0, 0] = 1.0
    return unit_rows(apart)


@dataclass(frozen=True)
class RoleAsk:
    """What one request wants of memories.

    Attributes:
        model: where the roles come from.
        weights: float32[roles], in [0, 1].
        situation: id of the recognised situation; "" = none.
    """

    model: RoleModel
    weights: Floats
    situation: str


class RoleModel:
    """A catalogue with the vectors of its examples; immutable.

    Thread safety: all methods.
    """

    def __init__(self, catalogue: Catalogue, memories: Floats, requests: Floats) -> None:
        """Lay out the tables.

        Args:
            catalogue: roles and situations.
            memories: float32[m, dim], unit vectors of all example memories, role by role.
            requests: float32[r, dim], unit vectors of all example requests, as requests.
        """
        roles, situations = catalogue.roles, catalogue.situations
        self.names = tuple(situations)
        self.role_count = len(roles)
        self.dim = memories.shape[1]
        examples = [role.memories for role in roles.values()]
        self._memories = Examples.of(examples, memories, MEMORY_FADE)
        examples = [one.requests for one in situations.values()]
        self._requests = Examples.of(examples, requests, REQUEST_FADE)
        place = {name: at for at, name in enumerate(roles)}
        table = np.zeros((len(situations), len(roles)), dtype=np.float32)
        for row, one in zip(table, situations.values(), strict=True):
            for name, weight in one.roles.items():
                row[place[name]] = weight
        # What matters everywhere says nothing here.
        self._table = np.maximum(table - table.mean(axis=0), 0)
        self._keys = catalogue.key_roles()
        self.kind_roles = np.full(KIND_COUNT, -1, dtype=np.int64)
        for at, role in enumerate(roles.values()):
            self.kind_roles[role.kinds] = at

    def ask(self, vectors: Floats, weights: Sequence[float]) -> RoleAsk:
        """Read a request.

        Args:
            vectors: float32[q, dim], the request first, then turns before it.
            weights: float[q], in (0, 1], of each.
        """
        shares = self._requests.shares(vectors)
        wanted = (shares @ self._table) * np.array(weights, dtype=np.float32)[:, None]
        best = int(np.argmax(shares[0]))
        is_known = shares[0, best] >= RECOGNISED_MIN
        return RoleAsk(self, wanted.max(axis=0), self.names[best] if is_known else "")

    def affinities(self, vectors: Floats) -> Floats:
        """Say what memories are good for, by their text: float32[n, roles], rows sum to 0..1."""
        return self._memories.shares(vectors)

    def role_of_key(self, key: str) -> int:
        """Return the role of the longest listed prefix of a dotted key, or -1."""
        name = key.lower()
        while name:
            if name in self._keys:
                return self._keys[name]
            name = name.rpartition(".")[0]
        return -1


@dataclass
class RoleRows:
    """Role affinities of a partition's rows, classified when somebody first asks.

    Not at write time: a server that gives the channel no weight must not pay for it. A row's text
    part depends on its vector alone, so it is made once; key and kind are looked up at each search,
    for they can change.

    Thread safety: all methods; rows are only ever appended.
    """

    rows: Floats = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    count: int = 0
    key_roles: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    lock: threading.Lock = field(default_factory=threading.Lock)

    def scores(self, ask: RoleAsk, vectors: Floats, columns: Columns) -> Floats:
        """Score every row.

        Args:
            ask: of a request; every ask of one partition must come from one model.
            vectors: float32[>= count, dim], similarity vectors of the rows.
            columns: of the same rows.

        Returns:
            float32[columns.count], in [0, 1].
        """
        with self.lock:
            rows = self._classified(ask.model, vectors, columns.count)
            key_roles = self._key_roles(ask.model, columns.dictionaries[KEY])
        scores = np.empty(columns.count, dtype=np.float32)
        by_key = columns.strings[KEY], key_roles
        by_kind = columns.small[masks.KIND], ask.model.kind_roles
        roles_into(rows, ask.weights, by_key, by_kind, KEY_SHARE, KIND_SHARE, scores)
        return scores

    def _classified(self, model: RoleModel, vectors: Floats, count: int) -> Floats:
        """Affinities float32[count, roles]; the lock is held."""
        if self.rows.shape[1] != model.role_count:
            self.rows = np.zeros((0, model.role_count), dtype=np.float32)
        if count > self.count:
            rows = grown(self.rows, self.count, count)
            for start in range(self.count, count, CHUNK_COUNT):
                end = min(start + CHUNK_COUNT, count)
                rows[start:end] = model.affinities(vectors[start:end])
            self.rows, self.count = rows, count
        return self.rows[:count]

    def _key_roles(self, model: RoleModel, keys: Dictionary) -> NDArray[np.int64]:
        """Role of each key number; the lock is held."""
        fresh = keys.values[len(self.key_roles) :]
        if fresh:
            roles = [model.role_of_key(key) for key in fresh]
            self.key_roles = np.append(self.key_roles, roles)
        return self.key_roles
