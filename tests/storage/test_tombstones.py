"""Tombstones against a plain dictionary, and what they condemn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.storage.record import Scope
from recalld.storage.tombstones import KEY_BYTES, Claim, Hasher, Tombstones
from tests.storage.samples import memory

HASHER = Hasher(bytes(range(KEY_BYTES)))
HASHES = st.integers(0, 40).map(lambda n: HASHER.of_id(str(n)))
ROWS = st.lists(st.tuples(HASHES, st.integers(1, 2**62)), max_size=30)
WORDS = st.sampled_from(["", "a", "b", "ab"])
SCOPES = st.builds(Scope, WORDS, WORDS, WORDS, st.just(""), WORDS)


@given(st.lists(ROWS, max_size=5), HASHES)
def test_the_latest_time_counts(batches: list[list[tuple[bytes, int]]], asked: bytes) -> None:
    """However they come in, each hash has the latest of its times; an unknown one has none."""
    naive: dict[bytes, int] = {}
    made = Tombstones(HASHER)
    for batch in batches:
        made.add(batch)
        for value, time_us in batch:
            naive[value] = max(time_us, naive.get(value, 0))
    assert len(made) == len(naive)
    assert {value: made.time_us(value) for value in naive} == naive
    assert made.time_us(asked) == naive.get(asked)


@given(st.lists(st.tuples(SCOPES, WORDS, st.sampled_from([b"x" * 16, b"y" * 16])), max_size=8))
def test_hashes_tell_places_apart(values: list[tuple[Scope, str, bytes]]) -> None:
    """Two values have one hash only where tenant, user, agent, namespace, key and text agree."""
    assert len({HASHER.of_value(*value) for value in values}) == len(set(values))


def test_another_key_gives_other_hashes() -> None:
    """Without the key nothing can be compared."""
    other = Hasher(bytes(KEY_BYTES))
    assert other.of_id("x") != HASHER.of_id("x")
    assert other.of_user("t", "u") != HASHER.of_user("t", "u")


@pytest.mark.parametrize(
    ("change", "create_time_us", "expected"),
    [
        ({}, 5, True),
        ({}, 500, True),  # The same id, whenever it claims to be made.
        ({"memory_id": "other"}, 100, True),  # The same value, made before the purge.
        ({"memory_id": "other"}, 101, False),  # Said again afterwards.
        ({"memory_id": "other", "content_hash": b"z" * 16}, 5, False),
        ({"memory_id": "other", "content_hash": b""}, 5, False),
        ({"memory_id": "other", "key": "k"}, 5, False),
    ],
)
def test_what_a_purge_of_a_memory_condemns(
    change: dict[str, object], create_time_us: int, expected: bool
) -> None:
    """Its id always, its value in its place where that was made no later than the purge."""
    record = memory(1, 1, content_hash=b"c" * 16).record
    made = Tombstones(HASHER)
    made.add((value, 100) for value in HASHER.of_purge("acme", "ann", [record], False))
    asked = {"memory_id": record.id, "key": "", "content_hash": record.content_hash} | change
    claim = Claim(scope=record.scope, create_time_us=create_time_us, **asked)  # type: ignore[arg-type]
    assert made.condemned([claim]).tolist() == [expected]


def test_what_a_purge_of_a_user_condemns() -> None:
    """Everything of the user made no later than it, and nothing of anybody else."""
    made = Tombstones(HASHER)
    made.add((value, 100) for value in HASHER.of_purge("acme", "ann", [], True))
    claims = [
        Claim("any", scope, "k", b"d" * 16, create_time_us)
        for scope, create_time_us in (
            (Scope("acme", "ann", "agent"), 100),
            (Scope("acme", "ann"), 101),
            (Scope("acme", "bob"), 1),
            (Scope("zeta", "ann"), 1),
        )
    ]
    assert made.condemned(claims).tolist() == [True, False, False, False]


CLAIMS = st.builds(
    Claim,
    st.integers(0, 5).map(str),
    SCOPES,
    WORDS,
    st.sampled_from([b"", b"x" * 16, b"y" * 16]),
    st.integers(0, 6),
)
PURGED = st.tuples(st.sampled_from(["id", "value", "user"]), CLAIMS, st.integers(1, 5))


@given(st.lists(PURGED, max_size=6), st.lists(CLAIMS, max_size=12))
def test_rows_are_condemned_as_one_by_one(
    purged: list[tuple[str, Claim, int]], claims: list[Claim]
) -> None:
    """Of many rows at once those go that a look at each of the tombstones would name."""
    made = Tombstones(HASHER)
    for kind, gone, time_us in purged:
        value = {
            "id": HASHER.of_id(gone.memory_id),
            "value": HASHER.of_value(gone.scope, gone.key, gone.content_hash or b"z" * 16),
            "user": HASHER.of_user(gone.scope.tenant, gone.scope.user_id),
        }[kind]
        made.add([(value, time_us)])

    def is_named(claim: Claim, kind: str, gone: Claim, time_us: int) -> bool:
        if kind == "id":
            return claim.memory_id == gone.memory_id
        if claim.create_time_us > time_us:
            return False
        if kind == "user":
            return (claim.scope.tenant, claim.scope.user_id) == (
                gone.scope.tenant,
                gone.scope.user_id,
            )
        same = claim[1:4] == (gone.scope, gone.key, gone.content_hash)
        return same and bool(claim.content_hash)

    expected = [any(is_named(claim, *one) for one in purged) for claim in claims]
    assert made.condemned(claims).tolist() == expected
