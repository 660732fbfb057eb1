"""Reported cases through a real server: every operation once."""

import json

import pytest

from recalld.bench import eval_cases
from recalld.bench.datasets import DatasetError
from recalld.bench.eval_cases import Verdict
from recalld.bench.evaluate import Options, evaluate


def fact(label: str, text: str, t: int = -3600, **more) -> dict:
    return {"op": "remember", "as": label, "kind": "fact", "text": text, "t": t, **more}


def case(name: str, setup: list, query, expect, level: str = "must") -> dict:
    return {
        "id": name,
        "theme": "listing",
        "level": level,
        "setup": setup,
        "query": query,
        "expect": expect,
    }


WHALES = fact("m1", "whales pass in winter", key="sea.whales")
KETTLE = fact("m2", "the kettle is blue", t=-7200)
CASES = [
    case(
        "writes",
        [
            WHALES,
            KETTLE,
            {
                "op": "remember_many",
                "as": "n",
                "count": 5,
                "kind": "event",
                "text": "tram number {i} was late",
                "t": -900,
                "t_step": 60,
            },
            {"op": "update", "ref": "m2", "text": "the kettle is green"},
            {"op": "forget", "ref": "n2"},
            {"op": "recall", "text": "whales", "k": 2, "times": 2},
        ],
        [
            {"op": "recall", "text": "whales in winter", "k": 3},
            {"op": "get", "key": "sea.whales"},
            {"op": "list", "page_size": 2, "follow_pages": True},
            {"op": "assemble", "text": "kettle", "token_budget": 400},
            {"op": "forget", "key": "sea.whales"},
            {"op": "get", "key": "sea.whales"},
            {"op": "recall", "vector": {"gen": "unit", "dim_delta": 1}, "k": 1},
        ],
        [
            {"top1": "m1"},
            {"top1": "m1"},
            {"pages": {"unique": 6, "repeated": 0}, "absent": ["n2"]},
            {"text_has": ["green"], "text_lacks": ["blue"]},
            {"ok": True},
            {"error": ["NOT_FOUND"]},
            {"error": ["INVALID_ARGUMENT"]},
        ],
    ),
    case(
        "parallel",
        [{"op": "parallel", "times": 4, "steps": [WHALES]}],
        {"op": "list"},
        {"count": {"eq": 1}, "top1": "m1"},
    ),
    case("restart", [WHALES, {"op": "restart"}], {"op": "list"}, {"top1": "m1"}),
    case("fails", [WHALES], {"op": "list"}, {"top1": "m2"}, level="should"),
    case("unknown", [{"op": "dance"}], {"op": "list"}, {"ok": True}, level="should"),
]


def test_cases_through_a_real_server(tmp_path):
    """Cases that hold pass, one that does not is named with its reason."""
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(json.dumps(c) for c in CASES), encoding="utf-8")
    report = evaluate("cases", path, Options(embedder="hash"))
    assert report.figures["failed"] == ["fails", "unknown"], report.notes
    counts = [report.figures[f"{level}_{what}"] for level, what in COUNTS]
    assert counts == [3, 3, 0, 2]
    assert any("top1 is not m2" in note for note in report.notes)


COUNTS = [(level, what) for level in ("must", "should") for what in ("passed", "total")]


def test_report_counts_by_level():
    """Passed and failed cases are counted by level, and failed ones are listed."""
    verdicts = [
        Verdict("c1", "names", "must", [], ["soft"]),
        Verdict("c2", "names", "must", ["why"], []),
        Verdict("c3", "decay", "should", [], []),
    ]
    report = eval_cases.report(verdicts)
    assert report.figures == {
        "n": 3,
        "must_passed": 1,
        "must_total": 2,
        "should_passed": 1,
        "should_total": 1,
        "failed": ["c2"],
    }


def test_file_without_cases_is_refused(tmp_path):
    """Another kind of file is an error."""
    path = tmp_path / "x.jsonl"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(DatasetError, match="no case"):
        eval_cases.load(path)
