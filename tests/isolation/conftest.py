"""What the tests of isolation share: one real server behind tokens."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recalld.client.testing import running_server
from recalld.server import token_file
from recalld.server.permissions import Role
from recalld.server.token_file import Grant
from recalld.storage.fsio import Files
from tests.isolation.door import Door
from tests.server.stubs import Stubs

TENANT = "acme"


@pytest.fixture(scope="session")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """A server that asks for tokens."""
    folder = tmp_path_factory.mktemp("private")
    path: Path = folder / "tokens.json"
    made = {
        role: token_file.create(path, Grant(TENANT, role), datetime.now(UTC), Files())[1]
        for role in Role
    }
    with (
        running_server(data_dir=folder, env={"RECALLD_AUTH__REQUIRED": "true"}) as server,
        Stubs(server.target) as stubs,
    ):
        yield Door(stubs, made)
