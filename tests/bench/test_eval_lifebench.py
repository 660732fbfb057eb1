"""LifeBench folders."""

import json
from datetime import UTC, datetime

import pytest

from recalld.bench import eval_lifebench
from recalld.bench.datasets import DatasetError
from recalld.bench.ranked import Answer
from recalld.bench.ranked_report import event_recall

SMS = [
    {
        "phone_id": 0,
        "event_id": "e1",
        "message_type": "发送",
        "contactName": "阿青",
        "message_content": "周六去划船",
        "datetime": "2025-01-02 08:20:15",
    },
    {"phone_id": 0, "event_id": "e2", "message_content": "again", "datetime": "2025-01-03"},
]
CALENDAR = [
    {
        "phone_id": 3,
        "event_id": "e1",
        "title": "划船",
        "description": "湖边",
        "start_time": "2025-01-04 09:00:00",
    }
]
QUESTIONS = [
    {
        "question": "哪天划船?",
        "question_type": "Information Extraction",
        "ask_time": "2025-01",
        "evidence": [{"type": "sms", "id": "0"}, {"type": "calendar", "phone_id": 3}, "note 4"],
    },
    {"question": "谁赢了?", "question_type": "Unanswerable", "evidence": []},
]


@pytest.fixture
def person(tmp_path):
    folder = tmp_path / "qing"
    folder.mkdir()
    for name, value in (("sms", SMS), ("calendar", CALENDAR), ("QA_clean", QUESTIONS)):
        text = json.dumps(value, ensure_ascii=False)
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    return folder


def test_records_are_named_by_type_and_phone_id(person):
    """Of a repeated id the first record stays; the event it witnesses is kept."""
    (corpus,) = eval_lifebench.load(person.parent)
    records = {r.id: r for r in corpus.records}
    assert records.keys() == {"sms:0", "calendar:3"}
    assert records["sms:0"].text == "短信 发送 阿青 周六去划船"
    assert records["sms:0"].time == datetime(2025, 1, 2, 8, 20, 15, tzinfo=UTC)
    assert records["calendar:3"].group == "e1"


def test_evidence_is_read_by_id_or_whole_record(person):
    """Evidence names records by id or by phone_id; what is no record is dropped."""
    (corpus,) = eval_lifebench.load(person)
    answerable, unanswerable = corpus.questions
    assert answerable.gold == {"sms:0", "calendar:3"}
    assert unanswerable.gold == frozenset()


def test_event_is_found_by_any_of_its_records(person):
    """Two records of one event, one of them found: the event is found."""
    (corpus,) = eval_lifebench.load(person)
    assert event_recall(Answer(corpus, corpus.questions[0], ["calendar:3"], 0.5)) == 1.0


@pytest.mark.parametrize(
    ("kind", "raw", "text"),
    [
        ("call", {"contactName": "阿青", "call_result": "接通"}, "通话 阿青 接通"),
        ("note", {"title": "茶", "content": "绿"}, "笔记 茶 绿"),
        ("calendar", {"title": "a", "description": "b", "start_time": "c"}, "日程 a b c"),
        ("push", {"source": "App", "title": "t", "content": "c"}, "App t c"),
        (
            "photo",
            {"caption": "湖", "imageTag": ["船"], "location": {"city": "杭州"}, "ocrText": "无"},
            "照片 湖 船 杭州 无",
        ),
        (
            "agent_chat",
            {"conversation": {"turn 1": {"user": {"content": "问"}, "assistant": "答"}}},
            "对话 问 答",
        ),
    ],
)
def test_text_of_each_type(kind, raw, text):
    """Each type of record is remembered by its own fields."""
    assert eval_lifebench.record_text(kind, raw) == text


def test_folder_without_people_is_refused(tmp_path):
    """A folder without questions is nobody."""
    with pytest.raises(DatasetError, match="no person"):
        eval_lifebench.load(tmp_path)
