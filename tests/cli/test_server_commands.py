"""healthcheck, info, stats and the delegated commands."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path

from recalld.client.testing import running_server

from .conftest import Recalld


def test_healthcheck(recalld: Recalld) -> None:
    """A serving server is 0; a port without one is 1 after the time limit."""
    assert recalld("healthcheck").code == 0
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        target = f"127.0.0.1:{free.getsockname()[1]}"
    ran = recalld("healthcheck", "--timeout", "0.3", "--target", target)
    assert (ran.code, ran.err) == (1, f"error: {target} is not serving\n")


def test_healthcheck_on_a_unix_socket(bare_recalld: Recalld, tmp_path: Path) -> None:
    """A server that listens on a unix socket only is found healthy and usable there."""
    target = f"unix:{tmp_path}/s"
    with running_server(args=["--listen", target]):
        assert bare_recalld("healthcheck", "--target", target).code == 0
        assert bare_recalld("remember", "x", "-u", "u", "--target", target).code == 0


def test_info_and_stats(recalld: Recalld) -> None:
    """`info` tells limits and capabilities, `stats` counts the memories of a user."""
    facts = json.loads(recalld("info", "--json").out)
    assert facts["limits"]["k_max"] == 200
    assert "RecallService/Recall" in facts["capabilities"]
    recalld("remember", "x", "-u", "s1")
    counts = json.loads(recalld("stats", "-u", "s1", "--json").out)
    assert (counts["memory_count"], counts["statuses"]) == (1, {"active": 1})
    assert "memory_count: 1" in recalld("stats", "-u", "s1").lines


def test_delegated_help_is_the_server_s_own(bare_recalld: Recalld) -> None:
    """`recalld serve --help` and `recalld config print` are answered by the server's part."""
    for flag in ("--help", "-h"):
        assert "--data-dir" in bare_recalld("serve", flag).out
        assert "Look at the configuration" in bare_recalld("config", flag).out
        assert "--json" in bare_recalld("config", "print", flag).out
    assert "listen" in bare_recalld("config", "print").out


def test_eval_of_an_unusable_path_is_exit_code_2(bare_recalld: Recalld, tmp_path: Path) -> None:
    """`eval` hands its arguments to the evaluation and ends with its code."""
    ran = bare_recalld("eval", "next-day", "--path", str(tmp_path / "none"), "--embedder", "hash")
    assert ran.code == 2


def test_an_unknown_bench_is_named(bare_recalld: Recalld) -> None:
    """`bench` refuses a name that it does not know before anything is measured."""
    ran = bare_recalld("bench", "nothing")
    assert ran.code == 2
    assert "no bench 'nothing'" in " ".join(ran.err.split())


def test_the_example_of_eval_is_there(bare_recalld: Recalld) -> None:
    """The path in the example of `eval --help` is a file of the repository."""
    (path,) = re.findall(r"--path (\S+)", bare_recalld("eval", "--help").out.split("Examples:")[1])
    assert (Path(__file__).parents[2] / path).is_file()


def test_the_help_of_serve_shows_safe_addresses(bare_recalld: Recalld) -> None:
    """Every form of an address is shown, and no example listens for other machines."""
    shown = bare_recalld("serve", "--help").out
    assert "[v6]:port" in shown
    assert "0.0.0.0" not in shown
    assert "own user only" in " ".join(shown.split())
    ran = bare_recalld("serve", "--listen", ":7621")
    assert (ran.code, "host:port" in ran.err) == (2, True)


def test_an_unusable_data_directory_is_wrong_usage(bare_recalld: Recalld, tmp_path: Path) -> None:
    """A data directory below a file ends with 2 and its name, like any other bad setting."""
    (tmp_path / "file").touch()
    below = str(tmp_path / "file" / "data")
    ran = bare_recalld("serve", "--data-dir", below, "--embedder", "hash")
    assert (ran.code, below in ran.err) == (2, True)


def test_a_certificate_needs_tls(bare_recalld: Recalld) -> None:
    """A certificate without an authority, or without its key, is wrong usage, named by option."""
    ran = bare_recalld("info", "--cert-file", "c.pem", "--key-file", "k.pem")
    assert ran.code == 2 and "--ca-file" in ran.err
    ran = bare_recalld("info", "--ca-file", "system", "--cert-file", "c.pem")
    assert ran.code == 2 and "cert_file and key_file" in ran.err


def test_token_commands_are_the_servers(bare_recalld: Recalld, tmp_path: Path) -> None:
    """`recalld token` is handed on to the server's own command line, with all its options."""
    place = ("--data-dir", str(tmp_path))
    made = bare_recalld("token", "create", "--tenant", "acme", "--role", "reader", *place)
    assert made.code == 0 and made.out.startswith("rcld_")
    assert bare_recalld("token", "list", *place).out.split("\t")[1:3] == ["acme", "reader"]
