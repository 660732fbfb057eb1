"""The configuration: layers, errors and the file that prints back."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.server.config import Config, load, seal_key, to_toml
from recalld.server.errors import ConfigError


def written(folder: Path, text: str) -> Path:
    """A TOML file."""
    path = folder / "recalld.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_each_layer_wins_over_those_below(tmp_path: Path) -> None:
    """Defaults give way to the file, the file to the environment, the environment to flags."""
    file = written(tmp_path, "[server]\nworkers = 3\nin_flight_max = 30\ndrain_s = 3.5\n")
    environment = {"RECALLD_SERVER__IN_FLIGHT_MAX": "40", "RECALLD_SERVER__DRAIN_S": "4.5"}
    found = load(flags={"server": {"drain_s": 5.5}}, file=file, environment=environment).server
    assert (found.workers, found.in_flight_max, found.drain_s) == (3, 40, 5.5)
    assert found.listen == Config().server.listen == "127.0.0.1:7600"


def test_short_names_are_settings_too() -> None:
    """The common settings have short names in the environment; the long name is the stronger."""
    short = {
        "RECALLD_LISTEN": "127.0.0.1:1",
        "RECALLD_DATA_DIR": "/x",
        "RECALLD_LOG_LEVEL": "error",
    }
    found = load(environment=short)
    assert (found.server.listen, found.storage.data_dir, found.log.level) == (
        "127.0.0.1:1",
        Path("/x"),
        "error",
    )
    both = load(environment={**short, "RECALLD_SERVER__LISTEN": "127.0.0.1:2"})
    assert both.server.listen == "127.0.0.1:2"


def test_names_of_others_are_left_alone() -> None:
    """A variable of the client, or an empty one, is no setting."""
    assert load(environment={"RECALLD_TOKEN": "t", "RECALLD_LISTEN": "", "PATH": "/"}) == Config()


@pytest.mark.parametrize(
    ("flags", "environment", "text", "named"),
    [
        ({"server": {"colour": 1}}, {}, "", "server.colour"),
        ({}, {"RECALLD_SERVER__COLOUR": "1"}, "", "server.colour"),
        ({}, {"RECALLD_PAINT__COLOUR": "1"}, "", "paint"),
        ({}, {}, "[storage]\ncolour = 1\n", "storage.colour"),
        ({}, {}, "colour = 1\n", "colour"),
        ({}, {}, "server = 3\n", "server"),
        ({"server": {}}, {}, "server = 3\n", "server"),
        ({"server": {"workers": 0}}, {}, "", "server.workers"),
        ({}, {"RECALLD_SERVER__WORKERS": "many"}, "", "server.workers"),
        ({}, {"RECALLD_EMBEDDER_KIND": "magic"}, "", "embedder.kind"),
        (
            {},
            {"RECALLD_EMBEDDER_KIND": "fast", "RECALLD_MODEL_DIR": "/model"},
            "",
            "embedder.model_dir",
        ),
        ({}, {}, "[ranking]\nmin_score = nan\n", "ranking.min_score"),
        ({}, {}, "[server]\ndrain_s = inf\n", "server.drain_s"),
        ({"embedder": {"queue_max": 255}}, {}, "", "embedder.queue_max"),
        ({}, {}, "[server\n", "recalld.toml"),
    ],
)
def test_errors_name_the_setting(
    tmp_path: Path,
    flags: dict[str, Any],
    environment: dict[str, str],
    text: str,
    named: str,
) -> None:
    """An unknown setting, or a value out of range, is refused by name, from every layer."""
    with pytest.raises(ConfigError, match=named.replace(".", r"\.")):
        load(flags=flags, file=written(tmp_path, text), environment=environment)


def test_missing_file_is_named(tmp_path: Path) -> None:
    """A file that is not there is an error that names it."""
    with pytest.raises(ConfigError, match=r"absent\.toml"):
        load(file=tmp_path / "absent.toml", environment={})


def test_sections_are_frozen() -> None:
    """Nothing of a configuration can be changed."""
    with pytest.raises(ValueError, match="frozen"):
        Config().server.workers = 3  # type: ignore[misc]


@given(
    workers=st.integers(1, 64),
    drain_s=st.floats(0, 600),
    reflection=st.booleans(),
    folder=st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1),
    model_dir=st.none() | st.just(Path('a "quoted" \\ path')),
)
def test_printed_file_is_taken_back(
    tmp_path_factory: pytest.TempPathFactory,
    workers: int,
    drain_s: float,
    reflection: bool,
    folder: str,
    model_dir: Path | None,
) -> None:
    """`to_toml` prints a file from which `load` makes the same configuration."""
    made = load(
        flags={
            "server": {"workers": workers, "drain_s": drain_s, "reflection": reflection},
            "storage": {"data_dir": Path(folder)},
            "embedder": {"model_dir": model_dir},
        },
        environment={},
    )
    file = written(tmp_path_factory.mktemp("toml"), to_toml(made))
    assert load(file=file, environment={}) == made


def test_a_zone_that_nobody_knows_is_refused() -> None:
    """The zone of words of time must be one of this machine; it is kept as such."""
    assert load(flags={"ranking": {"time_zone": "Asia/Shanghai"}}, environment={}).ranking.zone == (
        ZoneInfo("Asia/Shanghai")
    )
    for name in ("Middle/Earth", "", "../etc/passwd"):
        with pytest.raises(ConfigError, match=r"ranking\.time_zone"):
            load(flags={"ranking": {"time_zone": name}}, environment={})


def test_the_seal_key_comes_from_the_environment_alone() -> None:
    """It is base64 of 256 bits, needed only where a class is sealed, and never a setting."""
    sealing = load(flags={"sensitive": {"phone": "seal"}}, environment={})
    text = base64.b64encode(bytes(range(32))).decode()
    assert seal_key(Config(), {}) is None
    assert seal_key(sealing, {"RECALLD_SEAL_KEY": f"{text}\n"}) == bytes(range(32))
    for environment, problem in (({}, "is needed"), ({"RECALLD_SEAL_KEY": "c2hvcnQ="}, "40 bits")):
        with pytest.raises(ConfigError, match=f"RECALLD_SEAL_KEY.*{problem}"):
            seal_key(sealing, environment)
    assert text not in to_toml(load(environment={"RECALLD_SEAL_KEY": text}))


def test_policies_are_four_words() -> None:
    """Any other word for what becomes of a class is refused by its name."""
    with pytest.raises(ConfigError, match=r"sensitive\.phone"):
        load(environment={"RECALLD_SENSITIVE__PHONE": "mask"})


TLS = {"cert_file": "c.pem", "key_file": "k.pem"}
ON = {"required": True}


@pytest.mark.parametrize(
    ("listen", "auth", "tls", "lacking"),
    [
        ("0.0.0.0:7600", {}, {}, "auth.required and tls.cert_file"),
        ("0.0.0.0:7600", ON, {}, "tls.cert_file"),
        ("[::]:7600", {}, TLS, "auth.required"),
        ("recalld:7600", ON, {}, "tls.cert_file"),
        ("0.0.0.0:7600", ON, TLS, ""),
        ("127.0.0.1:7600", {}, {}, ""),
        ("unix:/run/recalld.sock", ON, {}, ""),
    ],
)
def test_listening_beyond_this_machine(
    listen: str, auth: dict[str, Any], tls: dict[str, Any], lacking: str
) -> None:
    """An address that others reach needs credentials and TLS, or a word that nothing is needed."""
    flags = {"server": {"listen": listen}, "auth": auth, "tls": tls}
    if not lacking:
        assert load(flags=flags, environment={}).server.listen == listen
        return
    with pytest.raises(ConfigError, match=f"set {lacking}, listen on loopback"):
        load(flags=flags, environment={})
    flags["server"] = {"listen": listen, "allow_insecure": True}
    assert load(flags=flags, environment={}).server.allow_insecure


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"tls": {"cert_file": "c"}}, "tls.cert_file and tls.key_file: set both or none"),
        ({"tls": {"key_file": "k"}}, "tls.cert_file and tls.key_file: set both or none"),
        ({"tls": {"client_ca_file": "a"}}, "tls.client_ca_file needs tls.cert_file"),
        ({"tls": TLS, "server": {"listen": "unix:/x/s"}}, "a Unix socket takes no TLS"),
        (
            {"tls": TLS, "auth": {"client_identities_file": "i"}},
            "auth.client_identities_file needs tls.client_ca_file",
        ),
        ({"server": {"socket_mode": "0666"}}, "server.socket_mode"),
        ({"quotas": {"calls_per_s": -1}}, "quotas.calls_per_s"),
    ],
)
def test_settings_that_need_each_other(flags: dict[str, Any], said: str) -> None:
    """Half of a pair of files, and a mode that lets everybody in, are refused by name."""
    with pytest.raises(ConfigError, match=said):
        load(flags=flags, environment={})
