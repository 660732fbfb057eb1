"""The evaluation of the filter, and the figures that it has to reach."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recalld.bench.eval_sensitive import is_found, main, run
from recalld.bench.sensitive_corpus import Sample

DETECTION_MIN = 0.99
FALSE_ALARM_MAX = 0.01


def test_the_filter_reaches_its_goal() -> None:
    """Of every class nearly all values are found, among ordinary numbers nearly nothing is."""
    figures = run(seed=11, count=600).figures
    detection = {n: v for n, v in figures.items() if n.startswith("detection_")}
    alarms = {n: v for n, v in figures.items() if n.startswith("false_alarm_")}
    assert len(detection) == 6 and len(alarms) == 5
    assert {n: v for n, v in detection.items() if not float(str(v)) >= DETECTION_MIN} == {}
    assert {n: v for n, v in alarms.items() if not float(str(v)) <= FALSE_ALARM_MAX} == {}


@pytest.mark.parametrize(
    ("sample", "found"),
    [
        (Sample("phone", "call 13800138000", "13800138000"), True),
        (Sample("email", "call 13800138000", "13800138000"), False),
        (Sample("phone", "call 13800138000 now", "13800138000 now"), False),
        (Sample("phone", "call me", "me"), False),
    ],
)
def test_found_means_whole_and_of_its_class(sample: Sample, found: bool) -> None:
    """A value that is found in part, or as something else, is not found."""
    assert is_found(sample) is found


def test_the_command_prints_a_table_and_writes_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row for each class goes to the terminal, the figures to the named file."""
    file = tmp_path / "figures.json"
    assert main(["--count", "40", "--json", str(file)]) == 0
    shown = capsys.readouterr().out
    figures = json.loads(file.read_text("utf-8"))
    for name in ("resident_id", "bank_card", "phone", "email", "api_key", "password", "orders"):
        assert f"| {name} " in shown
    assert figures["n"] == 11 * 40
    assert figures["detection_phone"] == 1.0
    with pytest.raises(SystemExit):
        main(["--count", "0"])
