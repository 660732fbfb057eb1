"""A partition's search, against a plain-Python one."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalld.index import search
from recalld.index.analyzer import Analyzer
from recalld.index.columns import IndexRow
from recalld.index.conditions import Filter, NumberIn, StringIn
from recalld.index.errors import BadPlan, BadVector
from recalld.index.filter import View
from recalld.index.partition import PartitionIndex
from recalld.index.plan import QueryPlan
from recalld.index.postings import SINGLE_HAN_UNIT
from recalld.scoring import params
from recalld.scoring.decay import decay_table
from recalld.scoring.explain import parts, recompute
from recalld.scoring.params import Channel, Fusion, RankParams, Scale
from tests.conformance.index_contract import DIM, unit_vectors
from tests.scoring import naive

PARAMS = RankParams(0.1, 0.2, relevance=Scale(-0.05, 0.3))
ANALYZER = Analyzer()
NOW = 10**15
DAY_US = 86_400_000_000
TEXTS = (
    "peanut allergy severe",
    "likes spicy food",
    "订单DD20261118-7742已发货",
    "firmware 4.10.2 installed",
    "firmware 4.10.3 installed",
    "住在杭州西湖区",
    "",
)
QUERIES = ("peanut food", "firmware 4.10.2", "DD20261118-7742 到哪了", "杭州", "allergy", "the")


def partition(exact_max: int = 50_000) -> PartitionIndex:
    """Make an empty partition."""
    return PartitionIndex(DIM, PARAMS, ANALYZER, exact_max)


@st.composite
def rows(draw):
    """Draw rows with distinct labels."""
    return [
        IndexRow(
            label,
            draw(st.sampled_from(TEXTS)),
            draw(st.integers(1, 8)),
            key=draw(st.sampled_from(["", "allergy", "home"])),
            status=draw(st.sampled_from([1, 1, 1, 2, 3])),
            importance=draw(st.integers(1, 4)),
            stated_by=draw(st.integers(1, 4)),
            confidence=draw(st.sampled_from([0.0, 0.5, 1.0])),
            create_time_us=draw(st.integers(1, 3)),
            anchor_time_us=NOW - draw(st.integers(0, 40)) * DAY_US,
        )
        for label in range(1, draw(st.integers(0, 12)) + 1)
    ]


def expected_score(row: IndexRow, vector, row_list, live, plan: QueryPlan) -> float:
    """Score one memory the slow way."""
    x = [0.0] * len(Channel)
    parts = 0 if plan.vectors is None else plan.vectors.shape[1] // DIM
    for part, (channel, scale) in enumerate(
        [(Channel.VECTOR, PARAMS), (Channel.RELEVANCE, PARAMS.relevance)][:parts]
    ):
        best = -math.inf
        columns = slice(part * DIM, (part + 1) * DIM)
        for query, weight in zip(plan.vectors, plan.vector_weights, strict=True):
            z = (naive.dot(query[columns], vector[columns]) - scale.mean) / scale.spread
            best = max(best, min(1, max(0, ((z * weight if z > 0 else z) + 3) / 10)))
        x[channel] = best if vector[columns].any() else 0.3
    documents = [list(ANALYZER.analyze(f"{r.text}\n{r.key}").words) for r in row_list]
    bm25 = naive.BM25(documents, live, SINGLE_HAN_UNIT)
    for text, weight in zip(plan.texts, plan.text_weights, strict=False):
        tokens = ANALYZER.analyze(text)
        place = row_list.index(row)
        evidence = bm25.score(tokens.words, place)[1]
        x[Channel.KEYWORD] = max(x[Channel.KEYWORD], weight * min(1, evidence / 2))
        share = 0.0
        rarest = math.log(1 + (bm25.count - 1 + 0.5) / 1.5)
        for word in tokens.identifiers:
            if word in documents[place]:
                share += min(1, bm25.idf(word) / rarest) ** 2 / len(tokens.identifiers)
        x[Channel.IDENTIFIER] = max(x[Channel.IDENTIFIER], weight * share)
        if row.key and (text == row.key or row.key in tokens.identifiers):
            x[Channel.KEY] = max(x[Channel.KEY], weight)
    used = [parts > 0] + [bool(plan.texts)] * 3 + [parts > 1] + [False] * 3
    mixed, background = (
        PARAMS.beside_relevance if parts > 1 else (PARAMS.weights, PARAMS.background)
    )
    weights = [w if u else 0.0 for w, u in zip(mixed, used, strict=True)]
    if not any(used):
        return 1.0
    base = naive.base(x, weights, background - 0.3 * (weights[0] + weights[4]))
    age = plan.view.now_us - row.anchor_time_us
    fade = naive.decay(decay_table(PARAMS).tolist(), row.kind, row.importance == 4, age)
    speaker = params.STATED_BY_FACTOR[row.stated_by] * (0.1 if row.outweighed else 1.0)
    sure = (0.8 + 0.2 * row.confidence) * speaker
    return base * fade * params.IMPORTANCE_FACTOR[row.importance] * sure


@settings(max_examples=150)
@given(rows(), st.data())
def test_a_search_equals_the_naive_one(table, data):
    """On random small partitions, under random filters, labels and scores are the naive ones."""
    index = partition()
    vectors = np.concatenate([unit_vectors(len(table), 3), unit_vectors(len(table), 5)], axis=1)
    # The relevance of every third memory is not known.
    vectors[::3, DIM:] = 0
    if table:
        index.add(table, vectors)
    live = [True] * len(table)
    for row in table:
        if data.draw(st.integers(0, 5)) == 0:
            index.remove([row.label])
            live[row.label - 1] = False
    count = data.draw(st.integers(0, 3))
    asked = unit_vectors(count, 4)
    if data.draw(st.booleans()):
        asked = np.concatenate([asked, unit_vectors(count, 6)], axis=1)
    texts = tuple(data.draw(st.lists(st.sampled_from(QUERIES), max_size=2)))
    kinds = data.draw(st.none() | st.frozensets(st.integers(1, 8), min_size=1))
    condition = Filter(must=(NumberIn("kind", kinds),)) if kinds else Filter()
    plan = QueryPlan(
        View(NOW),
        condition,
        asked if count else None,
        (1.0, 0.5, 0.25)[:count] or (1.0,),
        texts,
        (1.0, 0.5)[: len(texts)] or (1.0,),
        k=data.draw(st.integers(1, 15)),
    )
    ranking = index.search(plan)
    wanted = [
        r
        for r in table
        if live[r.label - 1] and not naive.visible(r, plan.view) and naive.matches(r, condition)
    ]
    assert ranking.matched == len(wanted)
    assert len(ranking) == min(plan.k, len(wanted))
    scores = {r.label: expected_score(r, vectors[r.label - 1], table, live, plan) for r in wanted}
    best = sorted(scores.values(), reverse=True)[: plan.k]
    assert np.allclose(ranking.scores, best, atol=1e-5)
    for place, label in enumerate(ranking.labels.tolist()):
        assert math.isclose(ranking.scores[place], scores[label], abs_tol=1e-5)
        assert math.isclose(recompute(parts(ranking, place)), ranking.scores[place], abs_tol=1e-6)


def many(count: int, kind: int = params.FACT) -> list[IndexRow]:
    """Make rows with distinct words and ages."""
    return [
        IndexRow(
            n,
            f"memory number w{n} about topic{n % 17}",
            kind,
            importance=1 + n % 4,
            confidence=(n % 5) / 4,
            create_time_us=n,
            anchor_time_us=NOW - (n % 90) * DAY_US,
        )
        for n in range(1, count + 1)
    ]


@pytest.mark.parametrize("k", [1, 5, 40])
def test_pruning_large_partitions_changes_no_answer(k, monkeypatch):
    """Above the scan limit the answer equals that of ranking everything."""
    monkeypatch.setattr(search, "SCAN_COUNT_MIN", 512)
    index, vectors = partition(), unit_vectors(3000)
    index.add(many(3000), vectors)
    for n, query in enumerate(unit_vectors(6, 9)):
        plan = QueryPlan(View(NOW), vectors=query[None], texts=(f"topic{n} w{n}",), k=k)
        everything = QueryPlan(View(NOW), vectors=query[None], texts=plan.texts, k=3000)
        pruned, full = index.search(plan), index.search(everything)
        assert pruned.considered < 3000 == full.considered
        assert pruned.labels.tolist() == full.labels.tolist()[:k]
        assert pruned.scores.tolist() == full.scores.tolist()[:k]


def test_an_identifier_beats_near_neighbours():
    """The memory with the exact version or number comes first, though others are nearer."""
    index, vectors = partition(), unit_vectors(60)
    table = [IndexRow(n, f"firmware 4.10.{n} on router", 1) for n in range(1, 60)]
    table.append(IndexRow(60, "parcel 48279 waits", 1))
    index.add(table, vectors)
    near_another = vectors[30:31]
    for text, label in (("firmware 4.10.2", 2), ("48279", 60)):
        assert index.search(QueryPlan(View(NOW), texts=(text,))).labels[0] == label
        hybrid = QueryPlan(View(NOW), vectors=near_another, texts=(text,))
        assert index.search(hybrid).labels[0] == label


def test_names_of_the_same_characters_are_told_apart():
    """林书瑶 finds 林书瑶 before 林瑶书, and the other way round."""
    index = partition()
    vector = unit_vectors(1)
    index.add([IndexRow(1, "林书瑶是同事", 1), IndexRow(2, "林瑶书是同事", 1)], vector[[0, 0]])
    for text, label in (("林书瑶", 1), ("林瑶书", 2)):
        assert index.search(QueryPlan(View(NOW), texts=(text,))).labels[0] == label


def test_fresh_trifles_do_not_push_out_a_lasting_fact():
    """A year-old fact that matches beats two hundred new events that match less."""
    index = partition()
    base = unit_vectors(1, 5)[0].astype(np.float64)
    side = unit_vectors(400, 6).astype(np.float64)
    side -= (side @ base)[:, None] * base
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    vectors = (0.6 * base + 0.8 * side).astype(np.float32)
    vectors[0] = (0.8 * base + 0.6 * side[0]).astype(np.float32)
    fact = IndexRow(1, "allergy", params.FACT, anchor_time_us=NOW - 365 * DAY_US)
    trifles = [
        IndexRow(n, "trifle", params.EVENT, anchor_time_us=NOW, create_time_us=NOW)
        for n in range(2, 401)
    ]
    index.add([fact, *trifles], vectors)
    plan = QueryPlan(View(NOW), vectors=base.astype(np.float32)[None])
    assert index.search(plan).labels[0] == 1


def test_a_pure_filter_answers_newest_first():
    """Without text and vector every base is 1 and the freshest of a kind comes first."""
    index = partition()
    table = [
        IndexRow(n, "", params.STATE, create_time_us=n, anchor_time_us=NOW - (10 - n) * DAY_US)
        for n in range(1, 6)
    ]
    index.add(table, unit_vectors(5))
    ranking = index.search(QueryPlan(View(NOW), k=3))
    assert ranking.labels.tolist() == [5, 4, 3]
    assert ranking.base.tolist() == [1, 1, 1]


@settings(max_examples=30)
@given(st.integers(1, 40), st.sampled_from(Fusion))
def test_a_filter_never_shortens_the_answer(k, fusion):
    """As many hits come back as match, up to k, under both fusions."""
    index = partition()
    table = [IndexRow(n, f"w{n}", 1 + n % 3, agent_id=f"a{n % 5}") for n in range(1, 31)]
    index.add(table, unit_vectors(30))
    condition = Filter(must=(StringIn("agent_id", frozenset({"a2"})),))
    plan = QueryPlan(View(NOW), condition, unit_vectors(1, 2), texts=("w1 w2",), k=k, fusion=fusion)
    ranking = index.search(plan)
    assert len(ranking) == min(k, 6)
    assert all(label % 5 == 2 for label in ranking.labels)


def test_excluded_labels_do_not_answer():
    """A memory asked about by itself is not among its own neighbours, and is counted as named."""
    index, vectors = partition(), unit_vectors(5)
    index.add(many(5), vectors)
    plan = QueryPlan(View(NOW), vectors=vectors[:1], exclude_labels=frozenset({1, 99}))
    ranking = index.search(plan)
    assert sorted(ranking.labels.tolist()) == [2, 3, 4, 5]
    assert ranking.excluded.sum() - ranking.excluded[0] == 1


def test_unfit_plans_are_refused():
    """Limits of the plan raise and name the field."""
    index = partition()
    for plan in (
        QueryPlan(View(NOW), k=0),
        QueryPlan(View(NOW), min_score=math.nan),
        QueryPlan(View(NOW), texts=("a", "b")),
        QueryPlan(View(NOW), texts=("a",), weights={Channel.KEY: -1.0}),
    ):
        with pytest.raises(BadPlan):
            index.search(plan)
    with pytest.raises(BadVector):
        index.search(QueryPlan(View(NOW), vectors=unit_vectors(1)[:, :5]))


def test_relevance_is_not_asked_among_very_many(monkeypatch):
    """Above the bound a search goes without relevance, and its answer says so by its weights."""
    index, base = partition(), unit_vectors(6, 3)
    index.add(many(6), np.concatenate([base, unit_vectors(6, 5)], axis=1))
    query = np.concatenate([base[:1], unit_vectors(1, 6)], axis=1)
    assert index.search(QueryPlan(View(NOW), vectors=query)).weights.channels[Channel.RELEVANCE] > 0
    monkeypatch.setattr(search, "RELEVANCE_COUNT_MAX", 5)
    ranking = index.search(QueryPlan(View(NOW), vectors=query))
    alone = index.search(QueryPlan(View(NOW), vectors=query[:, :DIM]))
    assert ranking.weights.channels[Channel.RELEVANCE] == 0
    assert ranking.scores.tolist() == alone.scores.tolist()
