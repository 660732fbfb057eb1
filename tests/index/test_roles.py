"""The role channel, on examples that are unit vectors along axes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.index.columns import IndexRow
from recalld.index.filter import View
from recalld.index.partition import PartitionIndex
from recalld.index.plan import QueryPlan
from recalld.index.role_catalogue import Catalogue, Role, Situation
from recalld.index.roles import (
    CHUNK_COUNT,
    KEY_SHARE,
    KIND_SHARE,
    TEMPERATURE,
    Examples,
    RoleModel,
)
from recalld.scoring.explain import parts, recompute
from recalld.scoring.params import DECISION, FACT, PREFERENCE, Channel, RankParams

DIM = 8
NOW = 10**15
CATALOGUE = Catalogue(
    {
        "diet": Role({}, ["food", "allergy"], [], ["no nuts", "no milk"]),
        "home": Role({}, ["location.home"], [], ["lives here"]),
        "decision": Role({}, [], [DECISION], ["was decided"]),
    },
    {
        "snack": Situation({"diet": 1.0, "home": 0.2}, ["a snack", "lunch"]),
        "route": Situation({"home": 0.8}, ["the way home"]),
    },
)


def axis(number: int, *, towards: int = 0, share: float = 0.0) -> np.ndarray:
    """A unit vector along an axis, leaning towards another one."""
    vector = np.zeros(DIM, np.float32)
    vector[number] = 1.0
    vector[towards] += share
    return vector / np.linalg.norm(vector)


def model() -> RoleModel:
    """Example memories along axes 0 to 3, example requests along axes 4 to 6."""
    memories = np.stack([axis(n) for n in range(4)])
    requests = np.stack([axis(n) for n in range(4, 7)])
    return RoleModel(CATALOGUE, memories, requests)


def rows(*given: tuple[str, int]) -> list[IndexRow]:
    """Rows by key and kind."""
    return [IndexRow(n, "", kind, key=key) for n, (key, kind) in enumerate(given, 1)]


def partition(vectors: np.ndarray, table: list[IndexRow]) -> PartitionIndex:
    """A partition of these rows."""
    index = PartitionIndex(DIM, RankParams(0.0, 0.1))
    index.add(table, vectors)
    return index


def scores(index: PartitionIndex, ask) -> list[float]:
    """Role scores of every row."""
    generation = index.generation
    vectors, columns = generation.blocks[0].vectors, generation.columns
    return generation.roles.scores(ask, vectors, columns).tolist()


def naive_shares(vector, vectors, owners, centre, fade):
    """Shares of one vector, word by word."""

    def unit(v):
        return v / math.sqrt(sum(x * x for x in v))

    apart = [unit(v - centre) for v in vectors]
    own = unit(vector - centre)
    best = {}
    for example, owner in zip(apart, owners, strict=True):
        cosine = float(sum(a * b for a, b in zip(own, example, strict=True)))
        best[owner] = max(best.get(owner, -1.0), cosine)
    top = max(best.values())
    raw = [math.exp((best[owner] - top) / TEMPERATURE) for owner in sorted(best)]
    sure = min(1.0, max(0.0, (top - fade[0]) / (fade[1] - fade[0])))
    return [value / sum(raw) * sure for value in raw]


@given(st.integers(0, 10_000), st.lists(st.integers(1, 3), min_size=1, max_size=5))
def test_shares(seed: int, counts: list[int]) -> None:
    """Shares are a softmax over the nearest example of each owner, faded where none is near."""
    rng = np.random.default_rng(seed)
    count = sum(counts)
    vectors = rng.normal(size=(count + 3, DIM)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors, asked = vectors[:count], vectors[count:]
    if count == 1:  # an only example lies at the centre, and has no direction of its own
        return
    owners = [n for n, size in enumerate(counts) for _ in range(size)]
    texts = [[f"e{n}-{i}" for i in range(size)] for n, size in enumerate(counts)]
    found = Examples.of(texts, vectors, (0.2, 0.6)).shares(asked)
    centre = vectors.mean(axis=0)
    for row, vector in zip(found, asked, strict=True):
        assert np.allclose(
            row, naive_shares(vector, vectors, owners, centre, (0.2, 0.6)), atol=1e-4
        )


def test_languages_are_centred_apart() -> None:
    """What all Chinese examples share, and all English ones, is no likeness between them."""
    vectors = np.stack([axis(0, towards=6, share=5), axis(1, towards=6, share=5)])
    vectors = np.concatenate([vectors, [axis(0, towards=7, share=5), axis(1, towards=7, share=5)]])
    examples = Examples.of([["甲"], ["乙"], ["a"], ["b"]], vectors, (0.0, 0.5))
    shares = examples.shares(vectors)
    assert np.allclose(shares[0], shares[2]), "the same thing, said in two languages"
    assert np.allclose(shares[0][[0, 2]], 0.5, atol=0.01)


def test_a_situation_is_recognised() -> None:
    """A request like an example names its situation and wants the roles that stand out in it."""
    ask = model().ask(axis(4)[None], (1.0,))
    assert ask.situation == "snack"
    # The table less its mean over both situations: diet 1 - 0.5, home 0.2 - 0.5 (cut at 0).
    assert np.allclose(ask.weights, [0.5, 0.0, 0.0], atol=1e-3)


def test_an_unknown_request_wants_nothing() -> None:
    """A request unlike every example names no situation and weighs nothing."""
    ask = model().ask(axis(0)[None], (1.0,))
    assert ask.situation == ""
    assert not ask.weights.any()


def test_turns_before_count_less() -> None:
    """What an earlier turn wants is wanted by its weight, and does not name the situation."""
    ask = model().ask(np.stack([axis(0), axis(6)]), (1.0, 0.5))
    assert ask.situation == ""
    # home in "route": (0.8 - 0.5) by half.
    assert np.allclose(ask.weights, [0.0, 0.15, 0.0], atol=1e-3)


@pytest.mark.parametrize(
    ("key", "role"),
    [
        ("allergy", 0),
        ("Allergy", 0),
        ("food.dislike.raw", 0),
        ("location.home", 1),
        ("location.home.city", 1),
        ("location", -1),
        ("foods", -1),
        ("", -1),
    ],
)
def test_role_of_key(key: str, role: int) -> None:
    """A key has the role of its longest listed prefix, cut at dots."""
    assert model().role_of_key(key) == role


def test_scores() -> None:
    """A row is wanted for what its text, its key and its kind make it good for."""
    ask = model().ask(axis(4)[None], (1.0,))
    table = rows(("", FACT), ("", FACT), ("allergy", FACT), ("location.home", FACT), ("", DECISION))
    vectors = np.stack([axis(0), axis(2), axis(2), axis(0), axis(0)])
    want = float(ask.weights[0])
    expected = [
        want,
        0.0,
        KEY_SHARE * want,
        (1 - KEY_SHARE) * want,
        (1 - KIND_SHARE) * want,
    ]
    assert np.allclose(scores(partition(vectors, table), ask), expected, atol=1e-3)


def test_rows_are_classified_once_and_whole() -> None:
    """Rows that come in parts, and more than one chunk of them, score as all at once."""
    count = CHUNK_COUNT + 40
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(count, DIM)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    table = rows(*[("", PREFERENCE)] * count)
    ask = model().ask(axis(4)[None], (1.0,))
    whole = partition(vectors, table)
    grown = partition(vectors[:10], table[:10])
    assert scores(grown, ask) == pytest.approx(scores(whole, ask)[:10])
    grown.add(table[10:], vectors[10:])
    assert scores(grown, ask) == pytest.approx(scores(whole, ask), abs=1e-6)


def test_changed_rows_score_anew() -> None:
    """A new key or kind counts at once, and so does the text of rows left after a compaction."""
    ask = model().ask(axis(4)[None], (1.0,))
    want = float(ask.weights[0])
    table = rows(*[("", FACT)] * 100)
    vectors = np.stack([axis(2)] * 99 + [axis(0)])
    index = partition(vectors, table)
    assert scores(index, ask)[99] == pytest.approx(want, abs=1e-3)
    index.update([IndexRow(1, "", DECISION), IndexRow(2, "", FACT, key="allergy")])
    index.remove(list(range(3, 100)))
    labels = index.generation.columns.labels[: index.generation.columns.count].tolist()
    found = dict(zip(labels, scores(index, ask), strict=True))
    assert found[2] == pytest.approx(KEY_SHARE * want, abs=1e-3)
    assert found[100] == pytest.approx(want, abs=1e-3)


def test_search_weighs_roles() -> None:
    """A search that asks for roles puts the needed memory first, and its parts make its score."""
    ask = model().ask(axis(4)[None], (1.0,))
    index = partition(np.stack([axis(2), axis(0), axis(3)]), rows(*[("", FACT)] * 3))
    ranking = index.search(QueryPlan(View(NOW), vectors=axis(4)[None], roles=ask))
    assert ranking.labels[0] == 2
    assert ranking.normalised[Channel.ROLE, 0] == pytest.approx(float(ask.weights[0]), abs=1e-3)
    assert ranking.weights.channels[Channel.ROLE] > 0
    for place in range(3):
        assert recompute(parts(ranking, place)) == pytest.approx(ranking.scores[place], abs=1e-6)


def test_search_without_roles() -> None:
    """A search that does not ask for roles classifies nothing and gives the channel no weight."""
    index = partition(np.stack([axis(2), axis(0)]), rows(("", FACT), ("", FACT)))
    ranking = index.search(QueryPlan(View(NOW), vectors=axis(4)[None]))
    assert ranking.weights.channels[Channel.ROLE] == 0
    assert index.generation.roles.count == 0
