"""Runs every evaluation set there is and writes the results as one Markdown page.

`python -m recalld.bench.evaluate_all --data DIR --cases DIR --out FILE`. `--data` holds a folder
per set, found by the beginning of its name; what is not there is left out and said so. The page
holds figures, names and ids, never a sentence of a set: some may not be redistributed.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from recalld.bench.evaluate import RANKED_SETS, Options, evaluate
from recalld.bench.report import Cell, Report, Table, provenance, say, show

POOL = 5
# Written without sight of the ranking, and never tuned on.
FRESH = Path(__file__).with_name("data") / "next_day_fresh.jsonl"


@dataclass(frozen=True)
class Job:
    """One set to run."""

    title: str
    set_name: str
    path: Path
    pool: int = 0


def jobs(data: Path, cases: Path) -> Iterator[Job]:
    """What there is to run, the figure that counts first."""
    yield Job(f"next-day, pooled by {POOL}", "next-day", cases, POOL)
    yield Job("next-day, singly", "next-day", cases)
    yield Job(f"fresh next-day, pooled by {POOL}", "next-day", FRESH, POOL)
    yield Job("fresh next-day, singly", "next-day", FRESH)
    yield Job("reported cases", "cases", cases)
    for name in RANKED_SETS:
        folder = next((p for p in sorted(data.iterdir()) if p.name.startswith(name)), None)
        if folder is None:
            say(f"{name}: not in {data}, left out")
        else:
            yield Job(name, name, folder)


def page(results: Sequence[tuple[Job, Report]]) -> str:
    """The Markdown page."""
    rows: list[list[Cell]] = []
    for job, report in results:
        for name, value in report.figures.items():
            cell = " ".join(value) or "none" if isinstance(value, list) else value
            rows.append([job.title, name, cell])
    parts = [
        "# Results",
        "Written by `python -m recalld.bench.evaluate_all`. Fractions in per cent. Definitions: "
        "EVALUATION.md.",
        "\n".join(f"- {name}: {value}" for name, value in provenance().items()),
        Table("", ["set", "figure", "value"], rows).markdown(),
    ]
    for job, report in results:
        parts.append(f"## {job.title}")
        parts += [f"{table.title}:\n\n{table.markdown()}" for table in report.tables]
        if job.set_name != "cases":  # its notes quote texts of the cases
            parts.append("\n".join(f"- {note}" for note in report.notes))
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--embedder", default="onnx")
    arguments = parser.parse_args()
    results = []
    for job in jobs(arguments.data, arguments.cases):
        say(f"\n# {job.title}")
        report = evaluate(
            job.set_name, job.path, Options(pool=job.pool, embedder=arguments.embedder)
        )
        show(report)
        results.append((job, report))
        # After each set: a run of half an hour should not lose all for a fault in its last set.
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()
