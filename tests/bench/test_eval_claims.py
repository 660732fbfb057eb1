"""The pairs of statements, and their replay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recalld.bench import eval_claims
from recalld.bench.target import connect
from recalld.client.testing import RunningServer


def test_the_sets_are_as_described() -> None:
    """Each language has at least forty templates a side, and as many changes as true pairs."""
    neighbours, changes = eval_claims.SETS
    rows = [json.loads(line) for line in neighbours.read_text(encoding="utf-8").splitlines()]
    for lang in ("en", "zh"):
        for name in ("neighbour", "value"):
            found = [row for row in rows if (row["lang"], row["class"]) == (lang, name)]
            assert len(found) >= 40
            assert abs(2 * sum(row["kept"] for row in found) - len(found)) <= 1
    pairs = list(eval_claims.load(changes))
    assert len(pairs) == len(set(pairs)) == 144
    assert sum(pair.is_marked for pair in pairs) == 72


def test_marks_are_counted(
    tmp_path: Path, shared_server: RunningServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """A replay counts the marks of each class, and names what is wrong in the half that taught."""
    ended = {"older": "I play the harp", "newer": "I no longer play the harp"}
    rows = [
        {"lang": "en", "class": "update", "kept": True, **ended},
        {"lang": "en", "class": "compatible", "kept": False, **ended},
        {
            "lang": "en",
            "class": "neighbour",
            "kept": True,
            "fills": [["1", "2"], ["3", "4"]],
            "older": "Hut {} is always open",
            "newer": "Hut {} is never open",
        },
    ]
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with connect(shared_server.target) as target:
        figures = eval_claims.run(target, [path], names_missed=True).figures
    assert figures == {
        "n": 4,
        "en_update_kept": pytest.approx(1.0),
        "en_compatible_seen": pytest.approx(1.0),
        "en_neighbour_kept": pytest.approx(0.0),
    }
    said = capsys.readouterr().err
    assert "en_compatible_seen: I play the harp | I no longer play the harp" in said
    assert "Hut" not in said
