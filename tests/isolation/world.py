"""A whole server in this process with several tenants, and an oracle that looks at bytes.

Every text that an owner stores holds the owner's mark. Whatever comes back to a caller may hold
marks of the owners it may see and no others; the same for ids, which belong to the owner who first
got them. The oracle knows nothing of messages: it searches the bytes of answers, errors, logs and
metrics, so it cannot miss a field. (Errors alone may hold ids of others: an error says the id under
which the call is logged, and may repeat what was asked for.)
"""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Collection
from datetime import timedelta
from pathlib import Path
from typing import Any

import structlog
from google.protobuf.message import Message
from prometheus_client import generate_latest

from recalld.server import times, token_file
from recalld.server.admission import Gate
from recalld.server.credentials import Credentials
from recalld.server.dispatch import Dispatcher, Door
from recalld.server.permissions import Role
from recalld.server.quotas import CallRate
from recalld.server.sections import QuotasSection, TracesSection
from recalld.server.token_file import Grant
from recalld.server.watched_file import WatchedFile
from recalld.storage.fsio import Files
from tests.server.core import NOW_US, Core, opened
from tests.server.doors import Aborted, FakeContext, HandlersOf

TENANTS = ("tnred", "tnblue", "tngreen")
USERS = ("usann", "usbob", "uscid")
Owner = tuple[str, str]
"""Tenant and user: users of one name are different people in different tenants."""
OWNERS: tuple[Owner, ...] = tuple((tenant, user) for tenant in TENANTS for user in USERS)

MARK = re.compile(rb"mk([a-z]+)x([a-z]+)q")
ID = re.compile(rb"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
NAME = re.compile(rb"tn(?:red|blue|green)|us(?:ann|bob|cid)")


class Leak(AssertionError):
    """Something came out that is not the caller's."""


def mark(owner: Owner) -> str:
    """The word that every text of an owner holds."""
    return f"mk{owner[0]}x{owner[1]}q"


class Lines:
    """A log that keeps its lines, of every level."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def msg(self, text: str) -> None:
        self.lines.append(text)

    debug = info = warning = error = msg


class World:
    """The server, tokens of every tenant and role, and what belongs to whom."""

    def __init__(
        self, core: Core, handlers: HandlersOf, tokens: dict[Any, str], log: Lines
    ) -> None:
        self.core = core
        self.tokens = tokens
        self._handlers = handlers
        self._log = log
        # Who can be the owner of an id: those who might see each answer that held it.
        self._owners_of: dict[bytes, frozenset[Owner]] = {}
        # The server's model is the same for everybody.
        self._is_everybodys = frozenset({core.embedder.fingerprint.encode()})
        self.ids: dict[Owner, list[str]] = defaultdict(list)
        self.recalls: dict[Owner, list[str]] = defaultdict(list)
        self.groups: dict[Owner, list[str]] = defaultdict(list)
        self.revisions: dict[str, list[int]] = defaultdict(list)
        self.calls = self.answers = 0

    async def call(
        self, owner: Owner, role: Role, path: str, request: Message, shared: Collection[str] = ()
    ) -> list[bytes] | None:
        """Makes one call as somebody of a tenant and checks all that comes of it.

        Args:
            owner: whose tenant the credential is of, and the user of the request.
            role: of the credential.
            path: `/package.Service/Method`.
            request: its body.
            shared: other users of the tenant whose memories the answer may hold.

        Returns:
            The answers; None where the call failed.

        Raises:
            Leak: something foreign came out.
        """
        may_see = {owner, *((owner[0], user) for user in shared)}
        context = FakeContext(token=self.tokens[owner[0], role])
        self.calls += 1
        try:
            answers = await self._handlers.call(path, request.SerializeToString(), context)
        except Aborted as error:
            trailers = b"".join(value for _, value in error.trailers)
            assert error.code().name not in ("INTERNAL", "UNKNOWN", "DATA_LOSS"), error.message
            self._check(error.message.encode() + trailers, may_see, f"error of {path}", errors=True)
            return None
        self.answers += 1
        for answer in answers:
            self._check(answer, may_see, f"answer of {path}")
        return answers

    async def refusal(self, owner: Owner, path: str, request: Message) -> tuple[str, str, bytes]:
        """Code, message and trailers of a call as admin that has to fail."""
        context = FakeContext(token=self.tokens[owner[0], Role.ADMIN])
        try:
            await self._handlers.call(path, request.SerializeToString(), context)
        except Aborted as error:
            trailers = b"".join(value for _, value in error.trailers)
            return error.code().name, error.message, trailers
        raise AssertionError(f"{path} was answered")

    def own(self, owner: Owner, text: str) -> None:
        """Notes that an id is an owner's."""
        self._owners_of[text.encode()] = frozenset({owner})

    def _check(
        self, data: bytes, may_see: Collection[Owner], where: str, *, errors: bool = False
    ) -> None:
        """Looks for marks and ids of others."""
        for tenant, user in MARK.findall(data):
            if (tenant.decode(), user.decode()) not in may_see:
                raise Leak(f"{where} for {sorted(may_see)} holds a mark of {tenant!r} {user!r}")
        for found in () if errors else {*ID.findall(data)} - self._is_everybodys:
            before = self._owners_of.get(found)
            left = frozenset(may_see) if before is None else before.intersection(may_see)
            if not left:
                raise Leak(f"{where} for {sorted(may_see)} holds an id of {before}")
            self._owners_of[found] = left

    def check_log_and_metrics(self) -> None:
        """Looks for anybody's marks and names in what the server tells its operator."""
        page = generate_latest(self.core.metrics.registry)
        for where, data in (("log", "\n".join(self._log.lines).encode()), ("metrics", page)):
            if found := MARK.search(data) or NAME.search(data):
                raise Leak(f"the {where} holds {found[0]!r}")
        self._log.lines.clear()

    @property
    def log_line_count(self) -> int:
        """Lines since the last check."""
        return len(self._log.lines)


@contextlib.asynccontextmanager
async def world(folder: Path) -> AsyncIterator[World]:
    """An empty server behind its own door: tokens, roles, gate, parsing, statuses."""
    path = folder / "tokens.json"
    now = times.EPOCH + timedelta(microseconds=NOW_US)
    tokens = {
        (tenant, role): token_file.create(path, Grant(tenant, role), now, Files())[1]
        for tenant in TENANTS
        for role in Role
    }
    kept = Lines()
    log = structlog.wrap_logger(
        kept,
        processors=[structlog.processors.add_log_level, structlog.processors.JSONRenderer()],
    )
    async with opened(traces=TracesSection(sample_share=0.02, kept_max=50)) as core:
        tokens_now = WatchedFile(path, token_file.read, log)
        gate = Gate(512, is_shared=True, is_open=True)
        dispatcher = Dispatcher(
            clock=core.clock,
            door=Door(
                Credentials(core.clock, tokens_now), gate, CallRate(QuotasSection(), core.clock)
            ),
            metrics=core.metrics,
            log=log,
            test_clock=False,
        )
        yield World(core, HandlersOf(core.table.handlers(dispatcher)), tokens, kept)
