"""What a client learns of sensitive data: what the server replaced, and sealed originals.

Makes dataclasses of wire messages, as decode.py does; knows no channel.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from recalld.client import values
from recalld.client.values import SensitiveAction, SensitiveClass
from recalld.v1 import admin_service_pb2, types_pb2


@dataclass(frozen=True, slots=True)
class ScreenedField:
    """A field of a write in which sensitive data was replaced by a placeholder."""

    field: str
    sensitive_class: SensitiveClass
    action: SensitiveAction


@dataclass(frozen=True, slots=True)
class SealedValue:
    """A sealed original and the placeholder that stands for it; `text` is not in its repr."""

    placeholder: str
    sensitive_class: SensitiveClass
    text: str = field(repr=False)


def screened(fields: Iterable[types_pb2.ScreenedField]) -> tuple[ScreenedField, ...]:
    """What was replaced in one memory."""
    return tuple(
        ScreenedField(
            one.field,
            values.decode(SensitiveClass, one.sensitive_class),
            values.decode(SensitiveAction, one.action),
        )
        for one in fields
    )


def opened(response: admin_service_pb2.OpenSealedResponse) -> tuple[SealedValue, ...]:
    """Answer of OpenSealed."""
    return tuple(
        SealedValue(one.placeholder, values.decode(SensitiveClass, one.sensitive_class), one.text)
        for one in response.values
    )
