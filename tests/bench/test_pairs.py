"""Kept-out relevance pairs as stores."""

import json
import zlib

from recalld.bench import pairs
from recalld.index.relevance_pairs import read_pairs, split


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
    """The items whose id says so (CRC-32, one in ten), each once; training has the rest."""
    write(tmp_path, 45)
    questions = {q.text for c in pairs.load(tmp_path) for q in c.questions}
    kept = {f"i{i}" for i in range(45) if zlib.crc32(f"i{i}".encode()) % 10 == 0}
    assert questions == {f"request {name[1:]}" for name in kept}
    training, kept_out = split(read_pairs(tmp_path))
    assert {pair.id for pair in kept_out} == kept
    assert len(training) + len(kept_out) == 45


def test_an_item_stays_on_its_side(tmp_path):
    """Files that are added move no item from training into what is kept out."""
    write(tmp_path, 45)
    before = {pair.id for pair in split(read_pairs(tmp_path))[1]}
    more = {"id": "new", "request": "r", "relevant": ["m"], "distractors": ["d"]}
    (tmp_path / "pairs_0.jsonl").write_text(json.dumps(more), encoding="utf-8")
    assert {pair.id for pair in split(read_pairs(tmp_path))[1]} - {"new"} == before


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
    assert len(corpora) > 1
    assert all(300 <= size < 303 for size in sizes[:-1])
