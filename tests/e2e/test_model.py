"""The real model behind a real server."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recalld.client.testing import running_server
from recalld.index.embedder import default_model_dir
from recalld.v1 import recall_service_pb2 as pb
from tests.server.core import memory, remember_request, scope
from tests.server.stubs import Stubs

MODEL_DIR = default_model_dir(os.environ)
TEXTS = [
    "plays badminton on Thursday evenings",
    "the rent goes up in spring",
    "每天早上骑自行车上班",
    "is learning to bake sourdough bread",
    "孩子下个月要参加钢琴考试",
]
QUESTIONS = {
    "what sport does the user do": 0,
    "上下班用什么交通工具": 2,
    "a present for somebody who likes the oven": 3,
    "乐器练习安排": 4,
}


@pytest.mark.model
@pytest.mark.skipif(not (MODEL_DIR / "model.onnx").exists(), reason="the model is not built")
def test_recall_by_meaning(tmp_path: Path) -> None:
    """With the real model a request finds the memory that it means within the first two."""
    with (
        running_server(data_dir=tmp_path, embedder="onnx") as server,
        Stubs(server.target) as stubs,
    ):
        made = [memory(text) for text in TEXTS]
        stubs.memory.Remember(remember_request("u", *made), timeout=60)
        for question, place in QUESTIONS.items():
            request = pb.RecallRequest(scope=scope("u"), text=question, k=2, min_score=0.0)
            answer = stubs.recall.Recall(request, timeout=60)
            assert not answer.degraded
            assert TEXTS[place] in [hit.memory.content for hit in answer.hits], question


@pytest.mark.model
@pytest.mark.skipif(not (MODEL_DIR / "model.onnx").exists(), reason="the model is not built")
def test_a_cue_leads_to_what_no_word_leads_to(tmp_path: Path) -> None:
    """With the real model a cue brings its memory first, by its name, also after a kill."""
    made = [memory(text) for text in TEXTS]
    made.append(memory("Knee ligament torn last winter", relevant_when=["planning exercise"]))
    request = pb.RecallRequest(scope=scope("u"), text="set me up a fitness routine", k=3)
    with running_server(data_dir=tmp_path, embedder="onnx") as server:
        with Stubs(server.target) as stubs:
            stubs.memory.Remember(remember_request("u", *made), timeout=60)
            before = stubs.recall.Recall(request, timeout=60).hits
        server.kill()
        server.restart()
        with Stubs(server.target) as stubs:
            after = stubs.recall.Recall(request, timeout=60).hits
    assert before[0].memory.content == made[-1].content
    assert "a cue of the writer: planning exercise" in before[0].reasons
    assert [(hit.memory.id, hit.reasons) for hit in after] == [
        (hit.memory.id, hit.reasons) for hit in before
    ]
    # All that changed is their age, by seconds.
    assert [hit.score for hit in after] == pytest.approx([hit.score for hit in before], abs=1e-4)


@pytest.mark.model
@pytest.mark.skipif(not (MODEL_DIR / "model.onnx").exists(), reason="the model is not built")
def test_small_talk_is_near_no_cue(tmp_path: Path) -> None:
    """Short utterances that ask for nothing bring up no memory by its cue."""
    made = memory("sesame closes my throat", relevant_when=["ordering food", "点外卖"])
    with (
        running_server(data_dir=tmp_path, embedder="onnx") as server,
        Stubs(server.target) as stubs,
    ):
        stubs.memory.Remember(remember_request("u", made), timeout=60)
        for text in ("stop", "got it", "cheers, that's all", "明白", "what are your opening hours"):
            request = pb.RecallRequest(scope=scope("u"), text=text, min_score=0.0)
            (hit,) = stubs.recall.Recall(request, timeout=60).hits
            assert not any("cue" in reason for reason in hit.reasons), text


@pytest.mark.model
@pytest.mark.skipif(not (MODEL_DIR / "model.onnx").exists(), reason="the model is not built")
@pytest.mark.parametrize(
    ("older", "beside", "newer", "question"),
    [
        (
            "I live in a flat by the harbour in Kiel",
            "My brother moved out of Kiel last week",
            "The removal van left Kiel at noon, first night in our new house in Graz",
            "Where do I live?",
        ),
        (
            "我在银行做柜员",
            "我表姐以前也在银行上班",
            "上周办完离职手续，今天去花店报到",
            "我是做什么工作的？",
        ),
        (
            "I drink coffee every morning",
            "My sister drinks tea every morning",
            "I no longer drink coffee",
            "What do I drink in the morning?",
        ),
    ],
)
def test_an_update_is_marked(
    tmp_path: Path, older: str, beside: str, newer: str, question: str
) -> None:
    """News of a change, in plain words or not, marks the older statement, and no other."""
    with (
        running_server(data_dir=tmp_path, embedder="onnx") as server,
        Stubs(server.target) as stubs,
    ):
        ids = [
            stubs.memory.Remember(remember_request("u", memory(text)), timeout=60).results[0].id
            for text in (older, beside, newer)
        ]
        request = pb.RecallRequest(scope=scope("u"), text=question, k=3, min_score=0.0)
        hits = stubs.recall.Recall(request, timeout=60).hits
        found = {hit.memory.id: hit for hit in hits}
        assert "possibly outdated" in found[ids[0]].reasons
        assert found[ids[0]].memory.superseded_by == ids[2]
        assert "possibly outdated" not in found[ids[1]].reasons
        assert found[ids[2]].score > found[ids[0]].score
