"""The command that settles conflicts: resolve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from recalld.cli import output
from recalld.cli.options import Output, Scoped, command


@dataclass(frozen=True)
class ResolveOptions:
    """Which conflict, and how it is settled."""

    group: Annotated[str, typer.Argument(help="Conflict group, as get and recall show it.")]
    winner: Annotated[
        str | None, typer.Option(help="Id of the one that is right; the others are superseded.")
    ] = None
    keep_all: Annotated[bool, typer.Option("--keep-all", help="All hold.")] = False
    undo: Annotated[bool, typer.Option("--undo", help="Take the last settlement back.")] = False

    def resolution(self) -> dict[str, Any]:
        """The one way given.

        Raises:
            ValueError: If it is not exactly one.
        """
        given = {"winner_id": self.winner, "keep_all": self.keep_all, "undo": self.undo}
        chosen = {name: value for name, value in given.items() if value}
        if len(chosen) != 1:
            raise ValueError("say how to settle it: --winner ID, or --keep-all, or --undo")
        return chosen


def resolve(which: ResolveOptions, where: Scoped, out: Output) -> None:
    """Settle memories that contradict each other, or take a settlement back."""
    resolution = which.resolution()
    with where.open() as client:
        members = client.resolve(which.group, **resolution)
    if out.json:
        for member in members:
            output.write_json(member)
        return
    rows = ((m.id, m.status, m.content) for m in members)
    output.write_rows(("id", "status", "content"), rows)


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    command(
        app,
        "resolve",
        examples="""
        recalld resolve -u u1 9d1f0c --winner 0f3c9a5e7b1d4c2e8a6f0b9d7c5e3a1f
        recalld resolve -u u1 9d1f0c --keep-all
        recalld resolve -u u1 9d1f0c --undo
        """,
    )(resolve)
