"""Storing a JSONL file in batches.

1. `scan` reads the whole file once: its hash, and every line checked, so that a bad line is known
   before anything is written.
2. `store` reads it again and sends batches of lines of one scope, each all or nothing.

A line that the server refuses is named by its number like one that cannot be read; with
`skip_bad` the rest of its batch is sent again without it.

Invariant: with `resume`, the id of a write depends only on the file's bytes, the lines in the
batch and the scope, so a second run repeats no write.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recalld.cli import exits, record
from recalld.client import Client, NewMemory, Remembered, errors

WRITE_TIMEOUT_S = 60.0
_FIELD_OF_MEMORY = re.compile(r"memories\[(\d+)\]\.?(.*)")


@dataclass(frozen=True, slots=True)
class Line:
    """A good line: its number from 1, and the record in it."""

    number: int
    record: record.Record


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file that was read once: hash of its bytes, number of good and bad lines."""

    path: Path
    file_hash: str
    good_count: int
    bad_count: int
    skip_bad: bool


@dataclass(slots=True)
class Tally:
    """What an import did: memories by outcome, and lines left out."""

    outcomes: Counter[str] = field(default_factory=Counter)
    bad_count: int = 0


def scan(path: Path, *, skip_bad: bool) -> CheckedFile:
    """Reads and checks a file; keeps none of it.

    Raises:
        Failure: If a line is bad and `skip_bad` is off; names the line and the fault.
        OSError: If the file cannot be read.
    """
    digest = hashlib.sha256()
    good_count = bad_count = 0
    with path.open("rb") as stream:
        for number, raw in enumerate(stream, start=1):
            digest.update(raw)
            try:
                good_count += _parse(number, raw) is not None
            except ValueError as error:
                _report_bad(number, str(error), skip_bad)
                bad_count += 1
    return CheckedFile(path, digest.hexdigest(), good_count, bad_count, skip_bad)


def _parse(number: int, raw: bytes) -> Line | None:
    """The record of a line; None for a blank one."""
    return Line(number, record.parse(raw.decode("utf-8"))) if raw.strip() else None


def _good_lines(path: Path) -> Iterator[Line]:
    """The good lines of a file; `scan` has already told of the others."""
    with path.open("rb") as stream:
        for number, raw in enumerate(stream, start=1):
            with contextlib.suppress(ValueError):
                line = _parse(number, raw)
                if line is not None:
                    yield line


def _report_bad(number: int, fault: str, skip_bad: bool) -> None:
    if not skip_bad:
        raise exits.Failure(f"line {number}: {fault}")
    exits.print_error(f"line {number}: {fault} (skipped)")


def store(client: Client, file: CheckedFile, *, batch_count: int, resume: bool) -> Tally:
    """Sends all good lines and counts what became of them.

    Raises:
        Failure: If the server refuses a line and `skip_bad` is off.
        RecalldError: If a call fails for another reason.
    """
    tally = Tally(bad_count=file.bad_count)
    with _progress(file.good_count) as advance:
        for batch in batches(_good_lines(file.path), batch_count):
            _store_batch(client, file, batch, tally, resume)
            advance(len(batch))
    return tally


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """A bar with the rate on a terminal, nothing elsewhere; gives the function that moves it."""
    if not sys.stderr.isatty():
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}/s"), Remaining())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("import", total=total, rate=0)

        def advance(count: int) -> None:
            bar.advance(task, count)
            bar.update(task, rate=round(bar.tasks[0].finished_speed or bar.tasks[0].speed or 0))

        yield advance


def batches(lines: Iterable[Line], batch_count: int) -> Iterator[list[Line]]:
    """Runs of up to `batch_count` lines, each run split by scope, in the order of the file."""
    source = iter(lines)
    while run := list(itertools.islice(source, batch_count)):
        by_scope: dict[tuple[tuple[str, str], ...], list[Line]] = {}
        for line in run:
            by_scope.setdefault(tuple(sorted(line.record.scope.items())), []).append(line)
        yield from by_scope.values()


def _store_batch(
    client: Client, file: CheckedFile, batch: list[Line], tally: Tally, resume: bool
) -> None:
    """Sends one batch; drops refused lines from it one by one where that is allowed."""
    remaining = list(batch)
    while remaining:
        scope = remaining[0].record.scope
        request_id = batch_id(file.file_hash, remaining, scope) if resume else None
        try:
            written = _send(client, remaining, scope, request_id)
        except errors.InvalidRequest as error:
            named = _FIELD_OF_MEMORY.fullmatch(error.field)
            if named is None or int(named[1]) >= len(remaining):
                raise
            refused = remaining.pop(int(named[1]))
            _report_bad(refused.number, str(error), file.skip_bad)
            tally.bad_count += 1
            continue
        tally.outcomes.update(str(result.outcome) for result in written.results)
        return


def _send(
    client: Client, lines: list[Line], scope: Mapping[str, str], request_id: str | None
) -> Remembered:
    memories: list[NewMemory] = [line.record.memory for line in lines]
    options: dict[str, Any] = dict(scope)
    if request_id is not None:
        options["request_id"] = request_id
    return client.remember(memories, timeout=WRITE_TIMEOUT_S, **options)


def batch_id(file_hash: str, lines: list[Line], scope: Mapping[str, str]) -> str:
    """The request id of a batch, 32 hex digits."""
    numbers = ",".join(str(line.number) for line in lines)
    text = "\0".join([file_hash, numbers, *(f"{k}={v}" for k, v in sorted(scope.items()))])
    return hashlib.sha256(text.encode()).hexdigest()[:32]
