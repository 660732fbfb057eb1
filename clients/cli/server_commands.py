"""Commands about the server: serve, config, token, restore, verify, healthcheck, info and so on.

`serve`, `config`, `catalogue`, `token`, `restore`, `verify`, `eval` and `bench` belong to the
server's and the bench's own parts, which are imported only when one of them is run.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from recalld.cli import exits, output
from recalld.cli.options import Output, Server, command

# Commands that the server's own application carries out, with their line in the help.
SERVER_COMMANDS = {
    "serve": "Run the server.",
    "config": "Show the server's configuration.",
    "catalogue": "Check the role catalogue.",
    "token": "Make, list and revoke bearer tokens.",
    "restore": "Put a snapshot in place of the data of a stopped server.",
    "verify": "Check the data of a stopped server.",
}
HEALTHCHECK_TIMEOUT_S = 3.0


def _add_server_command(app: typer.Typer, name: str, summary: str) -> None:
    """Adds a command that hands everything, also --help, to the server's application."""
    settings = {"ignore_unknown_options": True, "help_option_names": []}

    @app.command(name, help=summary, context_settings=settings, add_help_option=False)
    def run(
        arguments: Annotated[
            list[str] | None, typer.Argument(metavar="...", show_default=False)
        ] = None,
    ) -> None:
        server = importlib.import_module("recalld.server.__main__")
        server.app(args=[name, *(arguments or [])], prog_name="recalld")


@dataclass(frozen=True)
class EvalOptions:
    """What to evaluate."""

    set_name: Annotated[
        str,
        typer.Argument(
            metavar="SET",
            help="next-day, cases, locomo, beam, lifebench, madial or precision.",
        ),
    ]
    path: Annotated[Path, typer.Option(help="File or folder of the set.")]
    pool: Annotated[
        int, typer.Option(min=0, help="Scenarios that share one store (next-day); 0: singly.")
    ] = 0
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CHANNEL",
            help="Ask again without this channel (vector, relevance, keyword, ...); repeatable.",
            show_default=False,
        ),
    ] = None
    target: Annotated[
        str | None, typer.Option(help="A running server; unset: its own.", show_default=False)
    ] = None
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the figures to this file.")
    ] = None
    embedder: Annotated[str, typer.Option(help="onnx, or hash (no model), of its own server.")] = (
        "onnx"
    )


def evaluate(what: EvalOptions) -> None:
    """Replay an evaluation set through a real server and print its figures."""
    bench = importlib.import_module("recalld.bench.evaluate")
    options = bench.Options(
        pool=what.pool,
        without=tuple(what.without or ()),
        target=what.target,
        embedder=what.embedder,
    )
    code = bench.command(what.set_name, what.path, options, what.json_file)
    raise typer.Exit(code)


@dataclass(frozen=True)
class BenchOptions:
    """What to measure."""

    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="BENCH",
            help="kernels, search, recall, ...; none: all.",
            show_default=False,
        ),
    ] = None
    quick: Annotated[bool, typer.Option(help="Three minutes instead of ten.")] = False
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write all figures to this file.")
    ] = None


def bench(what: BenchOptions) -> None:
    """Measure this machine: every figure beside its baseline, and which goals are met."""
    suite = importlib.import_module("recalld.bench.bench_all")
    names = what.names or []
    if unknown := [name for name in names if name not in suite.BENCHES]:
        known = ", ".join(suite.BENCHES)
        raise typer.BadParameter(f"there is no bench {unknown[0]!r}, only {known}")
    raise typer.Exit(suite.run(names, what.quick, what.json_file, None))


@dataclass(frozen=True)
class HealthOptions:
    """How long to wait."""

    timeout: Annotated[float, typer.Option(help="Seconds to wait for the server.")] = (
        HEALTHCHECK_TIMEOUT_S
    )


def healthcheck(wait: HealthOptions, where: Server) -> None:
    """Exit 0 when the server is serving, 1 when not; for probes of containers."""
    with where.connect() as client:
        is_ready = client.ready(wait.timeout)
    if not is_ready:
        raise exits.Failure(f"{where.target} is not serving")
    output.write("serving")


def info(where: Server, out: Output) -> None:
    """Show the server's version, limits and embedding model."""
    with where.connect() as client:
        facts = client.server_info()
    if out.json:
        output.write_json(facts)
    else:
        output.write_fields(facts)


@dataclass(frozen=True)
class StatsOptions:
    """Whose counts."""

    user: Annotated[
        str | None,
        typer.Option("--user", "-u", help="Only this user; unset: all.", show_default=False),
    ] = None


def stats(of: StatsOptions, where: Server, out: Output) -> None:
    """Show counts and sizes of the tenant, or of one user."""
    with where.connect() as client:
        counts = client.stats(of.user)
    if out.json:
        output.write_json(counts)
    else:
        output.write_fields(counts)


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    for name, summary in SERVER_COMMANDS.items():
        _add_server_command(app, name, summary)
    command(
        app,
        "eval",
        examples="recalld eval next-day --path bench/data/next_day_fresh.jsonl --pool 5",
    )(evaluate)
    command(app, "bench", examples="recalld bench kernels --quick")(bench)
    command(app, "healthcheck", examples="recalld healthcheck --target unix:/run/recalld.sock")(
        healthcheck
    )
    command(app, "info", examples="recalld info --json")(info)
    command(app, "stats", examples="recalld stats -u u1")(stats)
