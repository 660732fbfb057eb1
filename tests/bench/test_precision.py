"""Fixtures of PrecisionMemBench's format."""

import json
from datetime import UTC, datetime

import pytest

from recalld.bench import precision
from recalld.bench.datasets import DatasetError
from recalld.bench.precision import Expected


def belief(name, **fields):
    """A belief of the format, in the words of a test."""
    return {
        "_id": name,
        "user_id": "test-user",
        "type": "entity",
        "canonical_name": name,
        "aliases": [],
        "content": f"about {name}",
        "scope": ["domain:home"],
        "created_at": "2026-01-01T00:00:00Z",
        **fields,
    }


CASES = [
    {
        "caseId": "one",
        "category": "names",
        "scope": ["domain:home"],
        "query": "where is the kettle",
        "budget": {"maxBeliefs": 3},
        "expect": {
            "relevantBeliefs": {"shouldOnlyInclude": ["kettle"], "mustExclude": ["old"]},
            "pinnedFacts": {"mustInclude": ["door"]},
        },
    },
    {"caseId": "two", "category": "names", "userId": "new", "scope": ["x"], "query": ""},
]
SESSION = {
    "caseId": "talk",
    "turns": [
        {
            "turnIndex": 4,
            "scope": ["domain:home"],
            "userMessage": "hello",
            "expect": {"noiseCheck": {"mustNotSurface": ["door"]}},
            "createBeliefAtTurn": belief("lamp"),
            "updateBeliefAtTurn": {"beliefId": "kettle", "addAliases": ["boiler"]},
        }
    ],
}


@pytest.fixture
def fixture_folder(tmp_path):
    beliefs = [
        belief("newest", created_at="2026-03-01T00:00:00Z"),
        belief("oldest", superseded_by="middle"),
        belief("middle", superseded_by="newest", created_at="2026-02-01T00:00:00Z"),
        belief(
            "kettle",
            aliases=["pot"],
            why_it_matters="tea",
            resolved_at="2026-04-01T00:00:00Z",
            epistemic_status="inferred",
            pinned=True,
        ),
    ]
    for name, value in (("a", beliefs), ("b", CASES), ("c", [SESSION])):
        (tmp_path / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
    return tmp_path


def test_a_chain_of_replacements_shares_a_slot(fixture_folder):
    """All links of a chain have the slot of its end and come oldest first; others their own."""
    beliefs = precision.load(fixture_folder).beliefs
    assert [(b.id, b.slot) for b in beliefs] == [
        ("oldest", "newest"),
        ("kettle", "kettle"),
        ("middle", "newest"),
        ("newest", "newest"),
    ]


def test_a_belief_is_told_by_all_its_names(fixture_folder):
    """The text is name, other names, content and why; further names join the others."""
    kettle = next(b for b in precision.load(fixture_folder).beliefs if b.id == "kettle")
    assert kettle.text == "kettle pot about kettle tea"
    assert kettle.also_called(["boiler"]).text == "kettle pot boiler about kettle tea"
    assert kettle.inferred and kettle.pinned
    assert kettle.resolved == datetime(2026, 4, 1, tzinfo=UTC)


def test_what_a_case_does_not_say_is_the_default(fixture_folder):
    """Twenty beliefs, the common asker, nothing expected; what it says is taken."""
    one, two = precision.load(fixture_folder).cases
    assert (one.beliefs_max, one.user) == (3, "test-user")
    assert one.relevant == Expected(excludes=frozenset({"old"}), only=frozenset({"kettle"}))
    assert one.pinned.includes == {"door"}
    assert (two.beliefs_max, two.user, two.relevant.only) == (20, "new", None)


def test_a_turn_tells_what_is_learned_after_it(fixture_folder):
    """Turns are cases of the class of sessions; noise must not come back."""
    (turn,) = precision.load(fixture_folder).turns
    assert turn.in_session and turn.id == "talk/4" and turn.text == "hello"
    assert turn.relevant.excludes == {"door"}
    assert turn.learned is not None and turn.learned.id == "lamp"
    assert turn.renamed == ("kettle", ("boiler",))


def test_folder_without_beliefs_is_refused(tmp_path):
    """Cases alone cannot be replayed."""
    (tmp_path / "b.json").write_text(json.dumps(CASES), encoding="utf-8")
    with pytest.raises(DatasetError, match="no beliefs"):
        precision.load(tmp_path)
