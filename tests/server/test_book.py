"""Labels by key."""

from __future__ import annotations

import gc
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from recalld.server.book import Book

STEPS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 5)), max_size=40)


@given(STEPS)
def test_a_book_is_a_dictionary_of_lists(steps: list[tuple[str, int]]) -> None:
    """Whatever is entered and struck, a key has its labels in the order of their entry."""
    book: Book[str] = Book()
    twin: dict[str, list[int]] = {}
    for key, label in steps:
        labels = twin.setdefault(key, [])
        if label in labels:
            labels.remove(label)
            book.strike(key, label)
        else:
            labels.append(label)
            book.enter(key, label)
        assert {one: book.get(one) for one in "abc"} == {
            one: tuple(twin.get(one, ())) for one in "abc"
        }
        assert len(book) == sum(map(bool, twin.values()))


def test_a_single_label_takes_no_object_of_its_own() -> None:
    """A key with one label takes its place in the dictionary, and nothing else."""
    keys, labels = [str(number) for number in range(1_000)], list(range(1_000, 2_000))
    tracemalloc.start()
    try:
        book: Book[str] = Book()
        for key, label in zip(keys, labels, strict=True):
            book.enter(key, label)
        gc.collect()
        held_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held_bytes < 60 * len(keys)
    assert len(book) == len(keys)
