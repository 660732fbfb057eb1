"""Import memories from a JSONL file so that an interrupted import can simply be run again.

    python examples/import_jsonl.py memories.jsonl USER [HOST:PORT]

Each line is an object with `content` and, optionally, `kind`, `key`, `importance` and
`event_time` (RFC 3339). Every batch has a request id made of its content: the server answers a
repeated batch with its first answer for 24 hours and stores nothing twice. `recalld import` does
the same with more checks.
"""

# ruff: noqa: T201 (an example prints)
from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path

from recalld.client import Client, NewMemory

BATCH_COUNT = 64


def read(path: Path) -> Iterator[NewMemory]:
    """The memories of a file, in order."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                fields = json.loads(line)
                if "event_time" in fields:
                    fields["event_time"] = datetime.fromisoformat(fields["event_time"])
                yield NewMemory(**fields)


def batches(memories: Iterator[NewMemory]) -> Iterator[list[NewMemory]]:
    """The memories in lists of at most `BATCH_COUNT`."""
    while batch := list(islice(memories, BATCH_COUNT)):
        yield batch


def main(path: str, user: str, target: str = "127.0.0.1:7600") -> None:
    """Import a file for a user and print what became of its lines."""
    outcomes: Counter[str] = Counter()
    with Client(target, user_id=user) as memory:
        for number, batch in enumerate(batches(read(Path(path)))):
            digest = hashlib.sha256(repr(batch).encode()).hexdigest()[:32]
            written = memory.remember(batch, request_id=f"import-{number}-{digest}")
            outcomes.update(result.outcome.value for result in written.results)
    for outcome, count in sorted(outcomes.items()):
        print(count, outcome)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        print("usage: python examples/import_jsonl.py FILE USER [HOST:PORT]", file=sys.stderr)
        sys.exit(2)
    main(*sys.argv[1:])
