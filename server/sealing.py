"""Encrypts what is sealed, and opens it again: AES-256-GCM under a key that is never stored.

Two keys are derived from the one given: one encrypts, one makes the tags by which equal values are
known without being read. A sealed value is bound to its memory: moved to another row, it does not
open.

Source: NIST SP 800-38D (GCM, random 96-bit nonces), RFC 5869 (HKDF).
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from recalld.server.errors import SealKeyMissing
from recalld.server.sensitive_class import SensitiveClass

KEY_BYTES = 32
NONCE_BYTES = 12
TAG_DIGITS = 12


def key_of(text: str) -> bytes:
    """The key written as base64 of 256 bits.

    Raises:
        ValueError: it is not; the message does not show it.
    """
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("is not base64") from None
    if len(key) != KEY_BYTES:
        raise ValueError(f"has {8 * len(key)} bits; it must have {8 * KEY_BYTES}")
    return key


class Sealer:
    """Seals and opens texts with one key.

    Thread safety: every method may be called from any thread.
    """

    def __init__(self, key: bytes) -> None:
        """Derive what is needed from a key of 32 bytes."""
        assert len(key) == KEY_BYTES
        self._cipher = AESGCM(_derived(key, b"recalld sealed values"))
        self._tag_key = _derived(key, b"recalld sealed tags")

    def tag(self, tenant: str, user_id: str, sensitive_class: SensitiveClass, text: str) -> str:
        """Twelve hex digits: the same for the same value of a user, telling nothing else of it."""
        owner = _joined(tenant, user_id, sensitive_class.label, text)
        return hmac.digest(self._tag_key, owner, "sha256").hex()[:TAG_DIGITS]

    def seal(self, text: str, memory_id: str, placeholder: str) -> bytes:
        """Nonce and ciphertext of a text that stands behind a placeholder in a memory."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, text.encode(), _joined(memory_id, placeholder))

    def open(self, data: bytes, memory_id: str, placeholder: str) -> str:
        """The text again.

        Raises:
            SealKeyMissing: it was sealed with another key, for another memory, or is damaged.
        """
        nonce, ciphertext = data[:NONCE_BYTES], data[NONCE_BYTES:]
        try:
            return self._cipher.decrypt(nonce, ciphertext, _joined(memory_id, placeholder)).decode()
        except (InvalidTag, ValueError):
            raise SealKeyMissing(f"{placeholder}: the server's key does not open it") from None


def _derived(key: bytes, purpose: bytes) -> bytes:
    """A key for one purpose."""
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=purpose).derive(key)


def _joined(*parts: str) -> bytes:
    """Parts as bytes that no other parts give."""
    return b"".join(len(data).to_bytes(4, "big") + data for data in map(str.encode, parts))
