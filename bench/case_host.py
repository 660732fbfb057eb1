"""The server of a reported case: a shared one, or one of its own that may crash and start again."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Final

from recalld.bench.target import Target, connect, server_process

OTHER_EMBEDDER: Final = MappingProxyType({"onnx": "hash", "hash": "onnx"})


class Unsupported(Exception):
    """Raised when a case asks for something that cannot be mapped onto the server."""


class Host:
    """The server of a case: a shared one, or one of its own that can crash and start again."""

    def __init__(self, target: Target, restart: Callable[[str], Target] | None, embedder: str):
        """`restart` kills the server, starts it with an embedder, and returns the new stubs."""
        self.target = target
        self._restart = restart
        self._embedder = embedder

    def switch_embedder(self, width: str) -> None:
        """The next start uses another embedder, whose vectors differ in width."""
        if width != "different":
            raise Unsupported("no second embedder of the same width")
        self._embedder = OTHER_EMBEDDER[self._embedder]

    def restart(self) -> None:
        """Crash and start again on the same data."""
        if self._restart is None:
            raise Unsupported("this server is shared and must not be restarted")
        self.target = self._restart(self._embedder)


@contextmanager
def own_host(embedder: str) -> Iterator[Host]:
    """A server of its own on a temporary directory."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder, ExitStack() as running:

        def start(wanted: str) -> Target:
            server = running.enter_context(server_process(wanted, Path(folder)))
            running.callback(server.kill)
            return running.enter_context(connect(server.target))

        def restart(wanted: str) -> Target:
            running.close()  # the last server is killed before anything else
            return start(wanted)

        yield Host(start(embedder), restart, embedder)
