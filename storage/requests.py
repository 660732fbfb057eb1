"""The answers of the last hours, in memory, bounded.

It never expires anything by itself: the store prunes by time. When it had to drop an answer for
space, `complete` turns false and the store must also look on disk.

Invariants: holds at most `count_max` answers and `bytes_max` bytes of them; while `complete`,
it holds every durable answer.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from recalld.storage.store import StoredRequest

REQUEST_COUNT_MAX = 65_536
REQUEST_BYTES_MAX = 64 * 1024 * 1024
REQUEST_OVERHEAD_BYTES = 512


class RecentRequests:
    """A bounded map from (tenant, request id) to the answer; the oldest entry gives way.

    Attributes:
        complete: no durable answer is missing here.

    Thread safety: every method may be called from any thread.
    """

    def __init__(
        self, count_max: int = REQUEST_COUNT_MAX, bytes_max: int = REQUEST_BYTES_MAX
    ) -> None:
        """Starts empty and complete; both limits are > 0."""
        assert count_max > 0
        assert bytes_max > 0
        self.count_max = count_max
        self.bytes_max = bytes_max
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, str], StoredRequest] = {}
        self._size_bytes = 0
        self.complete = True

    def add(self, requests: Iterable[StoredRequest]) -> None:
        """Remembers answers, oldest first, replacing those of equal keys."""
        with self._lock:
            for request in requests:
                key = (request.tenant, request.request_id)
                self._drop(key)
                self._requests[key] = request
                self._size_bytes += _size_bytes(request)
                while len(self._requests) > self.count_max or self._size_bytes > self.bytes_max:
                    self._drop(next(iter(self._requests)))
                    self.complete = False

    def find(self, tenant: str, request_id: str) -> StoredRequest | None:
        """Returns the answer if it is held here."""
        with self._lock:
            return self._requests.get((tenant, request_id))

    def may_have(self, tenant: str, request_id: str) -> bool:
        """Tells whether there may be a durable answer of this key."""
        return not self.complete or self.find(tenant, request_id) is not None

    def discard(self, keys: Iterable[tuple[str, str]]) -> None:
        """Drops the answers of these (tenant, request id), where they are held."""
        with self._lock:
            for key in keys:
                self._drop(key)

    def prune(self, before_us: int) -> None:
        """Drops answers with `create_time_us < before_us`."""
        with self._lock:
            old = [key for key, held in self._requests.items() if held.create_time_us < before_us]
            for key in old:
                self._drop(key)

    def _drop(self, key: tuple[str, str]) -> None:
        request = self._requests.pop(key, None)
        if request is not None:
            self._size_bytes -= _size_bytes(request)


def request_size_bytes(response_bytes: int, hash_bytes: int) -> int:
    """Returns what one answer counts against the limit; the overhead covers its texts."""
    return response_bytes + hash_bytes + REQUEST_OVERHEAD_BYTES


def _size_bytes(request: StoredRequest) -> int:
    return request_size_bytes(len(request.response), len(request.body_hash))
