"""Every exception of the layers has its row in the status table, or is known to be internal."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from types import ModuleType

from recalld.index import errors as index_errors
from recalld.scoring import errors as scoring_errors
from recalld.server import errors as server_errors
from recalld.server import status
from recalld.storage import errors as storage_errors

LAYERS = (server_errors, index_errors, scoring_errors, storage_errors)


def exceptions_of(layer: ModuleType) -> Iterator[type[Exception]]:
    """Exception classes that a module defines."""
    for value in vars(layer).values():
        is_own = isinstance(value, type) and value.__module__ == layer.__name__
        if is_own and issubclass(value, Exception):
            yield value


def without_row(
    layers: Collection[ModuleType], rows: Collection[type[Exception]]
) -> list[type[Exception]]:
    """Classes that nobody decided about."""
    return [cls for layer in layers for cls in exceptions_of(layer) if cls not in rows]


def test_every_exception_has_a_row() -> None:
    """What a caller sees of an exception is decided for each class."""
    assert without_row(LAYERS, {*status.TABLE, *status.INTERNAL_ONLY}) == []


def test_no_class_is_both() -> None:
    """A class is either shown to callers or internal."""
    assert status.TABLE.keys() & status.INTERNAL_ONLY == set()


def test_a_missing_row_is_found() -> None:
    """The check fails for a class that has no row."""
    layer = ModuleType("planted")
    planted = type("Planted", (Exception,), {"__module__": "planted"})
    vars(layer)["Planted"] = planted
    assert without_row([layer], {ValueError}) == [planted]
