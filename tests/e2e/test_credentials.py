"""A real server that asks for credentials: every method, every kind of caller."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from recalld.client import Client, NewMemory, errors
from recalld.client.testing import RunningServer, running_server
from recalld.server import token_file
from recalld.server.permissions import METHODS, Identity, Role
from recalld.server.services import CAPABILITIES, SERVICES
from recalld.server.token_file import Grant
from recalld.storage.fsio import Files
from tests.server.stubs import Refusal, refusal_of

TIMEOUT_S = 20
CALLERS = [(tenant, role) for tenant in ("acme", "default") for role in Role]


class Guarded:
    """The server, and tokens for it."""

    def __init__(self, server: RunningServer, path: Path) -> None:
        self.server = server
        self.path = path

    def token(self, tenant: str = "acme", role: Role = Role.WRITER) -> str:
        return token_file.create(self.path, Grant(tenant, role), datetime.now(UTC), Files())[1]

    def client(self, token: str) -> Client:
        return Client(self.server.target, token=token, user_id="u")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """One server for the module."""
    folder = tmp_path_factory.mktemp("guarded")
    path = folder / "tokens.json"
    token_file.create(path, Grant("first", Role.READER), datetime.now(UTC), Files())
    environment = {"RECALLD_AUTH__REQUIRED": "true", "RECALLD_QUOTAS__MEMORIES_MAX": "40"}
    with running_server(data_dir=folder, env=environment) as server:
        yield Guarded(server, path)


def called(channel: grpc.Channel, method: Any, token: str | None) -> Refusal:
    """How a call without a body of sense is refused."""
    path = f"/{method.containing_service.full_name}/{method.name}"
    pairs = () if token is None else (("authorization", f"Bearer {token}"),)
    if method.client_streaming:
        streams = channel.stream_stream(path)
        return refusal_of(lambda **kw: [*streams(iter(()), **kw)], metadata=pairs)
    if method.server_streaming:
        stream = channel.unary_stream(path)
        return refusal_of(lambda **kw: [*stream(b"\xff", **kw)], metadata=pairs)
    return refusal_of(channel.unary_unary(path), b"\xff", metadata=pairs)


def test_nobody_without_a_credential(guarded: Guarded) -> None:
    """Every method refuses a caller without a valid token before it looks at the request, also
    those that are not offered."""
    wrong = guarded.token()[:-1] + "~"
    with grpc.insecure_channel(guarded.server.target) as channel:
        for service, _ in SERVICES:
            for method in service.methods:
                for token in (None, "", wrong):
                    refusal = called(channel, method, token)
                    assert refusal.code == grpc.StatusCode.UNAUTHENTICATED, method.full_name
                    assert (refusal.reason, refusal.domain) == ("UNAUTHENTICATED", "recalld")


@pytest.mark.parametrize(("tenant", "role"), CALLERS)
def test_roles(guarded: Guarded, tenant: str, role: Role) -> None:
    """A role that may call a method gets as far as the request; another is denied before."""
    token = guarded.token(tenant, role)
    with grpc.insecure_channel(guarded.server.target) as channel:
        for service, _ in SERVICES:
            for method in service.methods:
                refusal = called(channel, method, token)
                name = f"{service.full_name}/{method.name}"
                if Identity(tenant, role).level < METHODS[name]:
                    assert refusal.code == grpc.StatusCode.PERMISSION_DENIED, name
                    assert refusal.reason == "PERMISSION_DENIED"
                elif f"{service.name}/{method.name}" in CAPABILITIES:
                    assert refusal.code == grpc.StatusCode.INVALID_ARGUMENT, name
                else:
                    assert refusal.code == grpc.StatusCode.UNIMPLEMENTED, name


def test_health_is_open_and_reflection_is_not(guarded: Guarded) -> None:
    """A probe needs no secret; whoever asks for the contract does."""
    with grpc.insecure_channel(guarded.server.target) as channel:
        check = health_pb2_grpc.HealthStub(channel).Check
        state = check(health_pb2.HealthCheckRequest(), timeout=TIMEOUT_S)
        assert state.status == health_pb2.HealthCheckResponse.SERVING
        ask = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo
        question = reflection_pb2.ServerReflectionRequest(list_services="")

        def asked(**more: Any) -> list[Any]:
            return [*ask(iter([question]), **more)]

        assert refusal_of(asked).code == grpc.StatusCode.UNAUTHENTICATED
        token = guarded.token(role=Role.READER)
        pairs = (("authorization", f"Bearer {token}"),)
        [answer] = asked(metadata=pairs, timeout=TIMEOUT_S)
        assert "recalld.v1.RecallService" in str(answer)


def test_tokens_change_while_it_serves(guarded: Guarded) -> None:
    """A new token counts at once, and a revoked one is refused with the next call of its
    connection."""
    token = guarded.token()
    with guarded.client(token) as client:
        client.remember("likes green tea")
        token_file.revoke(guarded.path, token.split("_")[1], Files())
        with pytest.raises(errors.Unauthenticated, match="the token is not valid"):
            client.recall("tea")


def test_tenants_do_not_meet(guarded: Guarded) -> None:
    """The same user id in two tenants is two users; a foreign id looks like one that never was."""
    with guarded.client(guarded.token("one")) as one, guarded.client(guarded.token("two")) as two:
        made = one.remember("allergic to peanuts", key="allergy").results[0].id
        assert not two.recall("allergic to peanuts").hits
        with pytest.raises(errors.MemoryNotFound) as foreign:
            two.get(made)
        with pytest.raises(errors.MemoryNotFound) as absent:
            two.get("0" * 32)
        assert str(foreign.value) == str(absent.value)


def test_the_memory_quota(guarded: Guarded) -> None:
    """A write over the quota is RESOURCE_EXHAUSTED with reason and delay; other tenants go on."""
    with guarded.client(guarded.token("full")) as full:
        full.remember([NewMemory(content=f"fact number {i}") for i in range(40)])
        with pytest.raises(errors.QuotaExceeded) as caught:
            full.remember("one more")
        assert caught.value.code == "RESOURCE_EXHAUSTED"
        assert caught.value.retry_after_s == 60.0
    with guarded.client(guarded.token("empty")) as empty:
        empty.remember("one more")
