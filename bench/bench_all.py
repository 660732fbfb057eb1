"""Every bench in one run: one JSON object, one page of tables, and which goals were met.

    python -m recalld.bench.bench_all [--quick] [--only NAME ...] [--json FILE] [--markdown FILE]

Each bench is a process of its own and measures its baseline in the same run; all stay runnable
alone. Exit code 1 if one of them failed. Goals that are missed are told, not an error.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from recalld.bench import goals
from recalld.bench.report import Figure, provenance, provenance_line, say, write_json

QUICK = ("--quick",)


@dataclass(frozen=True)
class Bench:
    """How one bench is called.

    Attributes:
        quick: its options for a short run; None leaves it out of one.
        full: its options for a whole one.
    """

    quick: tuple[str, ...] | None = QUICK
    full: tuple[str, ...] = ()


BENCHES: Mapping[str, Bench] = {
    "kernels": Bench(),
    "search": Bench(),
    "large": Bench(quick=("--rows", "10000", "--graph-rows", "0")),
    "embedder": Bench(quick=()),
    "store": Bench(),
    "writes": Bench(),
    "recall": Bench(),
    "load": Bench(),
    "fairness": Bench(quick=None),  # floods with texts take minutes
    "restart": Bench(),
    "purge": Bench(quick=("--memories", "10000")),
    "disturbance": Bench(),
}


@dataclass(frozen=True)
class Outcome:
    """What one bench printed and found; nothing found means that it failed."""

    name: str
    text: str
    figures: Mapping[str, Figure]
    took_s: float


def run_one(name: str, options: Sequence[str]) -> Outcome:
    """Runs one bench; what it prints is Markdown."""
    start = time.perf_counter()
    with TemporaryDirectory() as folder:
        file = Path(folder) / "figures.json"
        command = [sys.executable, "-m", f"recalld.bench.bench_{name}", "--json", str(file)]
        done = subprocess.run([*command, *options], stdout=subprocess.PIPE, text=True)
        found = json.loads(file.read_text("utf-8")) if file.exists() else {}
    figures = found if done.returncode == 0 else {}
    return Outcome(name, done.stdout, figures, time.perf_counter() - start)


def merged(outcomes: Sequence[Outcome]) -> dict[str, Figure]:
    """Figures of all, each led by its bench's name; machine and versions once."""
    facts = provenance()
    figures: dict[str, Figure] = {**facts}
    for outcome in outcomes:
        named = {k: v for k, v in outcome.figures.items() if k not in facts}
        figures |= {f"{outcome.name}.{key}": value for key, value in named.items()}
        figures[f"{outcome.name}.took_s"] = outcome.took_s
    return figures


def page(outcomes: Sequence[Outcome], load: str) -> str:
    """Machine and commit, the goals, then what each bench printed."""
    table = goals.table(merged(outcomes)).markdown()
    parts = [
        "# Benches",
        "Written by `make bench`; what is measured and how: [PERFORMANCE.md](PERFORMANCE.md).",
        f"{provenance_line()}; load average {load} before the run.",
        f"## Goals\n\n{table}",
    ]
    for outcome in outcomes:
        text = "This bench failed."
        if outcome.figures:
            text = outcome.text.strip().removesuffix(provenance_line()).strip()
        parts.append(f"## {outcome.name}, {outcome.took_s:.0f} s\n\n{text}")
    return "\n\n".join(parts) + "\n"


def run(names: Sequence[str], quick: bool, json_file: Path | None, markdown: Path | None) -> int:
    """Runs benches one after the other and tells what they found.

    Args:
        names: of `BENCHES`; empty: all.
        quick: three minutes instead of ten.
        json_file, markdown: where all figures, and the page, are written after each bench, so that
            a run that is broken off has told what it found.

    Returns:
        0; 1 when a bench failed.
    """
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    outcomes: list[Outcome] = []
    for name in names or tuple(BENCHES):
        options = BENCHES[name].quick if quick else BENCHES[name].full
        if options is None:
            continue
        sys.stderr.write(f"{name}\n")
        outcomes.append(run_one(name, options))
        if json_file is not None:
            write_json(json_file, merged(outcomes))
        if markdown is not None:
            markdown.write_text(page(outcomes, load), encoding="utf-8")
    say(page(outcomes, load))
    return 0 if all(outcome.figures for outcome in outcomes) else 1


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="three minutes instead of ten")
    parser.add_argument("--only", nargs="+", choices=BENCHES, default=())
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures here")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the page here")
    given = parser.parse_args()
    return run(given.only, given.quick, given.json, given.markdown)


if __name__ == "__main__":
    sys.exit(main())
