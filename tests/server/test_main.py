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


BROKEN = '{"role": "boat", "memories": {"en": ["I own a boat"]}}\n{"role": 1}\n'


def test_catalogue_in_order() -> None:
    """The built-in catalogue passes its check, and is counted."""
    said = RUN.invoke(app, ["catalogue", "check"])
    assert said.exit_code == 0
    assert said.stdout.startswith("in order: ")
    counted = json.loads(RUN.invoke(app, ["catalogue", "check", "--json"]).stdout)
    assert counted["valid"] is True
    assert f"{counted['situations']} situations" in said.stdout


@pytest.mark.parametrize("is_named", [True, False])
def test_broken_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_named: bool) -> None:
    """A broken file, named or configured, ends the check with code 1, by file, line and field."""
    file = tmp_path / "own.jsonl"
    file.write_text(BROKEN, encoding="utf-8")
    monkeypatch.setenv("RECALLD_RANKING__CATALOGUE_FILE", "" if is_named else str(file))
    arguments = ["catalogue", "check", *([str(file)] if is_named else [])]
    problem = f"{file}:2: role must be 1 to 64 of a-z, 0-9 and _"
    plain = RUN.invoke(app, arguments)
    assert (plain.exit_code, plain.output) == (1, f"error: {problem}\n")
    as_json = RUN.invoke(app, [*arguments, "--json"])
    assert as_json.exit_code == 1
    assert json.loads(as_json.output) == {"valid": False, "problem": problem}


def test_broken_catalogue_refuses_to_serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server with a broken catalogue does not start, says where, and leaves nothing behind."""
    file = tmp_path / "own.jsonl"
    file.write_text(BROKEN, encoding="utf-8")
    monkeypatch.setenv("RECALLD_RANKING__CATALOGUE_FILE", str(file))
    data_dir = tmp_path / "data"
    done = RUN.invoke(app, ["serve", "--embedder", "hash", "--data-dir", str(data_dir)])
    assert done.exit_code == 1
    assert f"{file}:2: role must be" in done.output
    assert not data_dir.exists()
