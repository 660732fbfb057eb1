"""Enum numbers are written down three times (wire, record, ranking) and are the same."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from recalld.scoring import params
from recalld.storage import record
from recalld.v1 import recall_service_pb2, types_pb2

WIRE = {
    "Kind": (types_pb2.MemoryKind, "MEMORY_KIND_"),
    "Importance": (types_pb2.Importance, "IMPORTANCE_"),
    "StatedBy": (types_pb2.StatedBy, "STATED_BY_"),
    "Visibility": (types_pb2.Visibility, "VISIBILITY_"),
    "Status": (types_pb2.MemoryStatus, "MEMORY_STATUS_"),
    "KeyCardinality": (types_pb2.KeyCardinality, "KEY_CARDINALITY_"),
}
RANKED = ("Kind", "Importance", "StatedBy", "Visibility", "Status")
COUNTS = {
    "Kind": params.KIND_COUNT,
    "Importance": params.IMPORTANCE_COUNT,
    "StatedBy": params.STATED_BY_COUNT,
    "Visibility": params.VISIBILITY_COUNT,
    "Status": params.STATUS_COUNT,
}


def differences(one: Mapping[str, int], other: Mapping[str, int]) -> set[tuple[str, int]]:
    """Names and numbers that stand in one of two tables only."""
    return set(one.items()) ^ set(other.items())


def of_record(name: str) -> dict[str, int]:
    """Members of an enum of the record."""
    return {member.name: int(member) for member in getattr(record, name)}


@pytest.mark.parametrize("name", WIRE)
def test_record_and_wire_agree(name: str) -> None:
    """The record's numbers are those of the wire."""
    enum, prefix = WIRE[name]
    wire = {key.removeprefix(prefix): number for key, number in enum.items()}
    assert differences(of_record(name), wire) == set()


@pytest.mark.parametrize("name", RANKED)
def test_record_and_ranking_agree(name: str) -> None:
    """The ranking's numbers are those of the record, and it knows how many there are."""
    members = of_record(name)
    ranking = {key: getattr(params, key, -1) for key in members if key != "UNSPECIFIED"}
    assert differences({"UNSPECIFIED": 0, **ranking}, members) == set()
    assert COUNTS[name] == len(members)


def test_fusions_of_ranking_and_wire_agree() -> None:
    """The ranking's fusions have the numbers of the wire."""
    wire = {
        key.removeprefix("FUSION_"): number
        for key, number in recall_service_pb2.Fusion.items()
        if number
    }
    assert differences({member.name: int(member) for member in params.Fusion}, wire) == set()


def test_a_difference_is_found() -> None:
    """A changed number and a missing name are both found."""
    assert differences({"A": 1, "B": 2}, {"A": 1, "B": 3}) == {("B", 2), ("B", 3)}
    assert differences({"A": 1}, {"A": 1, "C": 0}) == {("C", 0)}
