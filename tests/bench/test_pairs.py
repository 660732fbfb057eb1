"""Kept-out relevance pairs as stores."""

import json

from recalld.bench import pairs
from recalld.index.relevance_pairs import read_pairs


def write(folder, count):
    lines = [
        json.dumps(
            {
                "id": f"i{i}",
                "request": f"request {i}",
                "relevant": [] if i % 20 == 3 else [f"needed {i}"],
                "distractors": [f"near {i}", "said by all"],
                **({"none": True} if i % 20 == 3 else {}),
            }
        )
        for i in range(count)
    ]
    (folder / "pairs_a.jsonl").write_text("\n".join(lines), encoding="utf-8")


def test_only_kept_out_items_are_asked(tmp_path):
    """Every tenth item from the fourth on, each once; training has the rest."""
    write(tmp_path, 45)
    questions = [q for c in pairs.load(tmp_path) for q in c.questions]
    assert sorted(q.text for q in questions) == [f"request {i}" for i in (13, 23, 3, 33, 43)]
    assert len(read_pairs(tmp_path)) == 45


def test_what_is_needed_is_a_memory_of_the_store(tmp_path):
    """Gold is the item's own memory, a request that needs none has no gold, and texts are one."""
    write(tmp_path, 45)
    (corpus,) = pairs.load(tmp_path)
    text_of = {r.id: r.text for r in corpus.records}
    assert len(set(text_of.values())) == len(text_of)
    for question in corpus.questions:
        number = int(question.text.split()[1])
        needed = {text_of[i] for i in question.gold}
        assert needed == (set() if number % 20 == 3 else {f"needed {number}"})
        assert question.category == (pairs.NEEDED if question.gold else pairs.NEEDLESS)


def test_stores_are_bounded(tmp_path):
    """A store is closed once it holds three hundred memories, and the next one begins."""
    write(tmp_path, 2010)
    corpora = pairs.load(tmp_path)
    sizes = [sum(3 if q.gold else 2 for q in c.questions) for c in corpora]
    assert sum(len(c.questions) for c in corpora) == 201
    assert all(300 <= size < 303 for size in sizes[:-1])
