"""The cache of vectors: bounded, by text, role and owner."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recalld.index.vector_cache import VectorCache, key_of

TEXTS, OWNERS, SIZE_MAX = ("a", "b", "c", "d"), ("", "x", "y"), 5
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("put", "get", "discard")),
        st.sampled_from(TEXTS),
        st.booleans(),
        st.sampled_from(OWNERS),
    ),
    max_size=60,
)


@given(STEPS)
def test_it_holds_what_a_plain_list_would(steps: list[tuple[str, str, bool, str]]) -> None:
    """It keeps the keys used last, and after a discard none of the text, of any role and owner."""
    cache, plain = VectorCache(SIZE_MAX), list[tuple[str, bool, str]]()
    vector = np.zeros(1, np.float32)
    for what, text, is_query, owner in steps:
        entry = (text, is_query, owner)
        if what == "discard":
            cache.discard([text])
            plain = [one for one in plain if one[0] != text]
        elif what == "put":
            cache.update({key_of(*entry): vector})
            plain = [*plain, entry] if entry not in plain else plain
            plain = plain[-SIZE_MAX:]
        elif (cache.get(key_of(*entry)) is not None) and entry in plain:
            plain = [*(one for one in plain if one != entry), entry]
    kept = {
        (text, is_query, owner)
        for text in TEXTS
        for is_query in (True, False)
        for owner in OWNERS
        if cache.get(key_of(text, is_query, owner)) is not None
    }
    assert kept == set(plain)
