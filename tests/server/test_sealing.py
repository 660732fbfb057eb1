"""Sealed texts open with their key, in their memory, and nowhere else."""

from __future__ import annotations

import base64

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st

from recalld.server.errors import SealKeyMissing
from recalld.server.sealing import Sealer, key_of
from recalld.server.sensitive_class import SensitiveClass

KEY = bytes(range(32))
PLACEHOLDER = "[phone:0123456789ab]"
MEMORY_ID = "0" * 32


@given(st.text(), st.text())
def test_what_is_sealed_opens(text: str, memory_id: str) -> None:
    """Any text comes back, and two sealings of it differ."""
    sealer = Sealer(KEY)
    data = sealer.seal(text, memory_id, PLACEHOLDER)
    assert sealer.open(data, memory_id, PLACEHOLDER) == text
    assert sealer.seal(text, memory_id, PLACEHOLDER) != data


def test_the_form_is_the_documented_one() -> None:
    """Nonce, ciphertext and associated data are as storage/FORMAT.md says."""
    data = Sealer(KEY).seal("13800138000", MEMORY_ID, PLACEHOLDER)
    key = HKDF(SHA256(), 32, None, b"recalld sealed values").derive(KEY)
    beside = b"\0\0\0\x20" + MEMORY_ID.encode() + b"\0\0\0\x14" + PLACEHOLDER.encode()
    assert AESGCM(key).decrypt(data[:12], data[12:], beside) == b"13800138000"


def test_anything_else_does_not_open() -> None:
    """Another key, memory or placeholder, a flipped bit and a cut end are refused."""
    sealer = Sealer(KEY)
    data = sealer.seal("x", MEMORY_ID, PLACEHOLDER)
    flipped = data[:-1] + bytes([data[-1] ^ 1])
    for other, sealed, memory_id, placeholder in (
        (Sealer(bytes(32)), data, MEMORY_ID, PLACEHOLDER),
        (sealer, data, "1" * 32, PLACEHOLDER),
        (sealer, data, MEMORY_ID, "[email:0123456789ab]"),
        (sealer, flipped, MEMORY_ID, PLACEHOLDER),
        (sealer, data[:5], MEMORY_ID, PLACEHOLDER),
        (sealer, b"", MEMORY_ID, PLACEHOLDER),
    ):
        with pytest.raises(SealKeyMissing, match="does not open"):
            other.open(sealed, memory_id, placeholder)


def test_tags_differ_by_owner_class_value_and_key() -> None:
    """A tag is the same for the same, and another for anything else."""
    sealer = Sealer(KEY)
    cases = [
        (sealer, "acme", "ann", SensitiveClass.PHONE, "1"),
        (sealer, "acme", "bob", SensitiveClass.PHONE, "1"),
        (sealer, "acm", "eann", SensitiveClass.PHONE, "1"),
        (sealer, "acme", "ann", SensitiveClass.EMAIL, "1"),
        (sealer, "acme", "ann", SensitiveClass.PHONE, "2"),
        (Sealer(bytes(32)), "acme", "ann", SensitiveClass.PHONE, "1"),
    ]
    tags = [by.tag(*rest) for by, *rest in cases]
    assert len(set(tags)) == len(cases)
    assert tags == [by.tag(*rest) for by, *rest in cases]


def test_a_key_is_base64_of_256_bits() -> None:
    """The key is read from its text; anything else is refused without showing it."""
    assert key_of(base64.b64encode(KEY).decode()) == KEY
    for text, problem in (("not base64!", "base64"), ("c2hvcnQ=", "40 bits"), ("é" * 44, "base64")):
        with pytest.raises(ValueError, match=problem) as caught:
            key_of(text)
        assert text not in str(caught.value)
