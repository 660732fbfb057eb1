"""Recording of a real server's parts."""

import json
from datetime import timedelta

import numpy as np
import pytest

from recalld.bench import fit, ranked, record_parts
from recalld.bench.next_day import load
from recalld.bench.ranked import Corpus, Question, Record
from recalld.bench.target import connect, own_server
from recalld.v1.recall_service_pb2 import Channel
from tests.bench.test_next_day import scenario
from tests.bench.test_ranked import START


@pytest.fixture(scope="module")
def target():
    with own_server("hash") as address, connect(address) as server:
        yield server


def test_every_candidate_is_recorded_as_it_was_scored(target):
    """More memories than a slice holds: all are there, and weights and parts give their scores."""
    count = record_parts.SLICE_COUNT + 20
    records = [
        Record(str(i), f"note {i} about subject {i * 7}", START + timedelta(days=i))
        for i in range(count)
    ]
    questions = [Question("subject 14", frozenset(["2"]), "c"), Question("hm", frozenset(), "c")]
    corpus = Corpus("notes", records, questions)
    first, second = record_parts.of_corpus(target, corpus, "set", lambda count=1: None)
    assert len(first.served) == len(first.documents) == count
    assert first.documents[2].text == records[2].text
    assert first.needed.tolist() == [2] and second.needed.tolist() == []
    assert first.served.argmax() == 2
    assert first.channels[2, Channel.CHANNEL_KEYWORD - 1] > 0
    assert fit.served_mix(first).scores(first) == pytest.approx(first.served, abs=1e-6)


def test_recorded_order_is_the_one_served(target):
    """Asking for ten gives the ten best of what is recorded."""
    texts = ("red kettle", "blue kettle", "red door", "green lamp")
    records = [Record(str(i), t, START + timedelta(days=i)) for i, t in enumerate(texts)]
    corpus = Corpus("few", records, [Question("red kettle", frozenset("0"), "c")])
    (question,) = record_parts.of_corpus(target, corpus, "set", lambda count=1: None)
    (answer,) = ranked.replay(target, [corpus], "few").answers
    order = np.argsort(-question.served, kind="stable")
    assert [str(i) for i in order] == answer.ranked


def test_scenarios_are_recorded_with_their_labels(target, tmp_path):
    """All needed ones count, the best one should come first, other users are no candidates."""
    file = tmp_path / "next_day.jsonl"
    file.write_text(json.dumps(scenario(1)), encoding="utf-8")
    (store,) = load(file)
    (question,) = record_parts.of_next_day(target, store, "next-day", lambda count=1: None)
    mine = [i for i in store.items if i.user == store.cases[0].user]
    assert len(question.served) == len(mine) < len(store.items)
    assert question.all_counts and question.has_first
    assert question.needed_count == len(store.cases[0].must)
    best = next(i for i in mine if i.id == store.cases[0].best)
    assert [question.documents[i].text for i in question.firsts] == [best.content]
