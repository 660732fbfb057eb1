"""Statements without a common key: said again, outdated, contradicted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from recalld.index.judge import Judge, Stand
from recalld.scoring.params import Scale
from recalld.server.claim_pairs import Features, features
from recalld.server.claims import Claim
from recalld.server.word_odds import (
    LIKELY,
    TOLD_MIN,
    TOLD_SHARE_MIN,
    contradicted,
    nearness,
    outdated,
)
from recalld.v1 import memory_service_pb2 as pb
from recalld.v1 import types_pb2
from tests.server.core import DAY_US, NOW_US, TENANT, Core, memory, texts

PAIRS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data/claim_pairs.jsonl").read_text().splitlines()
]
ACTIVE, CONFLICTED = types_pb2.MEMORY_STATUS_ACTIVE, types_pb2.MEMORY_STATUS_CONFLICTED


@pytest.mark.parametrize(("name", "judge"), [("update", outdated), ("contradiction", contradicted)])
def test_judgement_of_pairs_that_taught_nothing(
    name: str, judge: Callable[[Features], float]
) -> None:
    """Of the pairs kept apart four of five marked ones are right, and half are found."""
    judged = PAIRS[1::2]
    said = [
        row
        for row in judged
        if judge(features(Claim(row["older"]), Claim(row["newer"]), 1.0)) > LIKELY
    ]
    right = sum(row["class"] == name for row in said)
    assert right >= 0.8 * len(said)
    assert right >= 0.5 * sum(row["class"] == name for row in judged)


def test_plain_words_of_change_are_about_the_same_thing() -> None:
    """Of near statements nine of ten marks by plain words are right, and two of three are set."""
    data = Path(__file__).parents[1] / "data/change_pairs.jsonl"
    rows = [json.loads(line) for line in data.read_text().splitlines()]
    pairs = [features(Claim(row["older"]), Claim(row["newer"]), 1.0) for row in rows]
    marked = [
        row["class"]
        for row, pair in zip(rows, pairs, strict=True)
        if pair.share >= TOLD_SHARE_MIN and outdated(pair) >= TOLD_MIN
    ]
    right = marked.count("update")
    assert right >= 0.9 * len(marked)
    assert right >= 2 / 3 * sum(row["class"] == "update" for row in rows)


def test_nearness_is_bounded() -> None:
    """The background is 0, what lies far above it 1, what lies between is between."""
    scale = Scale(0.5, 0.1)
    assert [nearness(cosine, scale) for cosine in (-1.0, 0.5, 1.0)] == [0.0, 0.0, 1.0]
    assert nearness(0.85, scale) == pytest.approx(0.5)


async def said(core: Core, content: str, day: int = 0, **fields: object) -> pb.RememberResult:
    """Stores one memory without a key."""
    item = memory(content, event_time=NOW_US + day * DAY_US, **fields)
    return (await core.remember("u", item)).results[0]


async def test_change_makes_the_older_one_doubtful(core: Core) -> None:
    """A newer word of an end marks the older statement, which stays and counts for less."""
    old = await said(core, "We deploy the shop with the blue pipeline", -9)
    new = await said(core, "We no longer deploy the shop with the blue pipeline")
    found = await core.get("u", old.id)
    assert (found.status, found.superseded_by) == (ACTIVE, new.id)
    assert list(new.conflicting_ids) == [old.id]
    hits = (await core.recall("u", "deploy the shop blue pipeline", min_score=0.0)).hits
    assert texts(hits)[0].startswith("We no longer")
    assert "possibly outdated" in hits[1].reasons


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I am allergic to penicillin", "I am no longer allergic to pollen"),
        ("My son is allergic to hazelnuts", "My son is no longer allergic to milk"),
        ("I eat eggs at breakfast", "I no longer eat bacon at breakfast"),
        ("我对青霉素过敏", "我不再对花粉过敏了"),
        ("我睡前看书", "我睡前不再看电视了"),
    ],
)
async def test_an_end_is_of_the_thing_it_names(core: Core, older: str, newer: str) -> None:
    """That one thing has ended says nothing of another that is told in like words."""
    old = await said(core, older, -9)
    await said(core, newer)
    assert (await core.get("u", old.id)).superseded_by == ""


async def test_words_alone_never_speak_against_what_is_vital(core: Core) -> None:
    """A memory with a key, or of high importance, is not marked by a statement without one."""
    ended = "We no longer deploy the shop with the blue pipeline"
    for user, fields in (("a", {"key": "deploy"}), ("b", {"importance": 3}), ("c", {})):
        text = "We deploy the shop with the blue pipeline"
        item = memory(text, event_time=NOW_US - 9, **fields)
        old = (await core.remember(user, item)).results[0]
        await core.remember(user, memory(ended, event_time=NOW_US))
        marked = (await core.get(user, old.id)).superseded_by != ""
        assert marked == (user == "c")


async def test_forgetting_the_newer_frees_the_older(core: Core) -> None:
    """When the newer statement is forgotten nothing speaks against the older one any more."""
    old = await said(core, "We deploy the shop with the blue pipeline", -9)
    new = await said(core, "We no longer deploy the shop with the blue pipeline")
    await core.forget("u", new.id)
    assert (await core.get("u", old.id)).superseded_by == ""
    await core.forget("u", new.id, mode=pb.FORGET_MODE_UNDO)
    assert (await core.get("u", old.id)).superseded_by == new.id


async def test_opposites_are_a_conflict(core: Core) -> None:
    """Statements that deny each other are both marked, and one brings the other into an answer."""
    one = await said(core, "Dogs are always allowed in the red meeting room", -9)
    two = await said(core, "Dogs are never allowed in the red meeting room")
    assert two.outcome == pb.REMEMBER_OUTCOME_CONFLICT
    pair = [await core.get("u", item.id) for item in (one, two)]
    assert [item.status for item in pair] == [CONFLICTED] * 2
    assert pair[0].conflict_group == pair[1].conflict_group != ""
    for number in range(8):
        await said(core, f"dogs allowed {number}")
    answer = await core.recall("u", "Dogs are always allowed in the red meeting room", k=2)
    assert {hit.memory.id for hit in answer.hits} == {one.id, two.id}
    assert set(answer.conflicts[0].memory_ids[:2]) == {one.id, two.id}


async def test_a_shared_name_is_no_contradiction(core: Core) -> None:
    """Statements that only mention the same thing leave each other alone."""
    ids = [
        (await said(core, content)).id
        for content in (
            "Wren feeds the ducks by the old mill",
            "Wren keeps the ledger of the old mill",
            "The old mill opens two evenings a week",
        )
    ]
    for memory_id in ids:
        found = await core.get("u", memory_id)
        assert (found.status, found.superseded_by, found.conflict_group) == (ACTIVE, "", "")


async def test_other_wording_is_refreshed(core: Core) -> None:
    """Two wordings of one statement are one row; another number is another row."""
    one = await said(core, "Room 301 has a projector", -1)
    again = await said(core, "Room 301 really has a projector")
    other = await said(core, "Room 302 has a projector")
    assert (again.id, again.outcome) == (one.id, pb.REMEMBER_OUTCOME_REFRESHED)
    assert other.outcome == pb.REMEMBER_OUTCOME_CREATED


async def test_users_and_agents_are_apart(core: Core) -> None:
    """Nothing is held against what another user or another agent said."""
    old = await said(core, "We deploy the shop with the blue pipeline", -9)
    new = memory("We no longer deploy the shop with the blue pipeline")
    await core.remember("v", new)
    await core.remember("u", new, agent="a")
    assert (await core.get("u", old.id)).superseded_by == ""


async def test_update_into_an_occupied_slot(core: Core) -> None:
    """A key edited into a taken slot leaves one current value there, by the same precedence."""
    old = (await core.remember("u", memory("Leeds", key="city", event_time=NOW_US - 9))).results[0]
    new = (await core.remember("u", memory("York", key="town"))).results[0]
    await core.update("u", new.id, "key", key="city")
    found = await core.get("u", old.id)
    assert (found.status, found.superseded_by) == (types_pb2.MEMORY_STATUS_SUPERSEDED, new.id)
    assert (await core.get("u", key="city")).content == "York"


async def test_a_musing_says_so(core: Core) -> None:
    """What was only mused about names that, is never sure, and stands behind what was agreed."""
    event = types_pb2.MEMORY_KIND_EVENT
    await said(core, "Maybe we could spend the August holiday in Malta some day", kind=event)
    await said(core, "We agreed to spend the August holiday in Bergen", -9, kind=event)
    hits = (await core.recall("u", "book the August holiday", min_score=0.0)).hits
    assert texts(hits)[0].startswith("We agreed")
    assert "only mused about" in hits[1].reasons


def appoint(core: Core, stand: Stand) -> None:
    """Gives the user a judge that says the same of every pair."""
    part = core.partitions.find(TENANT, "u")
    assert part is not None
    shapes = (3 * part.index.dim + 1, 1), (1,), (1, len(Stand))
    zeros = [np.zeros(shape, np.float32) for shape in shapes]
    part.judge = Judge(*zeros, np.eye(len(Stand), dtype=np.float32)[stand] * 9)


@pytest.mark.parametrize(
    ("newer", "importance", "is_marked"),
    [
        ("I no longer drink green tea at work", 2, True),
        ("I no longer drink green tea at work", 3, False),
        ("I no longer drink coffee in the morning", 2, False),
        ("I drink green tea at work and at home", 2, False),
    ],
)
async def test_a_plain_word_counts_where_the_judge_is_silent(
    core: Core, newer: str, importance: types_pb2.Importance, is_marked: bool
) -> None:
    """A word of an end marks what it is about, unless much hangs on that."""
    old = await said(core, "I drink green tea at work", -9, importance=importance)
    appoint(core, Stand.APART)
    new = await said(core, newer)
    assert (await core.get("u", old.id)).superseded_by == (new.id if is_marked else "")


@pytest.mark.parametrize(
    ("older", "newer", "is_conflict"),
    [
        ("Room 301 has a projector", "Room 302 has no projector", False),
        ("Room 301 has a projector", "Room 301 has no projector", True),
        ("The box 774 is on shelf 7", "The box 774 is on shelf 9", True),
        ("The key is in box 774", "The key is in box 777", True),
        ("会议室 301 有投影仪", "会议室 302 没有投影仪", False),
        ("会议在 3 点开始", "会议在 4 点才开始", True),
    ],
)
async def test_things_of_other_numbers_do_not_contradict(
    core: Core, older: str, newer: str, is_conflict: bool
) -> None:
    """What is said of a numbered thing contradicts nothing that is said of its neighbour."""
    old = await said(core, older, -9)
    appoint(core, Stand.CONTRADICTION)
    new = await said(core, newer)
    assert list(new.conflicting_ids) == ([old.id] if is_conflict else [])


async def test_what_the_judge_sets_against_a_stronger_word_is_told(core: Core) -> None:
    """An agent's news against the user's word is a conflict, and the answer names both sides."""
    old = await said(core, "I drink green tea in the morning", -9)
    appoint(core, Stand.UPDATE)
    agent = types_pb2.STATED_BY_AGENT
    new = await said(core, "I drink black tea in the morning", stated_by=agent)
    assert list(new.conflicting_ids) == [old.id]
    assert (await core.get("u", new.id)).status == CONFLICTED


@pytest.mark.parametrize(
    ("older", "newer", "fields", "mark"),
    [
        ("I am single in June", "I got married in June", {}, "outdated"),
        ("I never smoke", "I smoke a pack a day", {}, "contradicted"),
        ("I am single in June", "My cousin got married in June", {}, ""),
        ("I am single in June", "I got married in June", {"importance": 3}, ""),
        ("The red kettle is always on", "The blue kettle is not always on", {}, ""),
    ],
)
async def test_states_of_a_person(
    core: Core, older: str, newer: str, fields: dict[str, int], mark: str
) -> None:
    """Another state of the same person is a change or a contradiction, and nothing vital falls."""
    old = await said(core, older, -9, **fields)
    appoint(core, Stand.APART)
    new = await said(core, newer)
    found = await core.get("u", old.id)
    assert (found.superseded_by == new.id) == (mark == "outdated")
    assert (found.status == CONFLICTED) == (mark == "contradicted")
