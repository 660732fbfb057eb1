"""What tests of several folders share: one real server for the whole run."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import Phase, settings

from recalld.client.testing import RunningServer, running_server
from tests.server.stubs import Stubs

# Machines that run tests are shared: what is slow there says nothing about the code.
settings.register_profile(
    "shared",
    deadline=None,
    max_examples=40,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
)
settings.load_profile("shared")


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with the hash embedder and a test clock, for tests that only add users to it."""
    with running_server(
        data_dir=tmp_path_factory.mktemp("shared"), args=["--test-clock"]
    ) as server:
        yield server


@pytest.fixture(scope="session")
def stubs(shared_server: RunningServer) -> Iterator[Stubs]:
    """Raw stubs of the shared server."""
    with Stubs(shared_server.target) as made:
        yield made


@pytest.fixture(scope="session")
def user_numbers() -> Iterator[int]:
    """Numbers that no other test of the run gets."""
    return itertools.count(1)


@pytest.fixture
def user(user_numbers: Iterator[int]) -> str:
    """A user of the shared server that nobody else uses."""
    return f"user-{next(user_numbers)}"
