"""How often statements are set against each other that should be, and that should not.

`neighbours.jsonl` holds templates of pairs that differ in a number or name: which of two things is
spoken of (`neighbour`: no mark is right) or what is said of one (`value`). `changes.jsonl` holds
pairs of which the newer ends or excludes the older (`update`, `contradiction`), and such that are
both true (`compatible`). Rules were written by sight of one half; the other, `kept`, judges. Every
pair is written to a real server, for a user of its own, the older one a day before.

    python -m recalld.bench.eval_claims [--path FILE ...] [--missed] [--target ADDR] [--json FILE]
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from recalld.bench.report import Cell, Report, Table, progress, publish
from recalld.bench.target import CALL_TIMEOUT_S, Target, connect, own_server
from recalld.v1.memory_service_pb2 import MemoryInput, RememberRequest
from recalld.v1.types_pb2 import Memory, Scope

DATA = Path(__file__).parent / "data"
SETS = (DATA / "neighbours.jsonl", DATA / "changes.jsonl")
DAY_S = 24 * 60 * 60
NOW_S = 1_790_000_000
UNMARKED = frozenset({"neighbour", "compatible"})
"""Classes of which no pair should be marked; of all others every one should."""


class Pair(NamedTuple):
    """Two statements, and what they are to each other.

    Attributes:
        group: language, class and half, as figures name them.
        is_marked: whether a mark would be right.
    """

    group: str
    is_marked: bool
    older: str
    newer: str


def load(path: Path) -> Iterator[Pair]:
    """Pairs of a set, each template filled in all its ways.

    Raises:
        OSError, ValueError, KeyError: there is no such set.
    """
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        group = f"{row['lang']}_{row['class']}_{'kept' if row['kept'] else 'seen'}"
        for one, other in row.get("fills", [("", "")]):
            older, newer = row["older"].replace("{}", one), row["newer"].replace("{}", other)
            yield Pair(group, row["class"] not in UNMARKED, older, newer)


def is_marked(target: Target, pair: Pair) -> bool:
    """Whether the server sets the newer statement against the older."""
    memories = [Memory(content=pair.older), Memory(content=pair.newer)]
    for memory, time_s in zip(memories, (NOW_S - DAY_S, NOW_S), strict=True):
        memory.event_time.seconds = time_s
    request = RememberRequest(
        scope=Scope(user_id=uuid4().hex),
        memories=[MemoryInput(memory=memory) for memory in memories],
        request_id=uuid4().hex,
    )
    results = target.memory.Remember(request, timeout=CALL_TIMEOUT_S).results
    return any(result.conflicting_ids for result in results)


def run(target: Target, paths: Sequence[Path], *, names_missed: bool = False) -> Report:
    """Write every pair and count the marks."""
    pairs = [pair for path in paths for pair in load(path)]
    marked: Counter[str] = Counter()
    with progress("claims", len(pairs)) as step:
        for pair in pairs:
            found = is_marked(target, pair)
            marked[pair.group] += found
            # What the kept half misses must not teach: it is counted, never shown.
            if names_missed and found != pair.is_marked and not pair.group.endswith("_kept"):
                sys.stderr.write(f"{pair.group}: {pair.older} | {pair.newer}\n")
            step()
    counts = Counter(pair.group for pair in pairs)
    shares = {group: marked[group] / count for group, count in counts.items()}
    rows: list[list[Cell]] = [
        [group.replace("_", " "), count, marked[group], marked[group] / count]
        for group, count in counts.items()
    ]
    table = Table("Claims", ["pairs", "n", "marked", "share"], rows)
    return Report({"n": len(pairs), **shares}, [table])


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--path", type=Path, nargs="+", default=SETS, help="sets of the same form")
    parser.add_argument(
        "--missed", action="store_true", help="name wrongly judged pairs that taught"
    )
    parser.add_argument("--target", help="address of a running server; default: one of its own")
    parser.add_argument("--json", type=Path, help="where the figures go")
    given = parser.parse_args()
    if given.target is not None:
        with connect(given.target) as target:
            publish(run(target, given.path, names_missed=given.missed), given.json)
        return
    with own_server("onnx") as address, connect(address) as target:
        publish(run(target, given.path, names_missed=given.missed), given.json)


if __name__ == "__main__":
    main()
