"""Vectors of the role catalogue: made once, kept whole, and what a recall does with them."""

from __future__ import annotations

from pathlib import Path

import pytest
import structlog

from recalld.index.batching import BatchingEmbedder
from recalld.index.hash_embedder import HashEmbedder
from recalld.index.role_catalogue import Catalogue, Role, Situation, load
from recalld.server.catalogue import SET_KEYS
from recalld.server.errors import InvalidRequest
from recalld.server.roles import Roles
from recalld.v1 import recall_service_pb2 as pb
from tests.server.core import Core, memory, opened, texts

LOG = structlog.wrap_logger(structlog.ReturnLogger())
CATALOGUE = Catalogue(
    {
        "diet": Role({}, ["allergy"], [], ["must not eat nuts", "cannot drink milk"]),
        "home": Role({}, [], [], ["lives in a small flat", "the house has a garden"]),
    },
    {
        "snack": Situation({"diet": 1.0}, ["recommend a snack please", "order some lunch"]),
        "paint": Situation({"home": 1.0}, ["which wall colour is best", "decorate the bedroom"]),
    },
)
TEXT_COUNT = 8


def embedder() -> BatchingEmbedder:
    """A model-free one."""
    return BatchingEmbedder(HashEmbedder(64), cache_max=0)


async def prepared(folder: Path) -> tuple[Roles, int]:
    """Roles with their vectors, and how many texts had to be embedded for them."""
    roles, model = Roles(CATALOGUE), embedder()
    await roles.prepare(model, folder, LOG)
    model.close()
    return roles, model.texts


async def test_vectors_are_made_once(tmp_path: Path) -> None:
    """The second start embeds nothing, and reads a request in the same way."""
    first, embedded = await prepared(tmp_path / "new")
    second, again = await prepared(tmp_path / "new")
    assert (embedded, again) == (TEXT_COUNT, 0)
    asked = HashEmbedder(64).embed(["order some lunch"], is_query=True)
    one, two = first.ask(asked, (1.0,)), second.ask(asked, (1.0,))
    assert one is not None and two is not None
    assert one.situation == two.situation == "snack"
    assert one.weights.tolist() == two.weights.tolist()
    assert len(list((tmp_path / "new").iterdir())) == 1


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY nonsense", b"\x00" * 4096])
async def test_damaged_vectors_are_made_anew(tmp_path: Path, content: bytes) -> None:
    """A kept file that is not whole is replaced."""
    await prepared(tmp_path)
    (kept,) = tmp_path.iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(content)
    assert (await prepared(tmp_path))[1] == TEXT_COUNT
    assert kept.read_bytes() == whole


async def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """Where nothing can be kept the vectors serve all the same."""
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    roles, _ = await prepared(blocked / "below")
    assert roles.model is not None


def test_keys_that_hold_sets_have_roles() -> None:
    """Every key that the server knows as a set has a role in the built-in catalogue."""
    assert load().key_roles().keys() >= SET_KEYS


async def test_recall_with_roles(tmp_path: Path) -> None:
    """Weighed, the channel brings what the situation needs, and the situation is named."""
    roles, _ = await prepared(tmp_path)
    async with opened(dim=64, roles=roles) as core:
        await core.remember(
            "u", memory("peanuts", key="allergy"), memory("a snack bar in the harbour")
        )
        plain = await core.recall("u", "recommend a snack please")
        assert plain.situation == ""
        assert texts(plain.hits)[0] == "a snack bar in the harbour"
        weight = pb.ChannelWeight(channel=pb.CHANNEL_ROLE, weight=10)
        weighed = await core.recall(
            "u", "recommend a snack please", weights=[weight], explain=True, min_score=0
        )
        assert weighed.situation == "snack"
        assert texts(weighed.hits)[0] == "peanuts"
        assert "its role matters in this situation" in weighed.hits[0].reasons
        (part,) = [p for p in weighed.hits[0].parts.channels if p.channel == pb.CHANNEL_ROLE]
        assert 0 < part.normalised <= 1
        alone = await core.recall(
            "u", "recommend a snack please", channels=[pb.CHANNEL_ROLE], min_score=0
        )
        assert texts(alone.hits)[0] == "peanuts"


async def test_recall_before_roles_are_ready() -> None:
    """Until the vectors are there a recall that weighs roles says that it went without."""
    async with opened(roles=Roles(CATALOGUE)) as core:
        await core.remember("u", memory("peanuts", key="allergy"))
        weight = pb.ChannelWeight(channel=pb.CHANNEL_ROLE, weight=1)
        answer = await core.recall("u", "peanuts", weights=[weight])
        assert list(answer.degraded) == ["roles_not_ready"]
        assert texts(answer.hits) == ["peanuts"]
        assert not (await core.recall("u", "peanuts")).degraded


async def test_server_without_roles(core: Core) -> None:
    """A server whose embedder knows no meaning refuses the channel by name."""
    weight = pb.ChannelWeight(channel=pb.CHANNEL_ROLE, weight=1)
    with pytest.raises(InvalidRequest, match="not a channel that this server has"):
        await core.recall("u", "tea", weights=[weight])
    assert (await core.recall("u", "tea")).situation == ""
