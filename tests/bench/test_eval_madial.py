"""MADial-Bench folders."""

import json

import pytest

from recalld.bench import eval_madial
from recalld.bench.datasets import DatasetError
from recalld.bench.eval_madial import QueryForm

MEMORY = {
    "1": {"time": "2023-12-25", "scene": "家", "emotion": "开心", "event": "划船", "user-id": 1},
    "2": {"time": "?", "scene": "校", "emotion": "累", "event": "考试", "user-id": 2},
}
DIALOGUE = {
    "dialogue": ["<BOD>\n", '<A>:"早"\n', '<Assistant>:"早"\n', '<A>:"湖上"\n', "<Assistant>:x"],
    "test-turn": [4],
    "relevant-id": [1, 2],
    "user-id": 1,
}


@pytest.fixture
def folder(tmp_path):
    zh = tmp_path / "zh"
    zh.mkdir()
    lines = [json.dumps({i: m}, ensure_ascii=False) for i, m in MEMORY.items()]
    (zh / "memory.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (zh / "dialogue_a.jsonl").write_text(json.dumps(DIALOGUE), encoding="utf-8")
    return tmp_path


def test_corpus_is_the_memories_of_one_person(folder):
    """Memories of others are not in the corpus, nor in the gold of its questions."""
    (corpus,) = eval_madial.load(folder, QueryForm.ALL_AS_TEXT)["zh"]
    assert [r.text for r in corpus.records] == ["家 开心 划船"]
    assert corpus.questions[0].gold == {"1"}


def test_dialogue_as_one_text(folder):
    """All lines before the turn under test, without speaker names."""
    (corpus,) = eval_madial.load(folder / "zh", QueryForm.ALL_AS_TEXT)["zh"]
    assert corpus.questions[0].text == '"早" "早" "湖上"'
    assert corpus.questions[0].context == ()


def test_dialogue_as_context_and_last_line(folder):
    """The last line is the text, the earlier ones are turns of their speakers."""
    file = folder / "zh" / "dialogue_a.jsonl"
    (corpus,) = eval_madial.load(file, QueryForm.LAST_AS_TEXT)["zh"]
    question = corpus.questions[0]
    assert question.text == '"湖上"'
    assert [(t.role, t.text) for t in question.context] == [("user", '"早"'), ("assistant", '"早"')]


def test_without_user_ids_all_memories_count(folder):
    """A dialogue of nobody in particular is asked against all memories."""
    anyone = {k: v for k, v in DIALOGUE.items() if k != "user-id"}
    (folder / "zh" / "dialogue_a.jsonl").write_text(json.dumps(anyone), encoding="utf-8")
    (corpus,) = eval_madial.load(folder, QueryForm.ALL_AS_TEXT)["zh"]
    assert len(corpus.records) == 2


def test_folder_without_memories_is_refused(tmp_path):
    """A folder without a memory file is an error."""
    with pytest.raises(DatasetError, match="memory"):
        eval_madial.load(tmp_path, QueryForm.ALL_AS_TEXT)
