"""Random values: checksums by the standards, not by the filter."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from recalld.bench import sensitive_values as values


def luhn_is_right(number: str) -> bool:
    """The sum over digits from the right, every second doubled, ends in 0."""
    doubled = "".join(str(int(d) * (1 + i % 2)) for i, d in enumerate(reversed(number)))
    # Digits of a doubled number add up like the number without 9: 12 -> 1 + 2.
    return sum(map(int, doubled)) % 10 == 0


@given(st.text("0123456789", min_size=5, max_size=18))
def test_luhn_completes(body: str) -> None:
    """The completed number is one digit longer and passes; no other last digit does."""
    whole = values.luhn_complete(body)
    assert whole[:-1] == body
    assert [d for d in "0123456789" if luhn_is_right(body + d)] == [whole[-1]]


def test_luhn_of_a_published_number() -> None:
    """A published test number comes out."""
    assert values.luhn_complete("411111111111111") == "4111111111111111"


@given(st.integers(0, 10_000))
def test_resident_ids_fulfil_the_standard(seed: int) -> None:
    """Eighteen characters whose sum of digit x 2^(17-i) is 1 modulo 11, X standing for 10."""
    number = values.resident_id(random.Random(seed))
    digits = [10 if c == "X" else int(c) for c in number]
    assert len(digits) == 18
    assert sum(v * 2 ** (17 - i) for i, v in enumerate(digits)) % 11 == 1
