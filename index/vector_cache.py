"""Vectors of texts seen lately, each owner's apart.

It keeps digests, never texts. An owner's vectors answer that owner alone: nobody learns from the
speed of an answer what others asked. Least recently used ones go first, whoever's they are.

It knows no lock: the caller holds one. Invariant: at most `size_max` vectors are kept.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

DIGEST_BYTES = 16

Key = tuple[bytes, str]
"""Digest of a text in its role, and the owner."""


def normal_form(text: str) -> str:
    """Unicode NFC: two spellings of the same characters share one vector."""
    return unicodedata.normalize("NFC", text)


def key_of(normal_text: str, is_query: bool, owner: str) -> Key:
    """Key of a text that has its normal form."""
    role = b"request" if is_query else b"memory"
    data = normal_text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES, person=role).digest(), owner


class VectorCache:
    """A bounded cache; `size_max` >= 0, 0 keeps nothing."""

    def __init__(self, size_max: int) -> None:
        """Start empty."""
        self._size_max = size_max
        self._vectors: OrderedDict[Key, NDArray[np.float32]] = OrderedDict()
        self._owners: defaultdict[bytes, set[str]] = defaultdict(set)

    def get(self, key: Key) -> NDArray[np.float32] | None:
        """The vector of a text, which counts as used now; None when it is not kept."""
        vector = self._vectors.get(key)
        if vector is not None:
            self._vectors.move_to_end(key)
        return vector

    def update(self, vectors: Mapping[Key, NDArray[np.float32]]) -> None:
        """Keep vectors, and let go of the least recently used ones over the limit."""
        self._vectors.update(vectors)
        for digest, owner in vectors:
            self._owners[digest].add(owner)
        while len(self._vectors) > self._size_max:
            self._drop(next(iter(self._vectors)))

    def discard(self, texts: Iterable[str]) -> None:
        """Drop the vectors of texts in both roles, of every owner."""
        for text in map(normal_form, texts):
            for digest in {key_of(text, role, "")[0] for role in (True, False)}:
                for owner in list(self._owners.get(digest, ())):
                    self._drop((digest, owner))

    def _drop(self, key: Key) -> None:
        """Let go of one vector."""
        del self._vectors[key]
        digest, owner = key
        self._owners[digest].remove(owner)
        if not self._owners[digest]:
            del self._owners[digest]
