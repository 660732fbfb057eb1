"""Sets written as import files: what a corpus becomes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from recalld.bench import to_jsonl
from recalld.bench.ranked import Corpus, Question, Record


def test_a_corpus_becomes_memories_and_questions_that_share_ids(tmp_path: Path) -> None:
    """Each memory carries its record's id, and each question names the ids of its evidence."""
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    corpus = Corpus(
        "c",
        [Record("r1", "Ada repairs clocks", at), Record("r2", "她住在海边", at)],
        [Question("Who repairs clocks?", frozenset({"r1"}), "any")],
    )
    assert to_jsonl.write(corpus, "c", tmp_path) == (2, 1)
    rows = [json.loads(line) for line in (tmp_path / "c.jsonl").read_text("utf-8").splitlines()]
    assert rows[1] == {
        "content": "她住在海边",
        "kind": "event",
        "event_time": "2026-03-01T12:00:00+00:00",
        "metadata": {"id": "r2"},
    }
    asked = json.loads((tmp_path / "c.questions.jsonl").read_text("utf-8"))
    assert asked == {"question": "Who repairs clocks?", "evidence": ["r1"]}


def test_a_folder_without_the_set_is_an_error(tmp_path: Path) -> None:
    """A folder that holds no such set ends with exit code 1 and nothing written."""
    assert to_jsonl.main(["locomo", str(tmp_path / "none"), str(tmp_path / "out")]) == 1
    assert not (tmp_path / "out").exists()
