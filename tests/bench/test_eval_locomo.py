"""LoCoMo files."""

import json
from datetime import UTC, datetime

import pytest

from recalld.bench import eval_locomo
from recalld.bench.datasets import DatasetError

SAMPLE = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Ann",
        "speaker_b": "Bo",
        "session_2_date_time": "12:05 am on 1 June, 2023",
        "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "Back home"}],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "Look", "blip_caption": "a heron"},
            {"speaker": "Bo", "dia_id": "D1:2", "text": "Nice"},
        ],
    },
    "qa": [
        {"question": "What was it?", "answer": "a heron", "category": 4, "evidence": ["D1:1"]},
        {"question": 7, "adversarial_answer": "x", "category": 5, "evidence": ["D:1:2; D9:9"]},
    ],
}


def test_turns_carry_speaker_caption_and_time(tmp_path):
    """A turn is remembered as `speaker: text [caption]`, sessions in order of their number."""
    (tmp_path / "locomo.json").write_text(json.dumps([SAMPLE]), encoding="utf-8")
    (tmp_path / "evidence_audit.json").write_text('[{"question_id": "q"}]', encoding="utf-8")
    (corpus,) = eval_locomo.load(tmp_path)
    texts = [(r.id, r.text) for r in corpus.records]
    assert texts == [
        ("D1:1", "Ann: Look [a heron]"),
        ("D1:2", "Bo: Nice"),
        ("D2:1", "Bo: Back home"),
    ]
    assert corpus.records[0].time == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert corpus.records[2].time == datetime(2023, 6, 1, 0, 5, tzinfo=UTC)


def test_questions_carry_category_and_gold(tmp_path):
    """Questions may be numbers, and stray evidence is dropped."""
    file = tmp_path / "locomo.json"
    file.write_text(json.dumps([SAMPLE]), encoding="utf-8")
    first, second = eval_locomo.load(file)[0].questions
    assert (first.category, first.gold) == ("4 single-hop", {"D1:1"})
    assert (second.text, second.category, second.gold) == ("7", "5 adversarial", {"D1:2"})


def test_dirty_evidence_is_read():
    """Several ids in a string, a stray colon, a leading zero and a bare letter are understood."""
    known = {"D8:6", "D9:17", "D11:26", "D30:5"}
    entries = ["D8:6; D9:17", "D:11:26", "D30:05", "D", "D99:1"]
    assert eval_locomo.evidence(entries, known) == known


def test_unreadable_session_time_is_an_error():
    """A session without a readable time cannot be placed."""
    with pytest.raises(DatasetError, match="session time"):
        eval_locomo.session_time("yesterday")


def test_folder_without_conversations_is_refused(tmp_path):
    """An empty folder is an error, not an empty set."""
    with pytest.raises(DatasetError, match="no conversation"):
        eval_locomo.load(tmp_path)
