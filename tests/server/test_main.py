"""The command line: usage errors, and a configuration that prints back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recalld.server.__main__ import app
from recalld.server.config import Config, load

RUN = CliRunner()


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting comes from the environment of whoever runs the tests."""
    for name in ("LISTEN", "DATA_DIR", "MODEL_DIR", "EMBEDDER_KIND", "LOG_LEVEL"):
        monkeypatch.delenv(f"RECALLD_{name}", raising=False)


def test_config_prints_back(tmp_path: Path) -> None:
    """What `config print` prints is a file that gives the same configuration."""
    file = tmp_path / "a.toml"
    file.write_text("[server]\nworkers = 5\n", encoding="utf-8")
    printed = RUN.invoke(app, ["config", "print", "--config", str(file)])
    assert printed.exit_code == 0
    copy = tmp_path / "b.toml"
    copy.write_text(printed.stdout, encoding="utf-8")
    assert load(file=copy, environment={}) == load(file=file, environment={})


def test_config_as_json() -> None:
    """As JSON it holds every section."""
    printed = RUN.invoke(app, ["config", "print", "--json"])
    assert json.loads(printed.stdout) == Config().model_dump(mode="json")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--embedder", "magic"], "embedder.kind"),
        (["--log-level", "loud"], "log.level"),
        (["--config", "absent.toml"], "absent.toml"),
        (["--colour"], "--colour"),
    ],
)
def test_usage_errors(arguments: list[str], said: str, tmp_path: Path) -> None:
    """A wrong flag or setting ends with code 2, and is named."""
    done = RUN.invoke(app, ["serve", "--data-dir", str(tmp_path / "data"), *arguments])
    assert done.exit_code == 2
    assert said in done.output
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("address", ["nowhere", "127.0.0.1:", ":65536", "127.0.0.1:-1"])
def test_bad_metrics_address(tmp_path: Path, address: str) -> None:
    """An address for the metrics page that is none is a usage error that names the setting."""
    file = tmp_path / "a.toml"
    file.write_text(f'[server]\nmetrics_listen = "{address}"\n', encoding="utf-8")
    done = RUN.invoke(app, ["serve", "--data-dir", str(tmp_path / "d"), "--config", str(file)])
    assert done.exit_code == 2
    assert "server.metrics_listen" in done.output
