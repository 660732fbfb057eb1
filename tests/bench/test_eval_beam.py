"""BEAM folders."""

import gzip
import json
import math
from datetime import UTC, datetime, timedelta

import pytest

from recalld.bench import eval_beam
from recalld.bench.datasets import DatasetError
from recalld.bench.ranked import Answer, Corpus, Question
from recalld.v1.types_pb2 import StatedBy

CHAT = [
    {
        "batch_number": 1,
        "turns": [
            [
                {"role": "user", "id": 0, "content": "Port is 8080 ->-> 1,1", "time_anchor": None},
                {"role": "assistant", "id": 1, "content": "Noted"},
                {"role": "system", "id": 9, "content": "hidden"},
            ],
            [{"role": "user", "id": 2, "content": "Now 9090", "time_anchor": "March-15-2024"}],
        ],
    }
]
QUESTIONS = {
    "knowledge_update": [
        {
            "question": "Which port?",
            "source_chat_ids": {"original_info": [0], "updated_info": [2, 77]},
        }
    ],
    "abstention": [{"question": "Which colour?"}],
    "information_extraction": [{"question": "What is noted?", "source_chat_ids": [1]}],
}


@pytest.fixture
def chat_folder(tmp_path):
    folder = tmp_path / "01"
    folder.mkdir()
    with gzip.open(folder / "chat.json.gz", "wt", encoding="utf-8") as file:
        json.dump(CHAT, file)
    (folder / "probing_questions.json").write_text(json.dumps(QUESTIONS), encoding="utf-8")
    return folder


def test_messages_lose_the_generators_leftover(chat_folder):
    """Text from the arrow on is cut, roles say who stated it, other roles are left out."""
    (corpus,) = eval_beam.load(chat_folder.parent)
    assert [(r.id, r.text.strip()) for r in corpus.records] == [
        ("0", "Port is 8080"),
        ("1", "Noted"),
        ("2", "Now 9090"),
    ]
    user, agent = StatedBy.STATED_BY_USER, StatedBy.STATED_BY_AGENT
    assert [r.stated_by for r in corpus.records] == [user, agent, user]


def test_messages_keep_their_order_in_time(chat_folder):
    """Messages are a minute apart, counted from the first anchor."""
    (corpus,) = eval_beam.load(chat_folder)
    start = datetime(2024, 3, 15, tzinfo=UTC)
    assert [r.time for r in corpus.records] == [start + timedelta(minutes=i) for i in range(3)]


def test_evidence_of_updates_is_told_apart(chat_folder):
    """An update names both statements as gold and the newer one apart; abstention has none."""
    (corpus,) = eval_beam.load(chat_folder)
    by_ability = {q.category: q for q in corpus.questions}
    assert by_ability["knowledge_update"].gold == {"0", "2"}
    assert by_ability["knowledge_update"].newer_gold == {"2"}
    assert by_ability["abstention"].gold == frozenset()
    assert by_ability["information_extraction"].gold == {"1"}


def test_newest_first_looks_at_the_best_ranked_statement():
    """Of three updates the newer statement leads one, the older one leads one, one is not found."""
    question = Question("q", frozenset({"0", "2"}), "knowledge_update", (), frozenset({"2"}))
    corpus = Corpus("c", [], [question])
    rankings = (["5", "2", "0"], ["0", "2"], ["5"])
    answers = [Answer(corpus, question, list(r), 0.5) for r in rankings]
    assert eval_beam.newest_first(answers) == pytest.approx(1 / 3)


def test_newest_first_without_updates_is_unknown():
    """No update, no share."""
    assert math.isnan(eval_beam.newest_first([]))


def test_folder_without_chats_is_refused(tmp_path):
    """A folder without questions is no chat."""
    with pytest.raises(DatasetError, match="no chat"):
        eval_beam.load(tmp_path)
