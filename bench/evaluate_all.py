"""Runs every evaluation set there is and writes the results: one page, and the README's table.

`python -m recalld.bench.evaluate_all --sets DIR`, or `make eval SETS=DIR`. The sets are looked for
in that folder and the folders in it, by the beginning of their names; what is not there is left out
and said so. What is written holds figures, names and ids, never a sentence of a set: some may not
be redistributed.
"""

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from recalld.bench.datasets import SUFFIXES
from recalld.bench.evaluate import RANKED_SETS, Options, evaluate
from recalld.bench.report import Cell, Figure, Report, Table, commit, provenance, say, show

POOL = 5
ROOT = Path(__file__).resolve().parent.parent
# Written without sight of the ranking, and never tuned on.
FRESH = Path(__file__).with_name("data") / "next_day_fresh.jsonl"
# How the names of files and folders begin, where not as the set itself.
BEGINNINGS = {"next-day": "next_day", "cases": "reported_cases"}
BLOCK = ("<!-- results:begin -->", "<!-- results:end -->")
# What the README says of a set: figures by name and label.
SHOWN: Mapping[str, Mapping[str, str]] = {
    "next-day": {
        "hit_at_5": "all needed among the first five",
        "best_at_1": "the best one first",
        "leak": "one that must not be put forward",
        "context_hit": "all needed in a context of 600 tokens",
    },
    "lifebench": {"hit_at_5": "hit@5", "ev_r_at_5": "event recall@5"},
    "beam": {
        "hit_at_5": "hit@5",
        "r_at_5": "R@5",
        "newest_first": "newer statement first",
        "abstention_auroc": "AUROC of abstention",
    },
    "precision": {"precision": "precision", "recall": "recall"},
}
SHOWN_OF_RANKED = {"hit_at_5": "hit@5", "r_at_5": "R@5"}


@dataclass(frozen=True)
class Job:
    """One set to run; without a path it is not at hand."""

    title: str
    set_name: str
    path: Path | None
    pool: int = 0


def find(sets: Path, set_name: str) -> Path | None:
    """The file or folder of a set in `sets`, or in a folder of it; None if there is none."""
    beginning = BEGINNINGS.get(set_name, set_name)
    near = sorted(sets.iterdir())
    deeper = [p for folder in near if folder.is_dir() for p in sorted(folder.iterdir())]
    fits = (p for p in (*near, *deeper) if p.name.startswith(beginning))
    return next((p for p in fits if p.is_dir() or p.name.endswith(SUFFIXES)), None)


def jobs(sets: Path) -> Iterator[Job]:
    """All sets, the figure that counts first."""
    next_day = find(sets, "next-day")
    yield Job(f"next-day, pooled by {POOL}", "next-day", next_day, POOL)
    yield Job("next-day, singly", "next-day", next_day)
    yield Job(f"fresh next-day, pooled by {POOL}", "next-day", FRESH, POOL)
    yield Job("fresh next-day, singly", "next-day", FRESH)
    yield Job("reported cases", "cases", find(sets, "cases"))
    for name in RANKED_SETS:
        yield Job(name, name, find(sets, name))


def page(results: Sequence[tuple[Job, Report]], absent: Sequence[Job]) -> str:
    """The Markdown page."""
    rows: list[list[Cell]] = []
    for job, report in results:
        for name, value in report.figures.items():
            cell = " ".join(value) or "none" if isinstance(value, list) else value
            theirs = report.baseline.get(name)
            rows.append([job.title, name, cell, theirs if isinstance(theirs, float) else None])
    parts = [
        "# Results",
        "Written by `make eval`. Fractions in per cent. Definitions: EVALUATION.md.",
        "\n".join(f"- {name}: {value}" for name, value in provenance().items()),
        *_absent(absent),
        Table("", ["set", "figure", "value", "BM25"], rows).markdown(),
    ]
    for job, report in results:
        parts.append(f"## {job.title}")
        parts += [f"{table.title}:\n\n{table.markdown()}" for table in report.tables]
        if job.set_name != "cases":  # its notes quote texts of the cases
            parts.append("\n".join(f"- {note}" for note in report.notes))
    return "\n\n".join(parts) + "\n"


def block(results: Sequence[tuple[Job, Report]], absent: Sequence[Job]) -> str:
    """The README's table: a line a set."""
    rows: list[list[Cell]] = [
        [job.title, str(report.figures["n"]), summary(job.set_name, report)]
        for job, report in results
    ]
    facts = provenance()
    said = (
        f"{facts['cores']} cores of an {facts['processor']}, default model, commit {commit()}, "
        "through the real server over gRPC; every table is in\n"
        "[docs/results.md](docs/results.md). In brackets: BM25 on the same questions."
    )
    table = Table("", ["set", "n", "figures"], rows).markdown()
    return "\n\n".join([said, table, *_absent(absent)])


def summary(set_name: str, report: Report) -> str:
    """The figures of a set in one line, BM25's in brackets."""
    figures = report.figures
    if set_name == "cases":
        return ", ".join(
            f"{level} {figures[f'{level}_passed']} of {figures[f'{level}_total']}"
            for level in ("must", "should")
        )
    parts = []
    for name, label in SHOWN.get(set_name, SHOWN_OF_RANKED).items():
        beside = report.baseline.get(name)
        theirs = f" ({_percent(beside)})" if beside is not None else ""
        parts.append(f"{label} {_percent(figures[name])}{theirs}")
    if set_name == "next-day":
        parts.append(f"another user's memory {figures['other_user']} times")
    return ", ".join(parts)


def _percent(value: Figure) -> str:
    if not isinstance(value, float) or math.isnan(value):
        return "-"
    return f"{100 * value:.0f} %"


def _absent(jobs_left: Sequence[Job]) -> list[str]:
    names = ", ".join(job.title for job in jobs_left)
    return [f"Not at hand in this run: {names}."] if names else []


def with_block(readme: str, content: str) -> str:
    """A README whose block of results is this.

    Raises:
        ValueError: it has no such block.
    """
    begin, end = (readme.find(mark) for mark in BLOCK)
    if not 0 <= begin < end:
        raise ValueError(f"no block between {BLOCK[0]} and {BLOCK[1]}")
    return f"{readme[: begin + len(BLOCK[0])]}\n{content}\n{readme[end:]}"


def main(given: Sequence[str] | None = None) -> None:
    """Command line; the process's own arguments unless others are given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=Path, required=True, help="folder with the sets")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results.md")
    parser.add_argument("--readme", type=Path, default=ROOT / "README.md")
    parser.add_argument("--embedder", default="onnx")
    arguments = parser.parse_args(given)
    results: list[tuple[Job, Report]] = []
    absent: list[Job] = []
    for job in jobs(arguments.sets):
        if job.path is None:
            say(f"{job.title}: not in {arguments.sets}, left out")
            absent.append(job)
            continue
        say(f"\n# {job.title}")
        options = Options(pool=job.pool, embedder=arguments.embedder)
        report = evaluate(job.set_name, job.path, options)
        show(report)
        results.append((job, report))
        # After each set: a run of half an hour should not lose all for a fault in its last set.
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(page(results, absent), encoding="utf-8")
    readme = with_block(arguments.readme.read_text(encoding="utf-8"), block(results, absent))
    arguments.readme.write_text(readme, encoding="utf-8")


if __name__ == "__main__":
    main()
