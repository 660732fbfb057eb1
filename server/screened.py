"""What the filter of sensitive data did to one request: told to the writer, and what is sealed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from recalld.server.sensitive_class import SensitiveClass
from recalld.v1 import types_pb2


@dataclass(frozen=True, slots=True)
class ScreenedField:
    """A field in which something was replaced.

    Attributes:
        path: in the request.
        sensitive_class: what it was.
        is_sealed: the original is kept, encrypted; else it is nowhere.
    """

    path: str
    sensitive_class: SensitiveClass
    is_sealed: bool


@dataclass(frozen=True, slots=True)
class Screened:
    """What was done to a request.

    Attributes:
        fields: where something was replaced, in order, each field and class once.
        originals: texts to seal, by the placeholders that stand for them.
        selectors: texts by which memories are chosen, as they were, by path.
    """

    fields: tuple[ScreenedField, ...] = ()
    originals: Mapping[str, str] = field(default_factory=dict, repr=False)
    selectors: Mapping[str, str] = field(default_factory=dict, repr=False)

    def and_then(self, later: Screened) -> Screened:
        """This and what was done afterwards, fields once each."""
        return Screened(
            tuple(dict.fromkeys((*self.fields, *later.fields))),
            {**self.originals, **later.originals},
            {**later.selectors, **self.selectors},
        )

    def told(self, prefix: str = "") -> Iterator[types_pb2.ScreenedField]:
        """The fields below a path, as they go out."""
        for screened in self.fields:
            if screened.path.startswith(prefix):
                yield types_pb2.ScreenedField(
                    field=screened.path,
                    sensitive_class=screened.sensitive_class.value,
                    action=types_pb2.SENSITIVE_ACTION_SEALED
                    if screened.is_sealed
                    else types_pb2.SENSITIVE_ACTION_REDACTED,
                )


NOTHING = Screened()
