"""The set of cues, and its replay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recalld.bench import eval_cues
from recalld.bench.target import connect
from recalld.client.testing import RunningServer
from recalld.server.claims import Claim
from tests.tidy.tree import ROOT

CUED = {"content": "zzz", "relevant_when": ["painting a wall"], "requests": ["which brush", "red"]}


def test_the_set_is_as_described() -> None:
    """The set in the repository holds 30 memories with cues, 150 without, and useless requests."""
    items, unrelated = eval_cues.load(ROOT / eval_cues.SET)
    cued = [item for item in items if item.requests]
    assert (len(cued), len(items) - len(cued), len(unrelated)) == (30, 150, 20)
    assert all(1 <= len(item.cues) <= 3 for item in cued)
    assert len({item.content for item in items}) == len(items)


def test_no_request_shares_a_word_with_what_it_needs() -> None:
    """No request of the set shares a word with its memory or with the cues of it."""
    items, _ = eval_cues.load(ROOT / eval_cues.SET)
    for item in items:
        for text in item.requests:
            for other in (item.content, *item.cues):
                assert not Claim(text).content & Claim(other).content, (text, other)


def test_both_rounds_are_replayed(tmp_path: Path, shared_server: RunningServer) -> None:
    """A replay judges each half of the memories, with cues and without, on a real server."""
    rows = [CUED, {**CUED, "content": "yyy", "requests": ["yyy"]}, {"content": "tea"}]
    lines = [json.dumps(row) for row in [*rows, {"unrelated_request": "why"}]]
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    with connect(shared_server.target) as target:
        figures = eval_cues.run(target, path).figures
    assert figures["n"] == 4
    for name in ("with", "without"):
        assert figures[f"{name}_judged_hit_at_5"] == pytest.approx(1.0)
        assert figures[f"{name}_drawn"] == pytest.approx(0.0)
