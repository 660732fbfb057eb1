"""Who may call what: one table for every method that this process serves.

A method that is not in the table is denied. The tenant comes from the credential and never from a
request; this module decides on roles alone, not on memories (see access.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from recalld.server.errors import PermissionDenied

DEFAULT_TENANT = "default"
"""The tenant of everybody while credentials are off, and of whoever runs the server."""


class Role(StrEnum):
    """What a credential may do within its tenant; each may do all that those before it may."""

    READER = "reader"
    WRITER = "writer"
    ADMIN = "admin"


class Need(IntEnum):
    """What a method asks for, the least first."""

    ANYBODY = 0
    READER = 1
    WRITER = 2
    ADMIN = 3
    OPERATOR = 4
    """What concerns the whole server, every tenant's data included: an admin of `default`."""


LEVELS: Mapping[Role, Need] = {
    Role.READER: Need.READER,
    Role.WRITER: Need.WRITER,
    Role.ADMIN: Need.ADMIN,
}


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom a credential stands for.

    Attributes:
        tenant: whose memories.
        role: what it may do there.
    """

    tenant: str
    role: Role

    @property
    def level(self) -> Need:
        """The most that this identity fulfils."""
        if self.role is Role.ADMIN and self.tenant == DEFAULT_TENANT:
            return Need.OPERATOR
        return LEVELS[self.role]


EVERYBODY = Identity(DEFAULT_TENANT, Role.ADMIN)
"""Every caller while credentials are off."""

METHODS: Mapping[str, Need] = {
    "recalld.v1.MemoryService/Remember": Need.WRITER,
    "recalld.v1.MemoryService/GetMemory": Need.READER,
    "recalld.v1.MemoryService/ListMemories": Need.READER,
    "recalld.v1.MemoryService/ListKeys": Need.READER,
    "recalld.v1.MemoryService/UpdateMemory": Need.WRITER,
    "recalld.v1.MemoryService/Forget": Need.WRITER,
    "recalld.v1.MemoryService/ResolveConflict": Need.WRITER,
    "recalld.v1.MemoryService/Ingest": Need.WRITER,
    "recalld.v1.MemoryService/ExportMemories": Need.READER,
    "recalld.v1.RecallService/Recall": Need.READER,
    "recalld.v1.RecallService/BatchRecall": Need.READER,
    "recalld.v1.RecallService/BuildContext": Need.READER,
    "recalld.v1.RecallService/GetRecallTrace": Need.READER,
    "recalld.v1.RecallService/ListRecallTraces": Need.READER,
    "recalld.v1.RecallService/ReportUsage": Need.WRITER,
    "recalld.v1.SessionService/AppendTurns": Need.WRITER,
    "recalld.v1.SessionService/ListTurns": Need.READER,
    "recalld.v1.SessionService/PutWorkingItem": Need.WRITER,
    "recalld.v1.SessionService/ListWorkingItems": Need.READER,
    "recalld.v1.SessionService/CloseSession": Need.WRITER,
    "recalld.v1.AdminService/GetServerInfo": Need.READER,
    "recalld.v1.AdminService/GetStats": Need.ADMIN,
    # A snapshot holds the memories of every tenant, and a restore takes all of them back.
    "recalld.v1.AdminService/CreateSnapshot": Need.OPERATOR,
    "recalld.v1.AdminService/ListSnapshots": Need.OPERATOR,
    "recalld.v1.AdminService/VerifySnapshot": Need.OPERATOR,
    "recalld.v1.AdminService/RestoreSnapshot": Need.OPERATOR,
    "recalld.v1.AdminService/DeleteSnapshot": Need.OPERATOR,
    "recalld.v1.AdminService/Consolidate": Need.ADMIN,
    "recalld.v1.AdminService/LinkIdentity": Need.ADMIN,
    # A probe holds no secret, and learns only whether the server serves.
    "grpc.health.v1.Health/Check": Need.ANYBODY,
    "grpc.health.v1.Health/List": Need.ANYBODY,
    "grpc.health.v1.Health/Watch": Need.ANYBODY,
    "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": Need.READER,
}


def require(method: str, identity: Identity) -> None:
    """Let an identity call a method.

    Args:
        method: `package.Service/Method`.
        identity: who asks.

    Raises:
        PermissionDenied: the role does not allow it, or the table does not hold the method.
    """
    need = METHODS.get(method)
    if need is None:
        raise PermissionDenied(f"{method}: nobody may call it")
    if identity.level < need:
        if need is Need.OPERATOR:
            raise PermissionDenied(
                f"{method} concerns every tenant: it needs the role admin in the tenant "
                f"{DEFAULT_TENANT}"
            )
        raise PermissionDenied(
            f"{method} needs the role {need.name.lower()}; this credential has {identity.role}"
        )
