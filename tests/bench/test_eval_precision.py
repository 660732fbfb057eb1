"""PrecisionMemBench on a real server."""

import json

import pytest

from recalld.bench.evaluate import Options, evaluate
from tests.bench.test_precision import belief

BELIEFS = [
    belief("kettle", aliases=["boiler"], content="whistles when done"),
    belief("umbrella", scope=["domain:garden"], content="is green"),
    belief("old_door", superseded_by="door", content="was red"),
    belief("door", created_at="2026-02-01T00:00:00Z", content="is blue", pinned=True),
    belief("paint", type="open_question", pinned=True, content="which colour"),
    belief("heater", type="relation", participants=["lamp", "paint"], content="joins things"),
    belief("lamp", content="shines"),
    belief("secret", user_id="somebody", content="kettle of another user"),
]


def expecting(case_id, query, only, **tiers):
    relevant = {"shouldOnlyInclude": only, "mustExclude": ["old_door", "secret", "umbrella"]}
    expect = {"relevantBeliefs": relevant, **tiers}
    return {
        "caseId": case_id,
        "category": "c",
        "scope": ["domain:home"],
        "query": query,
        "expect": expect,
    }


CASES = [
    expecting("blank", " ", [], pinnedFacts={"mustInclude": ["door"], "mustExclude": ["old_door"]}),
    expecting("list", "", [], openQuestions={"mustInclude": ["paint"]}),
    {**expecting("none wanted", "kettle", []), "budget": {"maxBeliefs": 0}},
    {**expecting("stranger", "kettle", []), "userId": "nobody-yet"},
    {**expecting("room for one", "boiler", ["kettle"]), "budget": {"maxBeliefs": 2}},
    expecting("relation", "heater", ["heater", "lamp"]),
]
TURN = {"scope": ["domain:home"], "expect": {"relevantBeliefs": {"mustInclude": ["kettle"]}}}
SESSION = {
    "caseId": "talk",
    "turns": [
        {
            **TURN,
            "turnIndex": 0,
            "userMessage": "kettle",
            "updateBeliefAtTurn": {"beliefId": "kettle", "addAliases": ["samovar"]},
        },
        {**TURN, "turnIndex": 1, "userMessage": "samovar"},
    ],
}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("beliefs")
    for name, value in (("a", BELIEFS), ("b", CASES), ("c", [SESSION])):
        (folder / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
    return evaluate("precision", folder, Options(embedder="hash", without=("key",)))


def test_tiers_hold_what_they_must(report):
    """Scope, supersession, users, relations, open questions and the room for beliefs hold."""
    (note,) = report.notes
    for case_id in ("blank", "list", "none wanted", "stranger", "room for one", "relation"):
        assert case_id not in note


def test_a_name_learned_in_a_session_finds_its_belief(report):
    """Both turns find the kettle, the second one by a name that the first one taught."""
    assert report.figures["session_passed"] == 1.0


def test_rankers_and_channels_stand_beside(report):
    """The trivial rankers' figures and those without a channel are in the report."""
    rankers = [row[0] for row in report.tables[1].rows]
    assert rankers[:3] == ["recalld", "BM25", "BM25, its first alone"]
    assert "without_key_precision" in report.figures
    assert report.baseline["n"] == 6


def test_the_curve_over_the_least_score_is_told(report):
    """A row for each cut, and one for the cut that the other categories choose; recall falls."""
    rows = report.tables[2].rows
    assert [row[0] for row in rows[:3]] == ["unset", "0.1", "0.2"]
    assert rows[-1][0] == "chosen on the other categories"
    recalls = [row[2] for row in rows[:-1]]
    assert recalls == sorted(recalls, reverse=True)
    assert report.figures["any_recall"] == recalls[0]
