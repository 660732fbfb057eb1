"""Sealing through the handlers: what is stored, who may open it, and what stays closed."""

from __future__ import annotations

import pytest

from recalld.server.errors import PermissionDenied, SealKeyMissing
from recalld.server.sealed import OpenSealed, placeholders_in
from recalld.server.sealing import Sealer
from recalld.server.sections import SensitiveSection
from recalld.server.sensitive_class import SensitiveClass
from recalld.storage.errors import MemoryNotFound
from recalld.storage.memory_store import MemoryImage, MemoryStore
from recalld.storage.record import MemoryRecord, Scope, Source
from recalld.v1 import admin_service_pb2, types_pb2
from tests.server.core import Core, memory, opened, remember_request, scope

PHONE, CARD = "13800138000", "4111111111111111"
SEALING = SensitiveSection(phone="seal", bank_card="seal", email="redact")


def request(user: str, memory_id: str) -> admin_service_pb2.OpenSealedRequest:
    """A request for the originals of one memory."""
    return admin_service_pb2.OpenSealedRequest(scope=scope(user), id=memory_id)


async def originals(core: Core, user: str, memory_id: str) -> list[str]:
    """Originals of one memory."""
    answer = await core.ask("OpenSealed", request(user, memory_id))
    return [value.text for value in answer.values]


async def stored(core: Core, content: str, user: str = "ann", **fields: object) -> str:
    """Id of a memory remembered with this content."""
    answer = await core.remember(user, memory(content, **fields))
    return str(answer.results[0].id)


async def test_a_sealed_value_can_be_opened() -> None:
    """The memory shows a placeholder, the writer learns of it, and an admin gets the original."""
    async with opened(sensitive=SEALING) as core:
        answer = await core.remember("ann", memory(f"call {PHONE}", metadata={"card": CARD}))
        told = [(f.field, f.sensitive_class, f.action) for f in answer.results[0].screened]
        sealed = types_pb2.SENSITIVE_ACTION_SEALED
        assert told == [
            ("memories[0].memory.content", types_pb2.SENSITIVE_CLASS_PHONE, sealed),
            ("memories[0].memory.metadata", types_pb2.SENSITIVE_CLASS_BANK_CARD, sealed),
        ]
        shown = await core.get("ann", answer.results[0].id)
        assert PHONE not in str(shown) and CARD not in str(shown)
        opened_values = await core.ask("OpenSealed", request("ann", shown.id))
        assert [(v.sensitive_class, v.text) for v in opened_values.values] == [
            (types_pb2.SENSITIVE_CLASS_PHONE, PHONE),
            (types_pb2.SENSITIVE_CLASS_BANK_CARD, CARD),
        ]
        assert shown.content == f"call {opened_values.values[0].placeholder}"


async def test_a_new_value_takes_the_slot_and_both_stay_readable() -> None:
    """Another number under a key is another statement; the same one confirms it."""
    async with opened(sensitive=SEALING) as core:
        first = await stored(core, f"mobile {PHONE}", key="mobile")
        again = await stored(core, "mobile 138 0013 8000", key="mobile")
        second = await stored(core, "mobile 13900139000", key="mobile")
        assert first == again != second
        assert await originals(core, "ann", second) == ["13900139000"]
        assert [len(text) for text in await originals(core, "ann", first)] in ([11], [13])


async def test_an_edited_text_shows_what_it_still_holds() -> None:
    """After an update only the placeholders of the present text are opened."""
    async with opened(sensitive=SEALING) as core:
        memory_id = await stored(core, f"call {PHONE}")
        answer = await core.update("ann", memory_id, content="call 13900139000")
        assert [f.field for f in answer.screened] == ["memory.content"]
        assert await originals(core, "ann", memory_id) == ["13900139000"]
        await core.update("ann", memory_id, content="do not call")
        assert await originals(core, "ann", memory_id) == []


async def test_a_typed_placeholder_opens_nothing() -> None:
    """A placeholder that a writer typed, or took from another memory, has nothing behind it."""
    async with opened(sensitive=SEALING) as core:
        real = await core.get("ann", await stored(core, f"call {PHONE}"))
        for content in ("see [phone:0123456789ab]", f"see {real.content}"):
            assert await originals(core, "ann", await stored(core, content)) == []


async def test_only_an_admin_of_the_user_opens() -> None:
    """Without the admin role, for another user, or for no memory, nothing is shown."""
    async with opened(sensitive=SEALING) as core:
        memory_id = await stored(core, f"call {PHONE}")
        await stored(core, "other", user="bob")
        with pytest.raises(PermissionDenied):
            await core.ask("OpenSealed", request("ann", memory_id), admin=False)
        for user, wanted in (("bob", memory_id), ("carol", memory_id), ("ann", "0" * 32)):
            with pytest.raises(MemoryNotFound):
                await core.ask("OpenSealed", request(user, wanted))


async def test_without_the_key_nothing_opens() -> None:
    """A server without the key, or with another one, says so."""
    async with opened(sensitive=SEALING) as core:
        memory_id = await stored(core, f"call {PHONE}")
        for sealer, problem in ((None, "without a key"), (Sealer(bytes(32)), "does not open")):
            handler = OpenSealed(core.partitions, core.store, sealer)
            with pytest.raises(SealKeyMissing, match=problem):
                await handler(request("ann", memory_id), core.caller())


async def test_originals_survive_a_restart() -> None:
    """What was sealed opens after the store was opened again."""
    image = MemoryImage()
    async with opened(MemoryStore(image), sensitive=SEALING) as core:
        memory_id = await stored(core, f"call {PHONE}")
    async with opened(MemoryStore(image), sensitive=SEALING) as core:
        assert await originals(core, "ann", memory_id) == [PHONE]
    assert PHONE.encode() not in b"".join(image.sealed.values())


async def test_the_answer_of_a_request_id_holds_no_value() -> None:
    """What is kept for idempotency is the answer to the screened request."""
    image = MemoryImage()
    async with opened(MemoryStore(image)) as core:
        asked = remember_request("ann", memory(f"call {PHONE}, mail x@example.com"), id="once")
        first = await core.ask("Remember", asked)
        again = remember_request("ann", memory(f"call {PHONE}, mail x@example.com"), id="once")
        assert await core.ask("Remember", again) == first
        await core.update("ann", first.results[0].id, content=f"now {PHONE}", request_id="u")
    kept = b"".join(answer.response for answer in image.requests.values())
    assert len(image.requests) == 2
    assert PHONE.encode() not in kept and b"x@example.com" not in kept


async def test_forgetting_by_content_finds_both_forms() -> None:
    """The text as it was typed forgets memories of before the filter and of behind it."""
    image = MemoryImage()
    async with opened(MemoryStore(image), sensitive=SensitiveSection(phone="allow")) as core:
        await stored(core, f"call {PHONE}")
    async with opened(MemoryStore(image)) as core:
        await stored(core, f"call {PHONE}", key="contact")
        assert (await core.forget("ann", content=f"call {PHONE}")).count == 2


def test_every_text_of_a_record_is_searched_for_placeholders() -> None:
    """Placeholders count in content, value, cues, metadata and source, each once and in order."""
    tags = [f"[phone:{number:012x}]" for number in range(7)]
    record = MemoryRecord(
        label=1,
        id="0" * 32,
        scope=Scope("acme", "ann"),
        kind=1,
        content=f"{tags[0]} {tags[0]} [phone]",
        value_json=f'{{"a":"{tags[1]}"}}',
        relevant_when=(tags[2],),
        metadata_json=f'{{"b":"{tags[3]}"}}',
        source=Source(session_id=tags[4], message_id=tags[5], uri=f"x:{tags[6]}"),
    )
    assert placeholders_in(record) == [(tag, SensitiveClass.PHONE) for tag in tags]
