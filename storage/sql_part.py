"""What every part of the store that has tables of its own is built from."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from recalld.storage.migrate import Connection
from recalld.storage.queries import Reader


class SqlPart:
    """The store's own means, bound for one part of it."""

    def __init__(
        self,
        connection: Connection,
        reader: Reader,
        run: Callable[[Callable[[], Any]], Future[Any]],
        synced: Callable[[], None],
    ) -> None:
        """Binds them.

        Args:
            connection: used on the writer's thread only.
            reader: for reads, from any thread.
            run: runs a job on the writer's thread.
            synced: makes a new log's name durable; called after a commit.
        """
        self._connection = connection
        self._reader = reader
        self._run = run
        self._synced = synced
