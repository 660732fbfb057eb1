"""Reported cases: small situations that people ran into, replayed and judged one by one.

Cases of level `must` are contracts, those of level `should` quality goals. `failed` names all that
failed; which expectation did not hold is printed with each.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from recalld.bench.case_host import Host, own_host
from recalld.bench.case_replay import judge, needs_own_server
from recalld.bench.datasets import DatasetError, read_objects
from recalld.bench.report import Cell, Report, Table, progress
from recalld.bench.target import Target
from recalld.client.testing import ServerFailed

LEVELS = ("must", "should")


@dataclass(frozen=True)
class Verdict:
    """What became of one case."""

    id: str
    theme: str
    level: str
    wrong: Sequence[str]  # why it failed; empty: passed
    should: Sequence[str]  # softer goals that do not hold


def load(path: Path) -> Sequence[Mapping[str, Any]]:
    """The cases of a file or folder.

    Raises:
        DatasetError: there is none.
    """
    cases = read_objects(path, "setup", "expect")
    if not cases:
        raise DatasetError(f"{path}: no case")
    return cases


def run(target: Target, path: Path, embedder: str) -> Report:
    """Replays all cases: on the given server, or, where one has to restart, on one of their own.

    Args:
        target: the shared server.
        path: file or folder with cases.
        embedder: that servers started here use.
    """
    cases = load(path)
    prefix = uuid4().hex[:8]
    verdicts = []
    with progress("cases", len(cases)) as step:
        for case in cases:
            verdicts.append(_verdict(case, target, f"{prefix}/{case['id']}", embedder))
            step()
    return report(verdicts)


def _verdict(case: Mapping[str, Any], target: Target, prefix: str, embedder: str) -> Verdict:
    if needs_own_server(case):
        try:
            with own_host(embedder) as host:
                wrong, should = judge(case, host, prefix)
        except ServerFailed as error:
            wrong, should = [str(error)], []
    else:
        wrong, should = judge(case, Host(target, None, embedder), prefix)
    return Verdict(case["id"], case["theme"], case["level"], wrong, should)


def report(verdicts: Sequence[Verdict]) -> Report:
    """Counts by level and theme, and what did not hold."""
    figures: dict[str, int | list[str]] = {"n": len(verdicts)}
    for level in LEVELS:
        mine = [v for v in verdicts if v.level == level]
        figures[f"{level}_passed"] = sum(not v.wrong for v in mine)
        figures[f"{level}_total"] = len(mine)
    figures["failed"] = [v.id for v in verdicts if v.wrong]
    notes = [f"FAILED {v.id} ({v.level}): {why}" for v in verdicts for why in v.wrong]
    notes += [f"softer goal of {v.id}: {why}" for v in verdicts for why in v.should]
    return Report(figures, [_table(verdicts)], notes)


def _table(verdicts: Sequence[Verdict]) -> Table:
    by_theme: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        by_theme[verdict.theme].append(verdict)
    rows: list[list[Cell]] = []
    for theme, group in [*sorted(by_theme.items()), ("all", list(verdicts))]:
        counts = [_passed(group, level) for level in LEVELS]
        rows.append([theme, *counts, sum(len(v.should) for v in group)])
    return Table("Reported cases", ["theme", *LEVELS, "softer goals missed"], rows)


def _passed(verdicts: Sequence[Verdict], level: str) -> str | None:
    mine = [v for v in verdicts if v.level == level]
    return f"{sum(not v.wrong for v in mine)} of {len(mine)}" if mine else None
