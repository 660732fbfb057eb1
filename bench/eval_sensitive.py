"""How much of generated sensitive data the filter finds, and what ordinary numbers it takes for it.

A value counts as found only when all of it lies in one finding of its own class; a sentence with
ordinary numbers counts as a false alarm when anything is found in it. The sentences are made by
`sensitive_corpus.py`, which knows nothing of the filter. It starts no server and writes no memory.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from recalld.bench import sensitive_corpus
from recalld.bench.report import Cell, Report, Table, publish
from recalld.bench.sensitive_corpus import Sample
from recalld.server.sensitive import find

COUNT = 2_000
SEED = 1
TEXT_LENGTH = 300
"""Characters of the texts that are timed."""


def is_found(sample: Sample) -> bool:
    """Whether one finding of the sample's class holds all of its value."""
    start = sample.text.index(sample.value)
    end = start + len(sample.value)
    return any(
        f.start <= start and end <= f.end and f.sensitive_class.label == sample.kind
        for f in find(sample.text)
    )


def milliseconds(texts: Sequence[str]) -> float:
    """Median time to look through one text of `TEXT_LENGTH` characters, made of these."""
    times = []
    for first in range(0, len(texts) - 16, 16):
        text = " ".join(texts[first : first + 16])[:TEXT_LENGTH]
        start = time.perf_counter()
        find(text)
        times.append(1_000 * (time.perf_counter() - start))
    return sorted(times)[len(times) // 2]


def run(seed: int, count: int) -> Report:
    """Looks through `count` sentences of every class and of every sort of ordinary number."""
    sensitive = list(sensitive_corpus.sensitive(seed, count))
    ordinary = list(sensitive_corpus.ordinary(seed, count))
    found = Counter(sample.kind for sample in sensitive if is_found(sample))
    alarms = Counter(sample.kind for sample in ordinary if find(sample.text))
    detection = {kind: found[kind] / count for kind in dict.fromkeys(s.kind for s in sensitive)}
    false = {kind: alarms[kind] / count for kind in dict.fromkeys(s.kind for s in ordinary)}
    figures = {f"detection_{kind}": share for kind, share in detection.items()}
    figures |= {f"false_alarm_{kind}": share for kind, share in false.items()}
    cost_ms = milliseconds([sample.text for sample in (*sensitive, *ordinary)])
    rows: list[list[Cell]] = [[kind, count, share, None] for kind, share in detection.items()]
    rows += [[kind, count, None, share] for kind, share in false.items()]
    table = Table("Sensitive data", ["class", "n", "detected", "false alarms"], rows)
    note = f"{TEXT_LENGTH} characters take {cost_ms:.3f} ms (median)"
    return Report({"n": len(sensitive) + len(ordinary), **figures, "ms": cost_ms}, [table], [note])


def main(arguments: Sequence[str]) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="python -m recalld.bench.eval_sensitive",
        description="Detection and false alarms of the filter of sensitive data, by class.",
        epilog="example: python -m recalld.bench.eval_sensitive --count 5000 --json figures.json",
    )
    parser.add_argument("--seed", type=int, default=SEED, help="of the sentences (default: 1)")
    parser.add_argument(
        "--count", type=int, default=COUNT, help="sentences a class (default: 2000)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    given = parser.parse_args(arguments)
    if given.count < 1:
        parser.error("--count must be at least 1")
    publish(run(given.seed, given.count), given.json)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
