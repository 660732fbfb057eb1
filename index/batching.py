"""Shares one embedder between many callers: a cache, a queue and small batches.

A lone request runs at once; there is no timer that waits for company. Requests that arrive while
the worker is busy are merged into its next run. Requests go before memories, and memories run in
small slices, so a request waits for at most one slice; after a few runs of requests one slice
runs all the same, so writers never starve.

It never embeds on the caller's thread and never keeps a text after its vector is made: the cache
is keyed by a digest. Invariants: one worker thread, started by the constructor and ended by
`close`; the cache and the queue are bounded; every future that `submit` returned is settled.
"""

from __future__ import annotations

import hashlib
import threading
import unicodedata
from collections import OrderedDict, deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recalld.index.embedder import Embedder, width_of
from recalld.index.errors import EmbedderClosed, EmbedQueueFull

CACHE_MAX = 4096
QUEUE_TEXTS_MAX = 1024
# Measured with the default model on one core: texts a second hardly rise beyond these, while a
# request that has to wait for a run waits longer. 4 memories of 50 tokens take about 50 ms.
REQUESTS_PER_RUN_MAX = 8
MEMORIES_PER_RUN_MAX = 4
# So many runs of requests may pass waiting memories before one slice of these goes first.
REQUEST_RUNS_IN_A_ROW_MAX = 4
DIGEST_BYTES = 16

Vectors = NDArray[np.float32]


@dataclass(eq=False, slots=True)
class _Job:
    """One `submit` call: the rows that are still to be filled, and where they go."""

    is_query: bool
    texts: list[str]
    keys: list[bytes]
    rows: deque[int]
    out: Vectors
    future: Future[Vectors]
    is_started: bool = False


class BatchingEmbedder:
    """Embedder for a server, around another one, whose fingerprint and vectors it passes on.

    As far as the vectors of `inner` depend a little on the texts beside them, so do these.

    Texts are normalised to Unicode NFC before anything else, so two spellings of the same
    characters share one vector.

    Args:
        inner: does the work; only the worker thread calls its `embed`.
        cache_max: vectors kept, least recently used ones go first; >= 0.
        queue_texts_max: texts that may wait; >= 1.
        requests_per_run_max: requests merged into one run of `inner`; >= 1. At 1 the vector of
            a request never depends on its company, at the price of about 30 % of the
            throughput under load.
        memories_per_run_max: the same for memories; >= 1.

    Attributes:
        hits, misses: texts answered from the cache, and not.
        batches, texts: runs of `inner`, and texts in them.
        waiting: texts in the queue now.

    Raises:
        ValueError: a limit is out of range.

    Thread safety: all methods; the counters may be read at any time.
    """

    def __init__(
        self,
        inner: Embedder,
        *,
        cache_max: int = CACHE_MAX,
        queue_texts_max: int = QUEUE_TEXTS_MAX,
        requests_per_run_max: int = REQUESTS_PER_RUN_MAX,
        memories_per_run_max: int = MEMORIES_PER_RUN_MAX,
    ) -> None:
        """Start the worker thread."""
        least = min(queue_texts_max, requests_per_run_max, memories_per_run_max)
        if cache_max < 0 or least < 1:
            raise ValueError("cache_max must be >= 0, the other limits >= 1")
        self.dim = inner.dim
        self.fingerprint = inner.fingerprint
        self.max_tokens = inner.max_tokens
        self.calibration = inner.calibration
        self.relevance = inner.relevance
        self.requests = inner.requests
        self.width = width_of(inner)
        self.hits = self.misses = self.batches = self.texts = self.waiting = 0
        self._inner = inner
        self._cache_max = cache_max
        self._queue_texts_max = queue_texts_max
        self._per_run_max = {True: requests_per_run_max, False: memories_per_run_max}
        self._cache: OrderedDict[bytes, Vectors] = OrderedDict()
        self._queues: dict[bool, deque[_Job]] = {True: deque(), False: deque()}
        self._request_runs = 0
        self._is_closed = False
        self._changed = threading.Condition()
        self._worker = threading.Thread(target=self._work, name="recalld-embed", daemon=True)
        self._worker.start()

    def submit(self, texts: Sequence[str], *, is_query: bool) -> Future[Vectors]:
        """Ask for vectors without waiting.

        Args:
            texts: at most `queue_texts_max` texts.
            is_query: as for `Embedder.embed`.

        Returns:
            A future of float32[len(texts), dim], an array of the caller's own. It is done
            already where every text was in the cache. It can be cancelled until its first run.

        Raises:
            EmbedQueueFull: the queue has no room for all of these texts; none was taken.
            EmbedderClosed: `close` was called.
        """
        normal = [unicodedata.normalize("NFC", text) for text in texts]
        keys = [_key(text, is_query) for text in normal]
        job = _Job(
            is_query,
            normal,
            keys,
            deque(),
            np.empty((len(texts), self.width), np.float32),
            Future(),
        )
        with self._changed:
            if self._is_closed:
                raise EmbedderClosed("the embedder is closed")
            self._fill_from_cache(job)
            room = self._queue_texts_max - self.waiting
            if len(job.rows) > room:
                raise EmbedQueueFull(f"{len(job.rows)} texts to embed, room for {room}")
            self.hits += len(texts) - len(job.rows)
            self.misses += len(job.rows)
            if job.rows:
                self.waiting += len(job.rows)
                self._queues[is_query].append(job)
                self._changed.notify()
                return job.future
        job.future.set_result(job.out)
        return job.future

    def embed(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        """Embed any number of texts and wait; several callers take turns, slice by slice.

        Raises:
            EmbedQueueFull: the queue has no room for the next slice.
            EmbedderClosed: `close` was called.
            BadVector: as for the inner embedder.
        """
        out = np.empty((len(texts), self.width), np.float32)
        step = min(self._per_run_max[is_query], self._queue_texts_max)
        for start in range(0, len(texts), step):
            part = texts[start : start + step]
            out[start : start + step] = self.submit(part, is_query=is_query).result()
        return out

    def count_tokens(self, text: str) -> int:
        """Count the tokens of `text` alone, on the caller's thread."""
        return self._inner.count_tokens(unicodedata.normalize("NFC", text))

    def discard(self, texts: Sequence[str]) -> None:
        """Drop the vectors of `texts` from the cache, for memories that must leave no trace."""
        with self._changed:
            for text in texts:
                normal = unicodedata.normalize("NFC", text)
                for is_query in (True, False):
                    self._cache.pop(_key(normal, is_query), None)

    def close(self) -> None:
        """Finish the current run, fail what waits with `EmbedderClosed`, end the worker."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._worker.join()
        with self._changed:
            left = [*self._queues[True], *self._queues[False]]
            for queue in self._queues.values():
                queue.clear()
            self.waiting = 0
        for job in left:
            _fail(job, EmbedderClosed("the embedder was closed"))

    def _fill_from_cache(self, job: _Job) -> None:
        for row, key in enumerate(job.keys):
            vector = self._cache.get(key)
            if vector is None:
                job.rows.append(row)
            else:
                self._cache.move_to_end(key)
                job.out[row] = vector

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(
                    lambda: self._is_closed or self._queues[True] or self._queues[False]
                )
                if self._is_closed:
                    return
                batch = self._take()
            if batch:
                self._run(batch)

    def _take(self) -> list[tuple[_Job, int]]:
        """Take the rows of the next run off the queue; the lock is held."""
        is_query = bool(self._queues[True])
        if is_query and self._queues[False] and self._request_runs >= REQUEST_RUNS_IN_A_ROW_MAX:
            is_query = False
        self._request_runs = self._request_runs + 1 if is_query and self._queues[False] else 0
        queue = self._queues[is_query]
        batch: list[tuple[_Job, int]] = []
        while queue and len(batch) < self._per_run_max[is_query]:
            job = queue[0]
            if not _is_wanted(job):
                self.waiting -= len(queue.popleft().rows)
                continue
            batch.append((job, job.rows.popleft()))
            self.waiting -= 1
            if not job.rows:
                queue.popleft()
        return batch

    def _run(self, batch: Sequence[tuple[_Job, int]]) -> None:
        try:
            vectors = self._embed_rows(batch)
        except Exception as error:
            jobs = {id(job): job for job, _ in batch}
            if len(jobs) == 1:
                self._drop(batch[0][0], error)
                return
            # One caller's text must not fail the others that were merged with it.
            for own in jobs.values():
                self._run([(job, row) for job, row in batch if job is own])
            return
        for (job, row), vector in zip(batch, vectors, strict=True):
            job.out[row] = vector
        # Only this thread takes rows, and a job's last row is always in its last batch.
        for job in {id(job): job for job, _ in batch}.values():
            if not job.rows:
                job.future.set_result(job.out)

    def _embed_rows(self, batch: Sequence[tuple[_Job, int]]) -> list[Vectors]:
        texts = {job.keys[row]: job.texts[row] for job, row in batch}
        result = self._inner.embed(list(texts.values()), is_query=batch[0][0].is_query)
        # Copies, so that a cached row does not keep its whole batch alive.
        made = {key: row.copy() for key, row in zip(texts, result, strict=True)}
        with self._changed:
            self.batches += 1
            self.texts += len(texts)
            self._cache.update(made)
            while len(self._cache) > self._cache_max:
                self._cache.popitem(last=False)
        return [made[job.keys[row]] for job, row in batch]

    def _drop(self, job: _Job, error: Exception) -> None:
        with self._changed:
            queue = self._queues[job.is_query]
            if job in queue:
                queue.remove(job)
                self.waiting -= len(job.rows)
        _fail(job, error)


def _key(normal_text: str, is_query: bool) -> bytes:
    role = b"request" if is_query else b"memory"
    return hashlib.blake2b(
        normal_text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES, person=role
    ).digest()


def _is_wanted(job: _Job) -> bool:
    """Say whether anybody still waits for the job; from its first run on it cannot be cancelled."""
    if not job.is_started:
        job.is_started = job.future.set_running_or_notify_cancel()
    return job.is_started


def _fail(job: _Job, error: Exception) -> None:
    if _is_wanted(job):
        job.future.set_exception(error)
