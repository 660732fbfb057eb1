"""A real recalld server for tests, on a free loopback port.

    from recalld.client import Client
    from recalld.client.testing import running_server

    def test_remembers():
        with running_server() as server, Client(server.target, user_id="u1") as memory:
            memory.remember("Allergic to peanuts", key="allergy")
            assert memory.get(key="allergy").content == "Allergic to peanuts"

Needs the server extra (`pip install recalld[server]`). The server runs as a subprocess of this
interpreter and is never imported; its log is kept in memory, the last lines only. The default
embedder is the model-free one, so that a test needs no model and gives the same answers anywhere.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

READY_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0
LOG_LINE_COUNT_MAX = 50


class ServerFailed(Exception):
    """Raised when the server ended or did not become ready in time; shows its last log lines."""


class RunningServer:
    """A server process.

    Attributes:
        target: Address it listens on; set anew by `restart`, same port if it is still free.
        data_dir: Its data directory; stays over `restart`.
        process: The running subprocess.
    """

    def __init__(self, args: Sequence[str], data_dir: Path, env: Mapping[str, str]) -> None:
        """Starts the server and waits until it is ready."""
        self._args = list(args)
        self._env = dict(env)
        self._log: deque[str] = deque(maxlen=LOG_LINE_COUNT_MAX)
        self.data_dir = data_dir
        self.target = ""
        self._start("127.0.0.1:0")

    def kill(self) -> None:
        """Ends the server with SIGKILL, as a crash would."""
        self.process.kill()
        self.process.wait(STOP_TIMEOUT_S)
        self._reader.join(STOP_TIMEOUT_S)

    def stop(self) -> int:
        """Ends the server with SIGTERM, waits for its orderly end, returns its exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            code = self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ServerFailed(self._message("did not stop on SIGTERM")) from None
        self._reader.join(STOP_TIMEOUT_S)
        return code

    def restart(self) -> None:
        """Starts it again on the same data directory and port, stopping it first if it runs."""
        if self.process.poll() is None:
            self.stop()
        self._start(self.target)

    def log_lines(self) -> list[str]:
        """Its last log lines, oldest first."""
        return list(self._log)

    def _start(self, listen: str) -> None:
        self._listening: str | None = None
        self._settled = threading.Event()
        self.process = subprocess.Popen(
            # The caller's arguments come last, so that a --listen among them wins.
            [sys.executable, "-m", "recalld.server", "serve", "--listen", listen, *self._args],
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        self._reader = threading.Thread(target=self._read_log, name="recalld-log", daemon=True)
        self._reader.start()
        is_settled = self._settled.wait(READY_TIMEOUT_S)
        if self._listening is None:
            state = "ended before it was ready" if is_settled else "was not ready in time"
            self.kill()
            raise ServerFailed(self._message(state))
        self.target = self._listening

    def _read_log(self) -> None:
        """Keeps the last lines and notes the ready line; ends when the server's log ends."""
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            for line in stream:
                self._log.append(line.rstrip("\n"))
                if self._listening is None and (listen := _ready_address(line)):
                    self._listening = listen
                    self._settled.set()
        self._settled.set()

    def _message(self, what: str) -> str:
        lines = "\n".join(self._log) or "(no log)"
        return f"recalld server {what}; its last log lines:\n{lines}"


def _ready_address(line: str) -> str | None:
    """The bound address, if the line is the server's JSON `ready` event."""
    if '"ready"' not in line:
        return None
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry.get("listen") if entry.get("event") == "ready" else None


@contextlib.contextmanager
def running_server(
    *,
    data_dir: str | Path | None = None,
    args: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    embedder: str = "hash",
) -> Iterator[RunningServer]:
    """Runs a server for the length of a `with` block.

    Args:
        data_dir: Where it keeps its data; None: a temporary directory, removed afterwards.
        args: Further arguments of `recalld serve`, for example `["--test-clock"]` or
            `["--listen", "unix:/path"]`.
        env: Environment variables beside those of this process.
        embedder: `hash` (no model) or `onnx`.

    Raises:
        ServerFailed: If it does not become ready within `READY_TIMEOUT_S`.
    """
    with contextlib.ExitStack() as stack:
        if data_dir is None:
            made = tempfile.TemporaryDirectory(prefix="recalld-test-", ignore_cleanup_errors=True)
            data_dir = stack.enter_context(made)
        arguments = ["--data-dir", str(data_dir), "--embedder", embedder, *args]
        server = RunningServer(arguments, Path(data_dir), {**os.environ, **(env or {})})
        stack.callback(server.stop)
        yield server
