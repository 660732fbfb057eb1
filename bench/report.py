"""How evaluations and benches speak: tables, notes, flat JSON, machine and commit, progress.

Figures without the machine and the commit they were measured on are not worth keeping, so
`provenance` goes into every report. Nothing here measures or judges.
"""

import argparse
import json
import math
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

PLAIN_STEPS = 10  # lines a progress writes where there is no terminal
_LIBRARIES = ("grpcio", "protobuf", "numpy", "numba", "hnswlib", "onnxruntime", "duckdb")

Figure = float | int | str | list[str] | None
Cell = float | int | str | None
Option = tuple[str, dict[str, Any]]
"""An option of a command: its name, and what `ArgumentParser.add_argument` takes beside it."""

QUICK: Option = ("--quick", {"action": "store_true", "help": "a minute instead of several"})
EMBEDDER: Option = ("--embedder", {"default": "onnx", "choices": ("onnx", "hash")})


@dataclass(frozen=True)
class Table:
    """Rows under a heading; fractions are floats in [0, 1], printed as per cent."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def markdown(self) -> str:
        """The table as aligned Markdown; a missing value is a dash."""
        cells = [list(self.columns), *([_cell(value) for value in row] for row in self.rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        lines = [_line(row, widths) for row in cells]
        lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
        return "\n".join(lines)


@dataclass(frozen=True)
class Report:
    """What one evaluation found.

    Attributes:
        figures: flat, by name; fractions lie in 0..1.
        tables: for people.
        notes: sentences beside the tables.
        baseline: BM25's on the same questions, of those figures that it has.
    """

    figures: Mapping[str, Figure]
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    baseline: Mapping[str, Figure] = field(default_factory=dict)


def _cell(value: Cell) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    return f"{100 * value:.1f}" if isinstance(value, float) else str(value)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(c.ljust(w) for c, w in zip(cells, widths, strict=True)) + " |"


def say(text: str) -> None:
    """Writes one line or block to standard output, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def show(report: Report) -> None:
    """Prints tables and notes."""
    for table in report.tables:
        say(f"\n{table.title}\n\n{table.markdown()}")
    if report.notes:
        say("")
    for note in report.notes:
        say(note)


def write_json(path: Path, figures: Mapping[str, Figure]) -> None:
    """Writes one flat JSON object; NaN becomes null, fractions keep four digits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rounded = {name: _rounded(value) for name, value in figures.items()}
    path.write_text(json.dumps(rounded, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def publish(report: Report, json_file: Path | None) -> None:
    """Prints the report and where it was measured; writes its figures when a file is named."""
    show(report)
    say(f"\n{provenance_line()}")
    if json_file is not None:
        write_json(json_file, report.figures)


def command(
    description: str | None, run: Callable[[argparse.Namespace], Report], *more: Option
) -> None:
    """The command line of a bench: its own options, `--json`, `--markdown`; prints the report."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, options in more:
        parser.add_argument(name, **options)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write a page here")
    arguments = parser.parse_args()
    report = run(arguments)
    publish(report, arguments.json)
    if arguments.markdown is not None:
        arguments.markdown.write_text(page(report), encoding="utf-8")


def page(report: Report) -> str:
    """The report as a page of its own: machine and commit, then notes and tables."""
    sections = [f"# {report.tables[0].title}", f"{provenance_line()}.", *report.notes]
    sections += [table.markdown() for table in report.tables[:1]]
    sections += [f"## {table.title}\n\n{table.markdown()}" for table in report.tables[1:]]
    return "\n\n".join(sections) + "\n"


def _rounded(value: Figure) -> Figure:
    if isinstance(value, float):
        return None if math.isnan(value) else round(value, 4)
    return value


def provenance() -> dict[str, str]:
    """Machine, commit and versions: processor, cores, system, commit, Python and libraries."""
    facts = {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else "?"),
        "system": f"{platform.system()} {platform.machine()}",
        "commit": commit(),
        "python": platform.python_version(),
    }
    for library in _LIBRARIES:
        try:
            facts[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            facts[library] = "absent"
    return facts


def provenance_line() -> str:
    """Provenance in one line."""
    return ", ".join(f"{name} {value}" for name, value in provenance().items())


def commit() -> str:
    """Short hash of the checkout, with `+` if files differ from it; `unknown` outside of one."""
    folder = Path(__file__).resolve().parent

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(folder), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "--short", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


class Step(Protocol):
    """Says that one more unit of work is done. Thread safety: may be called from any thread."""

    def __call__(self, count: int = 1) -> None:
        """Adds `count` units."""


@contextmanager
def progress(label: str, total: int) -> Iterator[Step]:
    """A bar on a terminal, a few plain lines elsewhere, both on standard error."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _plain_step(label, total)
        return
    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda count=1: bar.advance(task, count)


def _plain_step(label: str, total: int) -> Step:
    done = 0

    def step(count: int = 1) -> None:
        nonlocal done
        before = done * PLAIN_STEPS // max(1, total)
        done += count
        if done * PLAIN_STEPS // max(1, total) > before:
            sys.stderr.write(f"{label}: {done}/{total}\n")
            sys.stderr.flush()

    return step
