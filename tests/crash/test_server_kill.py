"""Kill -9 of a real server under concurrent writers, aimed at the phases of its life.

`CRASH_ROUNDS` sets the number of kills; they go round through the phases. With it set, each kill is
told as it comes, with its seed.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from recalld.client.testing import RunningServer, running_server
from tests.crash import phases
from tests.crash.ledger import Writer, Writers
from tests.server.stubs import Stubs

WRITER_COUNT = 4
KILL_COUNT = int(os.environ.get("CRASH_ROUNDS", "6"))
START_KILL_COUNT = max(2, KILL_COUNT // 4)
RENEW_EVERY = 60
"""Kills after which the data directory is a new one, so that checks stay short."""
PHASES = (*phases.WHILE_WRITING, *phases.ALONE)
SEED = 1
Tell = Callable[[str], None]


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Tell:
    """Writes a line of progress past pytest, where the number of rounds was asked for."""

    def write(line: str) -> None:
        if "CRASH_ROUNDS" in os.environ:
            with capsys.disabled():
                sys.stderr.write(f"{line}\n")

    return write


def kill_once(server: RunningServer, writers: list[Writer], number: int) -> None:
    """One kill in one phase, the restart, and the check of every promise."""
    choose = random.Random(SEED * 1_000_000 + number)
    phase = PHASES[number % len(PHASES)]
    if phase in phases.WHILE_WRITING:
        with Writers(writers, server.target):
            phase(server, choose)
    else:
        phase(server, choose)
    if server.process.poll() is not None:
        server.restart()
    with Stubs(server.target) as stubs:
        for writer in writers:
            writer.check(stubs)


def test_a_kill_in_any_phase_loses_nothing_acknowledged(tmp_path: Path, tell: Tell) -> None:
    """After each kill the server is ready, every promise is kept, and no batch is half there."""
    total = 0
    for first in range(0, KILL_COUNT, RENEW_EVERY):
        writers = [Writer(number) for number in range(WRITER_COUNT)]
        with running_server(data_dir=tmp_path / str(first)) as server:
            for number in range(first, min(first + RENEW_EVERY, KILL_COUNT)):
                kill_once(server, writers, number)
                count = sum(len(writer.acknowledged) for writer in writers)
                phase = PHASES[number % len(PHASES)].__name__
                tell(f"kill {number + 1} of {KILL_COUNT}: {phase}, {total + count} acknowledged")
            assert server.stop() == 0
        total += count
    assert total > WRITER_COUNT * KILL_COUNT


def test_a_kill_during_a_start_is_made_good_by_the_next(tmp_path: Path, tell: Tell) -> None:
    """A first start, or the raising of an old format, that was killed is completed, rows whole."""
    for number in range(START_KILL_COUNT):
        phase = phases.STARTS[number % len(phases.STARTS)]
        phase(tmp_path / f"start{number}", random.Random(SEED * 2_000_000 + number))
        tell(f"kill {number + 1} of {START_KILL_COUNT} starts: {phase.__name__}")
