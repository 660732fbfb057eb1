"""A JSONL file of memories, read and checked before anything of it is stored.

1. `readable` makes a pipe a file, since a file is read twice.
2. `scan` reads it once: its hash, and every line checked as the server would, so that a bad line
   is known before anything is written. It keeps no line.
3. `good_lines` reads it again, with the scope that each line is stored under.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from recalld.cli import exits, limits, record


@dataclass(frozen=True, slots=True)
class Terms:
    """How lines are taken.

    Attributes:
        scope: What a line does not name itself, by field.
        limits: Of the server, by name.
        as_user: Whether the user of `scope` holds for lines that name another one, too.
        skip_bad: Whether bad lines are reported and left out; else the first one stops.
    """

    scope: Mapping[str, str]
    limits: Mapping[str, int]
    as_user: bool = False
    skip_bad: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A good line: its number from 1, and its record with the whole scope."""

    number: int
    record: record.Record


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file that was read once.

    Attributes:
        path: Where it is.
        file_hash: Of its bytes, hexadecimal.
        terms: How it was read.
        good_count: Number of good lines.
        bad_lines: Numbers of the bad ones.
        own_users: Users that lines name in place of that of `terms`, with their number of lines.
    """

    path: Path
    file_hash: str
    terms: Terms
    good_count: int
    bad_lines: frozenset[int]
    own_users: Counter[str]


@contextlib.contextmanager
def readable(path: Path) -> Iterator[Path]:
    """The file itself, or while the context lasts a copy of what a pipe gives once.

    Raises:
        OSError: If it cannot be read.
    """
    if path.is_file():
        yield path
        return
    with path.open("rb") as pipe, tempfile.NamedTemporaryFile(prefix="recalld-import-") as copy:
        shutil.copyfileobj(pipe, copy)
        copy.flush()
        yield Path(copy.name)


def scan(path: Path, terms: Terms) -> CheckedFile:
    """Reads and checks a file; keeps none of it.

    Raises:
        Failure: If a line is bad and bad ones are not skipped; names the line and the fault.
        OSError: If the file cannot be read.
    """
    digest = hashlib.sha256()
    good_count = 0
    bad_lines: set[int] = set()
    own_users: Counter[str] = Counter()
    user = terms.scope.get("user_id")
    with path.open("rb") as stream:
        for number, raw in enumerate(stream, start=1):
            digest.update(raw)
            if not raw.strip():
                continue
            try:
                line = _parse(number, raw, terms)
                limits.check(line.record.scope, line.record.memory, terms.limits)
            except ValueError as error:
                report_bad(number, str(error), terms)
                bad_lines.add(number)
                continue
            good_count += 1
            named = line.record.scope["user_id"]
            if user and named != user:
                own_users[named] += 1
    hashed = digest.hexdigest()
    return CheckedFile(path, hashed, terms, good_count, frozenset(bad_lines), own_users)


def _parse(number: int, raw: bytes, terms: Terms) -> Line:
    parsed = record.parse(raw.decode("utf-8"))
    named = {name: given for name, given in parsed.scope.items() if given}
    if terms.as_user:
        named.pop("user_id", None)
    return Line(number, record.Record({**terms.scope, **named}, parsed.memory))


def good_lines(file: CheckedFile) -> Iterator[Line]:
    """The good lines of a file, in order; `scan` has already told of the others."""
    with file.path.open("rb") as stream:
        for number, raw in enumerate(stream, start=1):
            if raw.strip() and number not in file.bad_lines:
                yield _parse(number, raw, file.terms)


def report_bad(number: int, fault: str, terms: Terms) -> None:
    """Says what is wrong with a line.

    Raises:
        Failure: If bad lines are not skipped.
    """
    if not terms.skip_bad:
        raise exits.Failure(f"line {number}: {fault}")
    exits.print_error(f"line {number}: {fault} (skipped)")
