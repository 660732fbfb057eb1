"""Cues in a partition: kept through every write, and scored as a slow twin scores them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.index.cues import NEAR_FROM, NEAR_TO, CueBlock, score_cues
from recalld.index.embedder import Calibration, RequestBackground
from recalld.index.errors import BadLabel, BadVector
from recalld.index.filter import View
from recalld.index.partition import PartitionIndex
from recalld.index.plan import QueryPlan
from recalld.scoring.affinity import cues_into
from recalld.scoring.params import Channel, RankParams
from tests.conformance.index_contract import unit_vectors
from tests.index.test_partition import NOW, many

DIM = unit_vectors(1).shape[1]
SCALE = Calibration(0.1, 0.2)
BACKGROUND = RequestBackground(unit_vectors(2, 11) * np.float32(0.5), SCALE)
PARAMS = RankParams(mean=0.0, spread=0.2)
OFF = {Channel.ROLE: 0.0}


def partition() -> PartitionIndex:
    """An empty one that compares cues."""
    return PartitionIndex(DIM, PARAMS, requests=BACKGROUND)


def asked(vector: np.ndarray, **fields: object) -> QueryPlan:
    """A request by vector alone, with cues at their usual weight."""
    return replace(
        QueryPlan(View(NOW), vectors=vector[None], weights=OFF, cue_weight=1.0, k=10),
        **fields,  # type: ignore[arg-type]
    )


_WRITES = st.lists(
    st.tuples(st.integers(1, 6), st.one_of(st.none(), st.integers(0, 3))), max_size=12
)


@given(writes=_WRITES)
def test_a_block_holds_what_a_dictionary_holds(writes: list[tuple[int, int | None]]) -> None:
    """After any writes each memory has its last cues, and older views are unchanged."""
    block, held = CueBlock(), dict[int, np.ndarray]()
    views = [(block, dict(held))]
    for seed, (label, count) in enumerate(writes):
        if count is None:
            block = block.without([label])
            held.pop(label, None)
        else:
            vectors = unit_vectors(count, seed)
            block = block.changed({label: vectors})
            held[label] = vectors
        views.append((block, dict(held)))
    for view, expected in views:
        for label in range(1, 7):
            found = view.vectors_of(label)
            wanted = expected.get(label, np.zeros((0, 0)))
            assert len(found) == len(wanted)
            assert found.tolist() == wanted.tolist()
            mine = view.numbers[: view.count][view.labels[: view.count] == label]
            assert mine.tolist() == list(range(len(wanted)))


@given(
    cosines=st.lists(st.lists(st.floats(-1, 1, width=32), max_size=4), min_size=1, max_size=5),
    weights=st.lists(st.sampled_from([1.0, 0.5]), min_size=1, max_size=2),
)
def test_scores_are_those_of_the_nearest_cue(
    cosines: list[list[float]], weights: list[float]
) -> None:
    """Each row has the score of its best cue under its best request; the first of equals counts."""
    nothing_shared = np.zeros((1, 2), np.float32)
    block = CueBlock(background=RequestBackground(nothing_shared, SCALE))
    for label, row in enumerate(cosines, 1):
        vectors = np.array([[c, np.sqrt(max(0.0, 1 - c * c))] for c in row], np.float32)
        block = block.changed({label: vectors.reshape(-1, 2)})
    if not block.count:
        return
    requests = np.tile(np.array([[1.0, 0.0]], np.float32), (len(weights), 1))
    rows = block.labels[: block.count] - 1
    found = score_cues(block, rows, (requests, tuple(weights)), len(cosines))
    for place, row in enumerate(cosines):
        spreads = [(np.float32(c) - SCALE.mean) / SCALE.spread for c in row]
        scores = [
            min(1.0, max(0.0, (s - NEAR_FROM) / (NEAR_TO - NEAR_FROM))) * max(weights)
            for s in spreads
        ]
        best = max(scores, default=0.0)
        if found is None:
            assert best == pytest.approx(0.0, abs=1e-5)
            continue
        assert found.scores[place] == pytest.approx(best, abs=1e-4)
        if found.numbers[place] >= 0:
            assert scores[found.numbers[place]] == pytest.approx(best, abs=1e-4)
        else:
            assert found.scores[place] == found.cosines[place] == 0


def test_a_matching_cue_wins() -> None:
    """A memory whose cue is the request comes first, by that cue; others keep their score."""
    index, vectors = partition(), unit_vectors(6)
    request = vectors[5]
    index.add(many(5), vectors[:5])
    plain = index.search(asked(request))
    assert plain.cues is None
    last = int(plain.labels[-1])
    row = next(row for row in many(5) if row.label == last)
    index.update([row], {last: np.stack([vectors[0], request])})
    ranked = index.search(asked(request))
    assert ranked.labels[0] == last
    assert ranked.cues.tolist()[0] == 1
    assert ranked.evidence[Channel.ROLE, 0] == 1
    assert ranked.raw[Channel.ROLE, 0] == pytest.approx(1, abs=1e-6)
    others = dict(zip(ranked.labels.tolist(), ranked.scores.tolist(), strict=True))
    for label, score in zip(plain.labels.tolist(), plain.scores.tolist(), strict=True):
        assert others[label] == score or label == last


@pytest.mark.parametrize("plan", [{"cue_weight": 0.0}, {"vectors": None, "texts": ("w1",)}])
def test_cues_that_are_not_asked_say_nothing(plan: dict[str, object]) -> None:
    """Without a weight or without a vector cues change nothing."""
    index, vectors = partition(), unit_vectors(3)
    index.add(many(3), vectors, {2: vectors[:1]})
    ranked = index.search(asked(vectors[0], **plan))
    assert not ranked.evidence[Channel.ROLE].any()
    assert ranked.cues is None


def test_cues_survive_every_write_but_removal() -> None:
    """Updates, renames, replacements and compaction keep cues; removal and new ones end them."""
    index, vectors, cues = partition(), unit_vectors(200), unit_vectors(3, 7)
    table = many(200)
    index.add(table, vectors, {180: cues[:2], 7: cues[2:]})
    before = index.generation
    index.update([replace(table[179], key="a.b")])
    index.update([replace(table[179], status=2)])
    index.replace([table[179]], vectors[:1])
    assert index.cues_of(180).tolist() == cues[:2].tolist()
    index.remove(list(range(1, 151)))
    assert index.generation.columns.count == 50
    assert index.cues_of(180).tolist() == cues[:2].tolist()
    assert len(index.cues_of(7)) == 0
    ranked = index.search(asked(cues[1], k=50))
    assert dict(zip(ranked.labels.tolist(), ranked.cues.tolist(), strict=True))[180] == 1
    index.update([table[179]], {180: cues[2:]})
    assert index.cues_of(180).tolist() == cues[2:].tolist()
    index.replace([table[179]], vectors[:1], {180: cues[:0]})
    assert index.generation.cues.count == 0
    assert before.cues.vectors_of(180).tolist() == cues[:2].tolist()


def test_unfit_cues_change_nothing() -> None:
    """Cues of a row that is not written, or unfit vectors of them, raise and leave no trace."""
    index, vectors = partition(), unit_vectors(3)
    index.add(many(2), vectors[:2])
    before = index.generation
    row = many(3)[2:]
    for cues, error in (
        ({9: vectors[:1]}, BadLabel),
        ({3: vectors[:1] * np.float32(np.nan)}, BadVector),
        ({3: vectors[:1, :4]}, BadVector),
    ):
        with pytest.raises(error):
            index.add(row, vectors[2:], cues)
    with pytest.raises(BadLabel):
        index.update(many(1), {2: vectors[:1]})
    with pytest.raises(BadVector):
        index.replace(many(1), vectors[:1], {1: vectors[:1] * 2})
    assert index.generation is before


def cosines(block: CueBlock, request: np.ndarray) -> np.ndarray:
    """Cosines of all cues with a request, however far they are."""
    assert block.background is not None
    count = block.count
    cues = block.vectors[:count], block.centres[:count], block.stretches[:count]
    found, scores = np.empty(count, np.float32), np.empty(count, np.float32)
    asked = request[None], np.ones(1, np.float32)
    scale = np.array([0.0, 1.0, -2.0, 2.0])
    assert cues_into(cues, block.background.centres, asked, scale, found, scores) == count
    assert np.allclose(scores, (found + 2) / 4, atol=1e-6)
    return found


def test_a_cue_at_the_centre_is_like_nothing() -> None:
    """A cue that is just what all requests share is as near to any request as to none."""
    centre = np.array([[1.0, 0.0]], np.float32)
    block = CueBlock(background=RequestBackground(centre, Calibration(0.0, 0.2)))
    block = block.changed({1: centre})
    assert cosines(block, np.array([0.0, 1.0], np.float32)).tolist() == [0.0]
    assert cosines(block, centre[0]).tolist() == [0.0]


def test_what_requests_share_is_taken_off() -> None:
    """Cosines are those of the rests of cue and request, each without the centre nearest to it."""
    background, vectors = BACKGROUND, unit_vectors(12, 5)
    block = CueBlock(background=background).changed({1: vectors[:6], 2: vectors[6:11]})
    rests = []
    for vector in vectors.astype(np.float64):
        centre = max(background.centres.astype(np.float64), key=lambda c: float(c @ vector))
        rests.append((vector - centre) / np.linalg.norm(vector - centre))
    expected = [float(rest @ rests[11]) for rest in rests[:11]]
    assert cosines(block, vectors[11]) == pytest.approx(expected, abs=1e-5)
