"""Puts the commands together. Registering them imports neither grpc nor the server."""

from __future__ import annotations

import typer

from recalld.cli import (
    memory_commands,
    recall_commands,
    server_commands,
    transfer_commands,
)

EPILOG = (
    "Exit codes: 0 done (also when nothing is worth recalling), 1 failed, 2 wrong usage, "
    "3 no such memory, 4 no server or not ready."
)


def build() -> typer.Typer:
    """The whole command line."""
    made = typer.Typer(
        name="recalld",
        help="Memory sidecar for AI agents: recalls what matters now.",
        epilog=EPILOG,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for commands in (server_commands, memory_commands, recall_commands, transfer_commands):
        commands.add_to(made)
    return made


app = build()
