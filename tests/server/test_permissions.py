"""The table of methods and roles."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

from recalld.server.errors import PermissionDenied
from recalld.server.permissions import METHODS, Identity, Need, Role, require
from recalld.server.services import SERVICES

SERVED = (
    *(descriptor for descriptor, _ in SERVICES),
    *health_pb2.DESCRIPTOR.services_by_name.values(),
    *reflection_pb2.DESCRIPTOR.services_by_name.values(),
)
"""Every service that a process registers."""
OPERATOR_ONLY = {
    "CreateSnapshot",
    "ListSnapshots",
    "VerifySnapshot",
    "RestoreSnapshot",
    "DeleteSnapshot",
}
READS = {
    "GetMemory",
    "ListMemories",
    "ListKeys",
    "ExportMemories",
    "Recall",
    "BatchRecall",
    "BuildContext",
    "GetRecallTrace",
    "ListRecallTraces",
    "ListTurns",
    "ListWorkingItems",
    "GetServerInfo",
    "ServerReflectionInfo",
}
PROBES = {"Check", "List", "Watch"}


def methods(services: Iterable[object]) -> set[str]:
    """`package.Service/Method` of every method of some services."""
    return {f"{s.full_name}/{m.name}" for s in services for m in s.methods}  # type: ignore[attr-defined]


def allowed(method: str, identity: Identity) -> bool:
    """Whether the table lets an identity call a method."""
    try:
        require(method, identity)
    except PermissionDenied:
        return False
    return True


def test_every_method_is_listed() -> None:
    """Every method of every service that is served has its row."""
    assert methods(SERVED) <= METHODS.keys()


def test_every_row_is_a_method() -> None:
    """No row is left of a method that is gone; `List` of health came with newer libraries."""
    assert METHODS.keys() - methods(SERVED) <= {"grpc.health.v1.Health/List"}


def test_methods_without_a_row_are_denied() -> None:
    """What is not in the table is denied, also to an operator."""
    for method in ("recalld.v1.MemoryService/Guess", "recalld.v1.Other/Remember", "", "Remember"):
        with pytest.raises(PermissionDenied, match="nobody may call it"):
            require(method, Identity("default", Role.ADMIN))


def test_every_role_and_method() -> None:
    """Readers read, writers also write, admins also look after their tenant; what concerns every
    tenant is for admins of the tenant default."""
    for method, tenant, role in itertools.product(METHODS, ("default", "acme"), Role):
        name = method.rpartition("/")[2]
        if name in PROBES or name in READS:
            may = True
        elif name in OPERATOR_ONLY:
            may = (tenant, role) == ("default", Role.ADMIN)
        elif method.startswith("recalld.v1.AdminService/"):
            may = role is Role.ADMIN
        else:
            may = role is not Role.READER
        assert allowed(method, Identity(tenant, role)) is may, (method, tenant, role)


def test_only_probes_are_open() -> None:
    """Nothing but health checks is open to callers without a credential."""
    is_open = {method for method, need in METHODS.items() if need is Need.ANYBODY}
    assert {method.rpartition("/")[0] for method in is_open} == {"grpc.health.v1.Health"}
