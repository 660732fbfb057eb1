"""Page tokens."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.server import paging
from recalld.server.errors import InvalidPageToken
from recalld.v1 import memory_service_pb2 as pb
from tests.server.core import scope

REQUEST = pb.ListMemoriesRequest(scope=scope("u"), statuses=[1])


@given(st.lists(st.integers(-(2**62), 2**62) | st.text(max_size=20), max_size=4))
def test_round_trip(position: list[object]) -> None:
    """A position comes back from its token, whatever the page size and token of the request."""
    token = paging.make_token(REQUEST, position)
    later = pb.ListMemoriesRequest()
    later.CopyFrom(REQUEST)
    later.page_size, later.page_token = 7, token
    assert paging.read_token(later, token) == position


@pytest.mark.parametrize(
    "other",
    [
        pb.ListMemoriesRequest(scope=scope("v"), statuses=[1]),
        pb.ListMemoriesRequest(scope=scope("u"), statuses=[2]),
        pb.ListMemoriesRequest(scope=scope("u")),
    ],
)
def test_token_of_other_arguments(other: pb.ListMemoriesRequest) -> None:
    """A token is refused under other arguments."""
    token = paging.make_token(REQUEST, [1, "a", 2])
    with pytest.raises(InvalidPageToken):
        paging.read_token(other, token)


def test_token_of_another_method() -> None:
    """A token is refused by another method, even when both requests have the same bytes."""
    keys = pb.ListKeysRequest(scope=scope("u"))
    memories = pb.ListMemoriesRequest(scope=scope("u"))
    assert keys.SerializeToString() == memories.SerializeToString()
    with pytest.raises(InvalidPageToken):
        paging.read_token(memories, paging.make_token(keys, ["allergy"]))


@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda b: base64.b64encode(b).decode()))
def test_foreign_tokens(token: str) -> None:
    """A text that this server never made is refused."""
    with pytest.raises(InvalidPageToken):
        paging.read_token(REQUEST, token)
