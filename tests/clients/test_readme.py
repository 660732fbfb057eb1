"""The example of the client's README."""

from __future__ import annotations

import re
from pathlib import Path

from recalld.client import Client
from recalld.client.testing import RunningServer

README = Path(__file__).parents[2] / "clients" / "python" / "README.md"


def test_the_example_runs(real_server: RunningServer) -> None:
    """The example does what it says against a real server."""
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    assert example.count("\n") <= 25
    code = example.replace("127.0.0.1:7600", real_server.target)
    exec(compile(code, str(README), "exec"), {})
    with Client(real_server.target, user_id="u1", agent_id="planner") as client:
        assert client.get(key="location.home").content == "Lives in Ningbo"
