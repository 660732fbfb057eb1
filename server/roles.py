"""The catalogue of this server, and the vectors of its examples: roles, situations, values of keys.

The catalogue is read before anything else is started, so that a broken file stops the server. Its
examples are embedded once per model and catalogue, beside calls, and kept in files of the cache
directory; until that is done no wording is taken for another one of a key's value, and the channel
is silent and says so in `degraded`.

It never ranks and never delays readiness. The file holds vectors of the catalogue's texts only,
nothing of any user; one that is damaged is made anew.
"""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recalld.index.batching import BatchingEmbedder
from recalld.index.errors import EmbedQueueFull
from recalld.index.key_values import values_hash
from recalld.index.role_catalogue import Catalogue
from recalld.index.roles import RoleAsk, RoleModel
from recalld.server.canonical import CanonicalValues, statements
from recalld.storage.fsio import Files

EMBED_COUNT = 4
"""Texts asked for at once: a slice that a recall may have to wait for."""
RETRY_S = 0.5
"""Pause when the embedder has no room: calls go first."""


@dataclass
class Roles:
    """What the server knows of roles.

    Attributes:
        catalogue: as configured.
        model: roles and situations with their vectors; None until these are ready.
        values: values of keys with their vectors; None until these are ready.
    """

    catalogue: Catalogue
    model: RoleModel | None = None
    values: CanonicalValues | None = None
    files: Files = field(default_factory=Files)

    async def prepare(self, embedder: BatchingEmbedder, folder: Path, log: Any) -> None:
        """Get the vectors, from the cache or from the embedder.

        Args:
            embedder: whose requests go first.
            folder: where the vectors are kept; one that cannot be written costs the next start
                the same work.
            log: told when vectors are made, and when they cannot be kept.
        """
        # Values first: there are fewer of them, and what is written meanwhile goes without.
        if self.catalogue.values:
            self.values = await self._values(embedder, folder, log)
        roles, situations = self.catalogue.roles, self.catalogue.situations
        memories = [text for role in roles.values() for text in role.memories]
        requests = [text for one in situations.values() for text in one.requests]
        path = folder / f"{embedder.fingerprint}-{self.catalogue.content_hash()}.npy"
        vectors = await self._vectors(embedder, path, (memories, requests), log)
        split = len(memories)
        self.model = await asyncio.to_thread(
            RoleModel, self.catalogue, vectors[:split], vectors[split:]
        )
        log.info("role catalogue ready", roles=len(roles), situations=len(situations))

    async def _values(self, embedder: BatchingEmbedder, folder: Path, log: Any) -> CanonicalValues:
        """Values of keys with their vectors."""
        entries = self.catalogue.values
        path = folder / f"{embedder.fingerprint}-values-{values_hash(entries)}.npy"
        vectors = await self._vectors(embedder, path, (statements(entries), []), log)
        log.info("canonical values ready", keys=len(entries))
        return CanonicalValues(entries, vectors)

    async def _vectors(
        self, embedder: BatchingEmbedder, path: Path, texts: tuple[list[str], list[str]], log: Any
    ) -> NDArray[np.float32]:
        """Vectors of memories and requests of the catalogue, from a file or from the embedder."""
        memories, requests = texts
        count = len(memories) + len(requests)
        kept = await asyncio.to_thread(_read, path, (count, embedder.dim))
        if kept is not None:
            return kept
        log.info("embedding the catalogue", texts=count)
        parts = [
            await _embed(embedder, memories, is_query=False),
            await _embed(embedder, requests, is_query=True),
        ]
        vectors = np.concatenate(parts)
        try:
            await asyncio.to_thread(self._write, path, vectors)
        except OSError as error:
            log.warning("catalogue vectors not kept", path=str(path), reason=error.strerror)
        return vectors

    def ask(self, vectors: NDArray[np.float32], weights: Sequence[float]) -> RoleAsk | None:
        """Read a request, its turns behind it; None without a model.

        Args:
            vectors: float32[q, >= dim], similarity part first.
            weights: float[q], in (0, 1].
        """
        if self.model is None:
            return None
        return self.model.ask(np.ascontiguousarray(vectors[:, : self.model.dim]), weights)

    def _write(self, path: Path, vectors: NDArray[np.float32]) -> None:
        """Keep vectors: whole under their name, or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        content = io.BytesIO()
        np.save(content, vectors, allow_pickle=False)
        # Servers that start at once each write a file of their own; the last one stays.
        fresh = path.with_suffix(f".{os.getpid()}.tmp")
        try:
            fresh.write_bytes(content.getvalue())
            self.files.sync_file(fresh)
            self.files.rename(fresh, path)
        finally:
            fresh.unlink(missing_ok=True)


def _read(path: Path, shape: tuple[int, int]) -> NDArray[np.float32] | None:
    """Kept vectors, if they are whole; float32 of that shape."""
    try:
        vectors = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    is_whole = vectors.shape == shape and vectors.dtype == np.float32
    lengths = np.linalg.norm(vectors, axis=1) if is_whole else np.zeros(1)
    return vectors if np.allclose(lengths, 1.0, atol=1e-3) else None


async def _embed(
    embedder: BatchingEmbedder, texts: list[str], *, is_query: bool
) -> NDArray[np.float32]:
    """Embed in small slices, leaving room and cache to calls; float32[n, dim]."""
    out = np.empty((len(texts), embedder.dim), dtype=np.float32)
    for start in range(0, len(texts), EMBED_COUNT):
        part = texts[start : start + EMBED_COUNT]
        while True:
            try:
                pending = embedder.submit(part, is_query=is_query)
                break
            except EmbedQueueFull:
                await asyncio.sleep(RETRY_S)
        vectors = await asyncio.wrap_future(pending)
        out[start : start + len(part)] = vectors[:, : embedder.dim]
        embedder.discard(part)
    return out
