"""What both clients say of sensitive data, against a real server."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest

from recalld.client import AsyncClient, Client, errors
from recalld.client.sensitive import ScreenedField, SealedValue
from recalld.client.testing import RunningServer, running_server
from recalld.client.values import SensitiveAction, SensitiveClass

PHONE = "13800138000"


@pytest.fixture(scope="module")
def sealing() -> Iterator[RunningServer]:
    """A server that seals telephones."""
    key = base64.b64encode(bytes(32)).decode()
    env = {"RECALLD_SENSITIVE__PHONE": "seal", "RECALLD_SEAL_KEY": key}
    with running_server(env=env) as server:
        yield server


def test_a_refusal_names_the_field(shared_server: RunningServer, user: str) -> None:
    """A password raises SensitiveData with its field, and nothing is stored."""
    with Client(shared_server.target, user_id=user) as client:
        with pytest.raises(errors.SensitiveData) as caught:
            client.remember("my password is hunter22")
        assert caught.value.field == "memories[0].memory.content"
        assert "hunter22" not in str(caught.value)
        assert list(client.list()) == []


def test_a_replacement_is_told(shared_server: RunningServer, user: str) -> None:
    """The result of a write says which field and class was replaced."""
    with Client(shared_server.target, user_id=user) as client:
        (result,) = client.remember(f"call {PHONE}").results
        field = "memories[0].memory.content"
        told = ScreenedField(field, SensitiveClass.PHONE, SensitiveAction.REDACTED)
        assert result.screened == (told,)
        assert client.remember("likes tea").results[0].screened == ()
        assert client.open_sealed(result.id) == ()


async def test_sealed_originals_are_opened(sealing: RunningServer) -> None:
    """Both clients get the original, which stays out of the repr."""
    with Client(sealing.target, user_id="s") as client:
        (result,) = client.remember(f"call {PHONE}").results
        assert [one.action for one in result.screened] == [SensitiveAction.SEALED]
        (value,) = client.open_sealed(result.id)
        assert value.text == PHONE and PHONE not in repr(value)
        assert client.get(result.id).content == f"call {value.placeholder}"
        with pytest.raises(errors.MemoryNotFound):
            client.open_sealed(result.id, user_id="t")
    async with AsyncClient(sealing.target, user_id="s") as other:
        assert await other.open_sealed(result.id) == (value,)
        assert isinstance(value, SealedValue)
