"""Puts the commands together. Registering them imports neither grpc nor the server."""

from __future__ import annotations

from typing import Annotated

import typer

from recalld.cli import (
    conflict_commands,
    memory_commands,
    output,
    recall_commands,
    server_commands,
    snapshot_commands,
    trace_commands,
    transfer_commands,
)

EPILOG = (
    "Exit codes: 0 done (also when nothing is worth recalling), 1 failed, 2 wrong usage, "
    "3 no such memory, trace or snapshot, 4 no server or not ready."
)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        from recalld.client.connection import version

        output.write(f"recalld {version()}")
        raise typer.Exit


def _main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Memory sidecar for AI agents: recalls what matters now."""


def build() -> typer.Typer:
    """The whole command line."""
    made = typer.Typer(
        name="recalld",
        epilog=EPILOG,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_main)
    for commands in (
        server_commands,
        memory_commands,
        conflict_commands,
        recall_commands,
        trace_commands,
        transfer_commands,
        snapshot_commands,
    ):
        commands.add_to(made)
    return made


app = build()
