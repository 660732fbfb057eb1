"""Signals that may tell requests that need no memory."""

import math

import numpy as np
import pytest

from recalld.bench import signals
from recalld.bench.fit import Mix
from recalld.bench.record_parts import CHANNEL_COUNT
from recalld.v1.recall_service_pb2 import Channel
from tests.bench.test_fit import recorded

ONE_EACH = Mix(np.ones(CHANNEL_COUNT), 0.0)


def question(keyword, needed=()):
    """A question whose memories share these words with it, and nothing else."""
    channels = np.zeros((len(keyword), CHANNEL_COUNT))
    channels[:, Channel.CHANNEL_KEYWORD - 1] = keyword
    return recorded(channels, list(needed))


def test_signals_of_a_question_by_hand():
    """Lead, height over the middle, and the weaker of two witnesses at its strongest."""
    asked = question([0.1, 0.9, 0.4])
    assert signals.lead(asked, ONE_EACH) == pytest.approx(0.5)
    assert signals.above_store(asked, ONE_EACH) == pytest.approx(0.5)
    assert signals.SIGNALS["best shared words"](asked, ONE_EACH) == pytest.approx(0.9)
    # Both vectors at nought are 0.3 below their background each.
    assert signals.fifth(asked, ONE_EACH) == pytest.approx(1 / (1 + math.exp(0.6 - 0.1)))
    six = question([0.0, 0.6, 0.5, 0.4, 0.3, 0.2])
    assert signals.fifth(six, ONE_EACH) == pytest.approx(1 / (1 + math.exp(0.6 - 0.2)))
    asked.channels[:, 0], asked.channels[:, 1] = [0.9, 0.5, 0.2], [0.1, 0.4, 0.8]
    assert signals.agreement(asked, ONE_EACH) == pytest.approx(0.4)


def test_a_signal_that_orders_all_requests_is_perfect():
    """AUROC is 1 where every request that needs a memory is above every one that needs none."""
    some = [question([0.9, 0.0], [0]), question([0.5, 0.1], [0]), question([0.2, 0.1])]
    table = signals.table({"words": some}, {"present": ONE_EACH})
    values = {row[0]: row[1] for row in table.rows}
    assert values["requests that need one / none"] == "2 / 1"
    assert values["top score, present weights"] == 1.0


def test_a_set_of_one_sort_is_left_out():
    """Where every request needs a memory there is nothing to tell apart."""
    table = signals.table({"all need one": [question([0.9], [0])]}, {"present": ONE_EACH})
    assert table.columns == ["signal"]
