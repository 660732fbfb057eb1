"""Sealed originals: the rows that a write stores for them, and OpenSealed, which shows them again.

A sealed value belongs to the memories whose text holds its placeholder: it is stored with each of
them, and removed with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from recalld.server import access, codec, validate
from recalld.server.call import Call
from recalld.server.errors import PermissionDenied, SealKeyMissing
from recalld.server.partitions import Partitions
from recalld.server.sealing import Sealer
from recalld.server.sensitive import PLACEHOLDER
from recalld.server.sensitive_class import SensitiveClass
from recalld.storage.errors import MemoryNotFound
from recalld.storage.record import MemoryRecord
from recalld.storage.sealed_value import SealedValue
from recalld.storage.store import Store
from recalld.v1 import admin_service_pb2 as pb


def placeholders_in(record: MemoryRecord) -> list[tuple[str, SensitiveClass]]:
    """Placeholders of sealed values in a memory's texts, in order, each once."""
    source = record.source
    texts = (
        record.content,
        record.value_json,
        *record.relevant_when,
        record.metadata_json,
        source.session_id,
        source.message_id,
        source.uri,
    )
    found = {
        match[0]: SensitiveClass[match["label"].upper()]
        for text in texts
        for match in PLACEHOLDER.finditer(text)
        if match["tag"]
    }
    return list(found.items())


def sealed_values(
    records: Iterable[MemoryRecord], originals: Mapping[str, str], sealer: Sealer | None
) -> Iterator[SealedValue]:
    """What is stored beside records that a write changes.

    Args:
        records: as they will be stored.
        originals: texts by placeholder, of this write.
        sealer: there when there are originals.
    """
    if not originals:
        return
    assert sealer is not None
    for record in records:
        for placeholder, _ in placeholders_in(record):
            if placeholder in originals:
                data = sealer.seal(originals[placeholder], record.id, placeholder)
                yield SealedValue(record.label, placeholder, data)


@dataclass(frozen=True)
class OpenSealed:
    """Handler of OpenSealed."""

    partitions: Partitions
    store: Store
    sealer: Sealer | None

    async def __call__(self, request: pb.OpenSealedRequest, call: Call) -> pb.OpenSealedResponse:
        """Show the originals of one memory.

        Raises:
            PermissionDenied: the credential has not the admin role.
            MemoryNotFound: there is no such memory of this user.
            SealKeyMissing: the server has no key, or not theirs.
        """
        if not call.is_admin:
            raise PermissionDenied("sealed data is opened with the admin role only")
        scope = codec.scope(request.scope, call.tenant)
        validate.name(request.id, "id", required=True)
        partition = await self.partitions.use(scope.tenant, scope.user_id, call)
        if partition is None:
            raise MemoryNotFound("no such memory of this user")
        record = partition.get(request.id)
        if not access.may_manage(record, scope, call):
            raise MemoryNotFound("no such memory of this user")
        placeholders = placeholders_in(record)
        if not placeholders:
            return pb.OpenSealedResponse()
        if self.sealer is None:
            raise SealKeyMissing("the server runs without a key for sealed data")
        stored = await asyncio.to_thread(self.store.sealed.find, record.label)
        response = pb.OpenSealedResponse()
        for placeholder, sensitive_class in placeholders:
            # A placeholder that a writer typed has nothing behind it.
            if placeholder in stored:
                response.values.add(
                    placeholder=placeholder,
                    sensitive_class=sensitive_class.value,
                    text=self.sealer.open(stored[placeholder], record.id, placeholder),
                )
        return response
