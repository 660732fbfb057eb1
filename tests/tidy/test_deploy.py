"""Deployment files name files, commands, settings and metrics that exist; no engine runs here."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import generate_latest
from typer.main import get_command

from recalld.cli.app import app
from recalld.server import config, metrics
from recalld.server.__main__ import app as server_app
from recalld.server.errors import ConfigError
from tests.tidy.tree import ROOT, package_folders

DEPLOY = ROOT / "deploy"
CLIENT_VARIABLES = {
    *("RECALLD_TARGET", "RECALLD_TOKEN", "RECALLD_USER"),
    *("RECALLD_CA_FILE", "RECALLD_CERT_FILE", "RECALLD_KEY_FILE"),
}


def texts() -> dict[str, str]:
    """Every deployment file by name."""
    return {path.name: path.read_text("utf-8") for path in sorted(DEPLOY.iterdir())}


def lost_copies(dockerfile: str, root: Path) -> list[str]:
    """Sources of COPY that are not in the tree."""
    lines = re.findall(r"^COPY (?!--from)(.+)$", dockerfile, re.MULTILINE)
    return [src for line in lines for src in line.split()[:-1] if not (root / src).exists()]


def uncopied(dockerfile: str, ignore: str, root: Path) -> list[str]:
    """Packages that the Dockerfile does not copy, or that its ignore file hides."""
    copied = {
        src
        for line in re.findall(r"^COPY (?!--from)(.+)$", dockerfile, re.MULTILINE)
        for src in line.split()[:-1]
    }
    shown = {line.removeprefix("!") for line in ignore.splitlines() if line.startswith("!")}
    return [
        folder
        for folder in package_folders(root).values()
        if not any(folder == src or folder.startswith(f"{src}/") for src in copied & shown)
    ]


def variables(text: str) -> dict[str, str]:
    """Settings that a file gives by environment, in any of the notations used here."""
    found = dict(re.findall(r"\b(RECALLD_\w+)[=:] *\"?([^\s\"\\]+)", text))
    found |= dict(re.findall(r"name: (RECALLD_\w+), value: \"?([^\s\"}]+)", text))
    return {name: value for name, value in found.items() if name not in CLIENT_VARIABLES}


def refused(given: Mapping[str, str]) -> list[str]:
    """Settings that the server does not take."""
    bad = [n for n in given if "__" not in n and n not in config.SHORT_NAMES]
    try:
        config.load(environment=given)
    except ConfigError as error:
        bad.append(str(error))
    return bad


def commands(data: Any) -> Iterator[list[str]]:
    """Commands of containers: lists that start with the name of the program, and arguments."""
    if isinstance(data, dict):
        if isinstance(data.get("args"), list):
            yield ["recalld", *data["args"]]
        for value in data.values():
            yield from commands(value)
    elif isinstance(data, list):
        if data and data[0] == "recalld":
            yield [str(part) for part in data]
        for value in data:
            yield from commands(value)


def docker_commands(dockerfile: str) -> list[list[str]]:
    """Commands of ENTRYPOINT with CMD, and of HEALTHCHECK."""
    lists = [
        yaml.safe_load(text) for text in re.findall(r"(?:CMD|ENTRYPOINT) (\[.+\])", dockerfile)
    ]
    health, entrypoint, default = lists
    return [health, [*entrypoint, *default]]


def unknown_command(words: list[str]) -> bool:
    """Whether the command line does not know a command or one of its options."""
    name, *options = words[1:]
    group: Any = get_command(server_app if name in ("serve", "config", "token") else app)
    if name not in group.commands:
        return True
    known = {option for p in group.commands[name].params for option in p.opts}
    return any(word.startswith("--") and word not in known for word in options)


def test_yaml_files_parse() -> None:
    """Every YAML file has at least one document and no empty one."""
    for name, text in texts().items():
        if name.endswith(".yaml"):
            documents = list(yaml.safe_load_all(text))
            assert documents and all(documents), name


def test_the_image_copies_what_exists_and_every_package() -> None:
    """The Dockerfile copies only files of the tree, and every package of it."""
    dockerfile, ignore = texts()["Dockerfile"], texts()["Dockerfile.dockerignore"]
    assert lost_copies(dockerfile, ROOT) == []
    assert uncopied(dockerfile, ignore, ROOT) == []


def test_settings_exist() -> None:
    """Every environment setting is one the server takes, with that value."""
    given = {name: variables(text) for name, text in texts().items()}
    assert {name: refused(found) for name, found in given.items()} == {name: [] for name in given}
    assert sum(len(found) for found in given.values()) >= 10


def test_commands_exist() -> None:
    """Every command and option that a container or unit runs is known to the command line."""
    found = docker_commands(texts()["Dockerfile"])
    for name, text in texts().items():
        if name.endswith(".yaml"):
            found += [
                command for document in yaml.safe_load_all(text) for command in commands(document)
            ]
    unit = re.findall(r"^ExecStart=(.+)$", texts()["recalld.service"], re.MULTILINE)
    found += [["recalld", *shlex.split(line)[1:]] for line in unit]
    assert len(found) >= 7
    assert [words for words in found if unknown_command(words)] == []


def test_metrics_exist() -> None:
    """Every metric of the example queries is one the server has."""
    made = metrics.create()
    made.count_call("s", "m", "OK", 0.1)
    made.stage.labels("embed").observe(0.1)
    made.outcomes.labels("CREATED").inc()
    page = generate_latest(made.registry).decode()
    used = set(re.findall(r"\b(?:grpc_server|recalld)_\w+", texts()["prometheus.yaml"]))
    assert used and [name for name in used if f"\n{name}{{" not in page] == []


def test_the_sidecar_is_native_and_probed() -> None:
    """The sidecar is an init container that keeps running and is probed; its volumes exist."""
    manifest = yaml.safe_load(texts()["kubernetes-sidecar.yaml"])
    pod = manifest["spec"]["template"]["spec"]
    (sidecar,) = pod["initContainers"]
    assert sidecar["restartPolicy"] == "Always" and "startupProbe" in sidecar
    volumes = {
        v["name"]
        for v in (
            *pod["volumes"],
            *(
                {"name": claim["metadata"]["name"]}
                for claim in manifest["spec"]["volumeClaimTemplates"]
            ),
        )
    }
    for container in (sidecar, *pod["containers"]):
        assert {mount["name"] for mount in container["volumeMounts"]} <= volumes


def test_each_check_can_fail(tmp_path: Path) -> None:
    """A lost file, an uncopied package, a wrong setting and an unknown command are found."""
    assert lost_copies("COPY gone here ./\nCOPY --from=build x y\n", tmp_path) == ["gone", "here"]
    (tmp_path / "pyproject.toml").write_text(
        '[tool.setuptools.package-dir]\n"recalld.a" = "a"\n"recalld.b" = "b"\n'
    )
    assert uncopied("COPY a b ./\n", "*\n!a\n", tmp_path) == ["b"]
    assert refused(variables("ENV RECALLD_LISTENS=x\n")) == ["RECALLD_LISTENS"]
    assert len(refused(variables('- {name: RECALLD_SERVER__WORKERS, value: "0"}'))) == 1
    assert unknown_command(["recalld", "serve", "--nope"])
    assert unknown_command(["recalld", "snapshots"])
    assert not unknown_command(["recalld", "healthcheck", "--timeout", "2"])


@pytest.mark.parametrize("text", ["args: [serve]", "exec: {command: [recalld, serve]}"])
def test_commands_are_found_in_manifests(text: str) -> None:
    """Arguments of the image's entry point and whole commands are both seen."""
    assert list(commands(yaml.safe_load(text))) == [["recalld", "serve"]]
