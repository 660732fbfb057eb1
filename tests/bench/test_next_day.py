"""Loading and pooling of next-day scenarios."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from recalld.bench import next_day
from recalld.bench.datasets import DatasetError


def scenario(number: int, lang: str = "en", **labels) -> dict:
    """A scenario of two memories of the asker and one of somebody else."""

    def memory(name: str, user: str, age_s: int) -> dict:
        return {
            "id": name,
            "user": user,
            "kind": "fact",
            "key": "",
            "content": f"{name} of scenario {number}",
            "age_s": age_s,
            "importance": "medium",
            "confidence": 0.9,
            "stated_by": "user",
        }

    return {
        "id": f"s-{number:03}",
        "lang": lang,
        "domain": "travel",
        "class": "updated_fact",
        "now": f"2026-03-{number + 1:02}T12:00:00Z",
        "memories": [
            memory("m1", "u1", 100 * number + 50),
            memory("m2", "u1", 10),
            memory("m3", "other", 30),
        ],
        "context": [],
        "query": {"user": "u1", "text": "which one"},
        "must": ["m1"],
        "best": "m1",
        "must_not": ["m2"],
        "conflict": [],
        "no_memory": False,
        **labels,
    }


@pytest.fixture
def write(tmp_path):
    """Writes scenarios to a file and returns its path."""

    def write_file(*lines: dict):
        file = tmp_path / "scenarios.jsonl"
        text = "\n".join(json.dumps(line) for line in lines)
        file.write_text(text, encoding="utf-8")
        return file

    return write_file


def test_each_scenario_has_its_own_store(write):
    """Without pooling, stores hold the memories of one scenario, oldest first."""
    stores = next_day.load(write(scenario(1), scenario(2)))
    assert [s.name for s in stores] == ["s-001", "s-002"]
    assert [i.id for i in stores[0].items] == ["s-001/m1", "s-001/m3", "s-001/m2"]


def test_ages_are_before_the_question(write):
    """A memory was stored its age before now."""
    (store,) = next_day.load(write(scenario(1)))
    assert store.now == datetime(2026, 3, 2, 12, tzinfo=UTC)
    assert store.time_of(store.items[0]) == store.now - timedelta(seconds=150)


def test_pooling_takes_scenarios_in_order_of_id_within_a_language(write):
    """Two at a time: English 1 and 3, English 4 alone, Chinese 2 alone."""
    path = write(scenario(4), scenario(2, "zh"), scenario(3), scenario(1))
    pools = next_day.load(path, pool=2)
    assert sorted([c.id for c in p.cases] for p in pools) == [
        ["s-001", "s-003"],
        ["s-002"],
        ["s-004"],
    ]


def test_pool_keeps_ages_under_one_now_and_prefixes_ids(write):
    """All memories of a pool have their own age before the first scenario's now."""
    (pool,) = next_day.load(write(scenario(1), scenario(2)), pool=2)
    assert pool.now == datetime(2026, 3, 2, 12, tzinfo=UTC)
    ages = {i.id: i.age_s for i in pool.items}
    assert ages["s-001/m1"] == 150
    assert ages["s-002/m1"] == 250
    assert [i.age_s for i in pool.items] == sorted(ages.values(), reverse=True)


def test_pool_keeps_other_users_apart(write):
    """The askers of a pool are one user; everybody else stays another user."""
    (pool,) = next_day.load(write(scenario(1), scenario(2)), pool=2)
    assert {i.user for i in pool.items if i.id.endswith("m1")} == {"u1"}
    assert {i.user for i in pool.items if i.id.endswith("m3")} == {"s-001/other", "s-002/other"}


def test_labels_stay_with_their_scenario(write):
    """Labels name memories of their own scenario only."""
    (pool,) = next_day.load(write(scenario(1), scenario(2, conflict=[["m1", "m2"]])), pool=2)
    second = pool.cases[1]
    assert second.must == {"s-002/m1"}
    assert second.best == "s-002/m1"
    assert second.must_not == {"s-002/m2"}
    assert second.conflicts == (frozenset({"s-002/m1", "s-002/m2"}),)


def test_file_without_scenarios_is_refused(write):
    """Another kind of file is an error, not an empty set."""
    with pytest.raises(DatasetError, match="no scenario"):
        next_day.load(write({"id": "x"}))
