"""The command that shows sealed originals: unseal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from recalld.cli import output
from recalld.cli.options import Output, Scoped, command


@dataclass(frozen=True)
class UnsealOptions:
    """Of which memory."""

    id: Annotated[str, typer.Argument(help="Memory id.")]


def unseal(which: UnsealOptions, where: Scoped, out: Output) -> None:
    """Show the originals of what was sealed in a memory; needs the admin role."""
    with where.open() as client:
        found = client.open_sealed(which.id)
    if out.json:
        for value in found:
            output.write_json(value)
        return
    rows = ((v.placeholder, v.sensitive_class, v.text) for v in found)
    output.write_rows(("placeholder", "class", "text"), rows)


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    command(
        app,
        "unseal",
        examples="recalld unseal -u u1 0f3c9a5e7b1d4c2e8a6f0b9d7c5e3a1f --json",
    )(unseal)
