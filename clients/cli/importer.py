"""Storing the good lines of a checked file in batches.

Each batch holds lines of one scope and is stored all or nothing. A line that the server refuses
all the same is named by its number like one that cannot be read; with `skip_bad` the rest of its
batch is sent again without it.

Invariants: with `resume`, the id of a write depends only on the file's bytes, the lines in the
batch and the scope they are stored under, so a second run repeats no write and another user's
import is another write; the tally is right whenever `store` ends, also by an exception, but for
the one batch in flight.
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
from typing import Any

from recalld.cli.checked_file import CheckedFile, Line, good_lines, report_bad
from recalld.client import Client, NewMemory, Remembered, errors

WRITE_TIMEOUT_S = 60.0
REFUSED = "rejected"
"""How outcomes begin that store nothing."""
_FIELD_OF_MEMORY = re.compile(r"memories\[(\d+)\]\.?(.*)")


@dataclass(slots=True)
class Tally:
    """What an import did.

    Attributes:
        outcomes: Memories that this run wrote, by outcome.
        repeated_count: Memories whose write an earlier run had done; the server gave its answer
            of then and wrote nothing.
        bad_count: Lines left out.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    repeated_count: int = 0
    bad_count: int = 0

    def stored_count(self) -> int:
        """Memories that are stored for sure, by this run or an earlier one."""
        refused = (count for name, count in self.outcomes.items() if name.startswith(REFUSED))
        return self.outcomes.total() - sum(refused) + self.repeated_count


def store(
    client: Client, file: CheckedFile, tally: Tally, *, batch_count: int, resume: bool
) -> None:
    """Sends all good lines and counts in `tally` what became of them.

    Raises:
        Failure: If the server refuses a line and bad ones are not skipped.
        RecalldError: If a call fails for another reason.
    """
    # An answer that names no later revision than this one was given to an earlier run.
    start_revision = client.stats(file.terms.scope.get("user_id")).revision if resume else 0
    with _progress(file.good_count) as advance:
        for batch in batches(good_lines(file), batch_count):
            written = _store_batch(client, file, batch, tally, resume)
            if written is not None:
                if 0 < written.revision <= start_revision:
                    tally.repeated_count += len(written.results)
                else:
                    tally.outcomes.update(str(result.outcome) for result in written.results)
            advance(len(batch))


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
) -> Remembered | None:
    """Sends one batch; drops refused lines from it one by one where that is allowed."""
    remaining = list(batch)
    while remaining:
        scope = remaining[0].record.scope
        request_id = batch_id(file.file_hash, remaining, scope) if resume else None
        try:
            return _send(client, remaining, scope, request_id)
        except errors.InvalidRequest as error:
            named = _FIELD_OF_MEMORY.fullmatch(error.field)
            if named is None or int(named[1]) >= len(remaining):
                raise
            refused = remaining.pop(int(named[1]))
            report_bad(refused.number, str(error), file.terms)
            tally.bad_count += 1
    return None


def _send(
    client: Client, lines: list[Line], scope: Mapping[str, str], request_id: str | None
) -> Remembered:
    memories: list[NewMemory] = [line.record.memory for line in lines]
    options: dict[str, Any] = dict(scope)
    if request_id is not None:
        options["request_id"] = request_id
    return client.remember(memories, timeout=WRITE_TIMEOUT_S, **options)


def batch_id(file_hash: str, lines: list[Line], scope: Mapping[str, str]) -> str:
    """The request id of a batch, 32 hex digits; `scope` is the whole one, defaults included."""
    numbers = ",".join(str(line.number) for line in lines)
    text = "\0".join([file_hash, numbers, *(f"{k}={v}" for k, v in sorted(scope.items()))])
    return hashlib.sha256(text.encode()).hexdigest()[:32]
