"""Commands for snapshots of a running server: snapshot create, list, verify, delete.

`recalld restore` works on the directory of a stopped server, so it is the server's own command.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from recalld.cli import exits, output
from recalld.cli.options import Output, Server, command

HELP = "Snapshots of the whole server: take, list, check and remove them."


@dataclass(frozen=True)
class NewName:
    """What the snapshot is to be called, and how long to wait for it."""

    name: Annotated[
        str,
        typer.Argument(
            help="Letters, digits, . _ -, up to 64; unset: made from the time.",
            show_default=False,
        ),
    ] = ""
    timeout: Annotated[float, typer.Option(help="Seconds to wait for it.")] = 600.0


@dataclass(frozen=True)
class Name:
    """Which snapshot."""

    name: Annotated[str, typer.Argument(help="Name of the snapshot.", show_default=False)]


def create(new: NewName, where: Server, out: Output) -> None:
    """Take a snapshot while the server goes on."""
    with where.connect() as client:
        made = client.create_snapshot(new.name, timeout=new.timeout)
    if out.json:
        output.write_json(made)
    else:
        output.write_fields(made)


def list_all(where: Server, out: Output) -> None:
    """List the snapshots, newest first."""
    with where.connect() as client:
        found = client.snapshots()
    if out.json:
        for one in found:
            output.write_json(one)
        return
    rows = (
        (s.name, s.state, s.create_time, s.memory_count, s.size_bytes, s.revision, s.problem)
        for s in found
    )
    headers = ("name", "state", "taken", "memories", "bytes", "revision", "problem")
    output.write_rows(headers, rows)


def verify(which: Name, where: Server, out: Output) -> None:
    """Check a snapshot against its manifest, byte by byte; exit 1 when something is wrong."""
    with where.connect() as client:
        violations = client.verify_snapshot(which.name)
    if out.json:
        output.write_json({"ok": not violations, "violations": violations})
    for violation in () if out.json else violations:
        output.write(output.shown_text(violation))
    if violations:
        raise exits.Failure(f"snapshot {which.name} is damaged")
    if not out.json:
        output.write("in order")


def delete(which: Name, where: Server) -> None:
    """Remove a snapshot."""
    with where.connect() as client:
        client.delete_snapshot(which.name)
    output.write(f"removed {which.name}")


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    group = typer.Typer(no_args_is_help=True, help=HELP)
    app.add_typer(group, name="snapshot")
    command(
        group,
        "create",
        examples="""
        recalld snapshot create
        recalld snapshot create before-upgrade
        """,
    )(create)
    command(group, "list", examples="recalld snapshot list --json")(list_all)
    command(group, "verify", examples="recalld snapshot verify before-upgrade")(verify)
    command(group, "delete", examples="recalld snapshot delete before-upgrade")(delete)
