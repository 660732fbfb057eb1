"""Leaving a channel out."""

from pathlib import Path

import pytest

from recalld.bench import ablation, ranked
from recalld.bench.evaluate import Options, evaluate
from recalld.bench.report import Report
from recalld.bench.target import connect, own_server
from recalld.v1.recall_service_pb2 import Channel
from tests.bench.test_ranked import START


def test_names_are_the_channels_of_the_wire():
    """A channel is named as in the contract, in small letters; anything else is refused."""
    ablation.check(["vector", "relevance", "keyword", "identifier", "key"])
    with pytest.raises(ValueError, match="unknown channel 'vectors': one of vector, relevance"):
        ablation.check(["vector", "vectors"])


def test_a_channel_left_out_weighs_nothing():
    """The request carries weight 0 for that channel alone, and no weight where none is left out."""
    (weight,) = ablation.weights("keyword")
    assert (weight.channel, weight.weight) == (Channel.CHANNEL_KEYWORD, 0.0)
    assert ablation.weights(None) == []


def test_figures_without_a_channel_stand_beside_the_whole():
    """Flat figures carry the channel's name, and the table begins with all channels."""
    whole = Report({"n": 2, "hit_at_5": 0.75}, notes=["kept"], baseline={"hit_at_5": 0.5})
    report = ablation.added(whole, {"key": {"n": 2, "hit_at_5": 0.25}})
    assert report.figures == {"n": 2, "hit_at_5": 0.75, "without_key_hit_at_5": 0.25}
    assert report.tables[-1].rows == [["-", 0.75], ["key", 0.25]]
    assert (report.notes, report.baseline) == (["kept"], {"hit_at_5": 0.5})
    assert ablation.added(whole, {}) is whole


def test_cases_have_no_ranking_to_leave_a_channel_out_of():
    """Cases pass or fail."""
    with pytest.raises(ValueError, match="no ranking"):
        evaluate("cases", Path("any"), Options(without=("key",)))


def test_words_are_not_heard_without_their_channel():
    """On a real server the rare word decides only while its channel counts."""
    texts = ["the kettle is in the cupboard", "an umbrella hangs at the zanzibar door"]
    records = [ranked.Record(str(i), text, START) for i, text in enumerate(texts)]
    corpus = ranked.Corpus("words", records, [ranked.Question("zanzibar", frozenset("1"), "c")])
    with own_server("hash") as address, connect(address) as target:
        replayed = ranked.replay(target, [corpus], "words", ("keyword",))
    assert replayed.answers[0].ranked[0] == "1"
    assert set(replayed.ablated) == {"keyword"}
    assert replayed.ablated["keyword"][0].top_score < replayed.answers[0].top_score
