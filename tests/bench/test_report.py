"""Tables, JSON and progress."""

import json
import math

from recalld.bench import report
from recalld.bench.report import Table


def test_table_prints_fractions_as_per_cent():
    """A float is a share, an int a count, a missing value a dash."""
    table = Table("t", ["name", "n", "hit"], [["all", 12, 0.5], ["none", 0, math.nan]])
    assert table.markdown().splitlines() == [
        "| name | n  | hit  |",
        "|------|----|------|",
        "| all  | 12 | 50.0 |",
        "| none | 0  | -    |",
    ]


def test_json_is_one_flat_object(tmp_path):
    """Fractions keep four digits, what is not a number is null, lists of ids stay."""
    file = tmp_path / "deep" / "a.json"
    report.write_json(file, {"n": 3, "r": 1 / 3, "x": math.nan, "failed": ["c1"]})
    assert json.loads(file.read_text()) == {"n": 3, "r": 0.3333, "x": None, "failed": ["c1"]}


def test_plain_progress_writes_a_few_lines(capsys):
    """Where there is no terminal, a hundred steps make ten lines."""
    with report.progress("work", 100) as step:
        for _ in range(100):
            step()
    assert capsys.readouterr().err.splitlines()[-1] == "work: 100/100"


def test_provenance_names_machine_and_commit():
    """A report says on what it was measured."""
    facts = report.provenance()
    assert {"processor", "cores", "commit", "python", "grpcio"} <= facts.keys()
    assert all(facts.values())
