"""Shares one embedder between many callers: a cache, a queue and small batches.

A lone request runs at once; there is no timer that waits for company. Requests that arrive while
the worker is busy are merged into its next run. Requests go before memories, and memories run in
small slices, so a request waits for at most one slice; after a few runs of requests one slice
runs all the same, so writers never starve. Owners (tenants) take turns, text by text.

It never embeds on the caller's thread and never keeps a text after its vector is made: the cache
is keyed by a digest, and by the owner, so that nobody learns from an answer's speed what others
asked. Invariants: one worker thread, from the constructor to `close`; the cache and the queue are
bounded; every future that `submit` returned is settled.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future

import numpy as np

from recalld.index.embed_job import Job, Vectors
from recalld.index.embedder import Embedder, width_of
from recalld.index.errors import EmbedderClosed, EmbedQueueFull
from recalld.index.pace import Pace
from recalld.index.turns import Turns, share_of
from recalld.index.vector_cache import VectorCache, key_of, normal_form

CACHE_MAX = 4096
QUEUE_TEXTS_MAX = 1024
# Measured with the default model on one core: texts a second hardly rise beyond these, while a
# request that has to wait for a run waits longer. 4 memories of 50 tokens take about 50 ms.
REQUESTS_PER_RUN_MAX = 8
MEMORIES_PER_RUN_MAX = 4
# So many runs of requests may pass waiting memories before one slice of these goes first.
REQUEST_RUNS_IN_A_ROW_MAX = 4


class BatchingEmbedder:
    """Embedder for a server, around another one, whose fingerprint and vectors it passes on.

    As far as the vectors of `inner` depend a little on the texts beside them, so do these. Texts
    are brought to Unicode NFC first, so two spellings of the same characters share one vector.

    Args:
        inner: does the work; only the worker thread calls its `embed`.
        cache_max: vectors kept, least recently used ones go first; >= 0.
        queue_texts_max: texts that may wait; >= 1.
        requests_per_run_max: requests merged into one run of `inner`; >= 1. At 1 the vector of
            a request never depends on its company, at the price of about 30 % of the
            throughput under load.
        memories_per_run_max: the same for memories; >= 1.
        is_shared: whether several owners use it; then none of them may fill the queue alone.

    Attributes:
        hits, misses: texts answered from the cache, and not.
        batches, texts: runs of `inner`, and texts in them.
        waiting: texts in the queue now.
        on_wait: told once per `submit`, quickly: whether of requests, and seconds in the queue.

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
        is_shared: bool = False,
    ) -> None:
        """Start the worker thread."""
        least = min(queue_texts_max, requests_per_run_max, memories_per_run_max)
        if cache_max < 0 or least < 1:
            raise ValueError("cache_max must be >= 0, the other limits >= 1")
        self.dim = inner.dim
        self.fingerprint = inner.fingerprint
        self.max_tokens = inner.max_tokens
        self.calibration, self.relevance = inner.calibration, inner.relevance
        self.base_model, self.requests = inner.base_model, inner.requests
        self.width = width_of(inner)
        self.hits = self.misses = self.batches = self.texts = self.waiting = 0
        self.on_wait: Callable[[bool, float], None] | None = None
        self._inner = inner
        self._queue_texts_max = queue_texts_max
        self._per_run_max = {True: requests_per_run_max, False: memories_per_run_max}
        self._is_shared = is_shared
        self._cache = VectorCache(cache_max)
        self._queues: dict[bool, Turns[Job]] = {True: Turns(), False: Turns()}
        self._waiting_of: Counter[str] = Counter()
        self._pace = {True: Pace(), False: Pace()}
        self._request_runs = 0
        self._is_closed = False
        self._changed = threading.Condition()
        self._worker = threading.Thread(target=self._work, name="recalld-embed", daemon=True)
        self._worker.start()

    def submit(
        self,
        texts: Sequence[str],
        *,
        is_query: bool,
        owner: str = "",
        within_s: float = math.inf,
    ) -> Future[Vectors]:
        """Ask for vectors without waiting.

        Args:
            texts: at most `queue_texts_max` texts.
            is_query: as for `Embedder.embed`.
            owner: whose turn it takes and whose cache it uses.
            within_s: seconds after which the vectors are of no use.

        Returns:
            A future of float32[len(texts), dim], an array of the caller's own. It is done
            already where every text was in the cache. When it is cancelled, texts that did not run
            yet never will.

        Raises:
            EmbedQueueFull: the queue, or the owner's share of it, has no room for all of these
                texts, or at its pace of late they would take longer; none was taken.
            EmbedderClosed: `close` was called.
        """
        normal = [normal_form(text) for text in texts]
        keys = [key_of(text, is_query, owner) for text in normal]
        out = np.empty((len(texts), self.width), np.float32)
        job = Job(owner, is_query, normal, keys, deque(), out, Future())
        with self._changed:
            if self._is_closed:
                raise EmbedderClosed("the embedder is closed")
            self._fill_from_cache(job)
            room = self._room(owner)
            if len(job.rows) > room:
                raise EmbedQueueFull(f"{len(job.rows)} texts to embed, room for {room}")
            if (wait_s := self._wait_s(job)) > max(0.0, within_s):
                raise EmbedQueueFull(f"the embedder is {wait_s:.1f} s behind", retry_after_s=wait_s)
            self.hits += len(texts) - len(job.rows)
            self.misses += len(job.rows)
            if job.rows:
                job.queued_s = time.monotonic()
                self._count(job, len(job.rows))
                self._queues[is_query].add(owner, job)
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
        return self._inner.count_tokens(normal_form(text))

    def discard(self, texts: Sequence[str]) -> None:
        """Drop the vectors of `texts` from the cache, for memories that must leave no trace."""
        with self._changed:
            self._cache.discard(texts)

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
            self._waiting_of.clear()
        for job in left:
            job.fail(EmbedderClosed("the embedder was closed"))

    def _room(self, owner: str) -> int:
        """Texts of an owner that may still come; its first ones are bound by the queue alone."""
        room = self._queue_texts_max - self.waiting
        own = self._waiting_of[owner]
        if not self._is_shared or not own:
            return room
        return min(room, share_of(self._queue_texts_max, len(self._waiting_of)) - own)

    def _wait_s(self, job: Job) -> float:
        """Seconds until a new job would be done.

        Behind nothing 0, or one slow run could turn everybody away and no run would correct it.
        """
        own, pace = len(job.rows), self._pace[job.is_query]
        ahead = pace.waiting if own else 0
        if not ahead:
            return 0.0
        if self._is_shared:
            others = len(self._waiting_of.keys() - {job.owner})
            ahead = min(ahead, self._waiting_of[job.owner] * (others + 1) + own * others)
        return pace.wait_s(ahead + own)

    def _count(self, job: Job, more: int) -> None:
        """Keep count of what waits; owners of whom nothing waits are not kept."""
        self.waiting += more
        self._pace[job.is_query].count(more, job.queued_s)
        self._waiting_of[job.owner] += more
        if not self._waiting_of[job.owner]:
            del self._waiting_of[job.owner]

    def _fill_from_cache(self, job: Job) -> None:
        for row, key in enumerate(job.keys):
            vector = self._cache.get(key)
            if vector is None:
                job.rows.append(row)
            else:
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

    def _take(self) -> list[tuple[Job, int]]:
        """Take the rows of the next run off the queue; the lock is held."""
        is_query = bool(self._queues[True])
        if is_query and self._queues[False] and self._request_runs >= REQUEST_RUNS_IN_A_ROW_MAX:
            is_query = False
        self._request_runs = self._request_runs + 1 if is_query and self._queues[False] else 0
        queue = self._queues[is_query]
        batch: list[tuple[Job, int]] = []
        while queue and len(batch) < self._per_run_max[is_query]:
            job = queue.first()
            if not job.is_wanted:
                self._count(job, -len(job.rows))
                queue.drop_first()
                continue
            batch.append((job, job.take_row(self.on_wait)))
            self._count(job, -1)
            if not job.rows:
                queue.drop_first()
            queue.pass_on(job.owner)
        return batch

    def _run(self, batch: Sequence[tuple[Job, int]]) -> None:
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
        for job in {id(job): job for job, _ in batch if not job.rows}.values():
            job.finish()

    def _embed_rows(self, batch: Sequence[tuple[Job, int]]) -> list[Vectors]:
        texts = {job.keys[row]: job.texts[row] for job, row in batch}
        result = self._inner.embed(list(texts.values()), is_query=batch[0][0].is_query)
        # Copies, so that a cached row does not keep its whole batch alive.
        made = {key: row.copy() for key, row in zip(texts, result, strict=True)}
        with self._changed:
            self.batches += 1
            self.texts += len(texts)
            self._pace[batch[0][0].is_query].ran(len(batch), time.monotonic())
            self._cache.update(made)
        return [made[job.keys[row]] for job, row in batch]

    def _drop(self, job: Job, error: Exception) -> None:
        with self._changed:
            if self._queues[job.is_query].remove(job.owner, job):
                self._count(job, -len(job.rows))
        job.fail(error)
