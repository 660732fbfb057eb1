"""Page tokens: opaque positions, bound to the arguments of the request that made them.

A token holds no secret and no authority; its checksum tells a foreign or stale one from a usable
one.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from google.protobuf.message import Message

from recalld.server.errors import InvalidPageToken

DIGEST_BYTES = 12


def _fingerprint(request: Message) -> bytes:
    """Digest of a request, its type included, without its paging fields."""
    bare = type(request)()
    bare.CopyFrom(request)
    bare.ClearField("page_token")
    bare.ClearField("page_size")
    # Requests of two methods can have the same bytes.
    named = f"{bare.DESCRIPTOR.full_name}\n".encode() + bare.SerializeToString(deterministic=True)
    return hashlib.blake2b(named, digest_size=DIGEST_BYTES).digest()


def make_token(request: Message, position: list[Any]) -> str:
    """Token for the position behind the last item of a page."""
    body = json.dumps(position, separators=(",", ":")).encode()
    digest = hashlib.blake2b(body, key=_fingerprint(request), digest_size=DIGEST_BYTES).digest()
    return base64.urlsafe_b64encode(digest + body).decode("ascii")


def read_token(request: Message, token: str) -> list[Any]:
    """Position in a token.

    Raises:
        InvalidPageToken: not a token, or one of another request.
    """
    try:
        data = base64.urlsafe_b64decode(token.encode("ascii"))
    except ValueError:
        raise InvalidPageToken("page_token", "is not a token of this server") from None
    digest, body = data[:DIGEST_BYTES], data[DIGEST_BYTES:]
    if (
        digest
        != hashlib.blake2b(body, key=_fingerprint(request), digest_size=DIGEST_BYTES).digest()
    ):
        raise InvalidPageToken(
            "page_token", "is unknown, or belongs to a request with other arguments"
        )
    position: list[Any] = json.loads(body)
    return position
