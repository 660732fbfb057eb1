"""Commands that move memories in and out: import and export (see record.py for the format)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recalld.cli import exits, output
from recalld.cli.options import Output, Scoped, command

if TYPE_CHECKING:
    from recalld.cli.importer import Tally

BATCH_COUNT = 64
BATCH_COUNT_MAX = 256


@dataclass(frozen=True)
class ImportOptions:
    """What to read, and how."""

    file: Annotated[Path, typer.Argument(help="JSONL, one memory a line.")]
    batch: Annotated[
        int, typer.Option(min=1, max=BATCH_COUNT_MAX, help="Memories in one call.")
    ] = BATCH_COUNT
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Number the writes by file and line, so that running the same import again "
            "within 24 hours repeats nothing. Give it on the first run, too.",
        ),
    ] = False
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Report bad lines and go on without them.")
    ] = False


def import_file(what: ImportOptions, where: Scoped, out: Output) -> None:
    """Store the memories of a JSONL file; without --skip-bad a bad line stops before any write.

    --user, --agent, --session and --namespace hold for lines that name none themselves.
    """
    from recalld.cli import importer

    checked = importer.scan(what.file, skip_bad=what.skip_bad)
    with where.connect(**_default_scope(where)) as client:
        tally = importer.store(client, checked, batch_count=what.batch, resume=what.resume)
    _write_tally(tally, out)


def _default_scope(where: Scoped) -> dict[str, str]:
    """The scope of lines that name none themselves."""
    given = {
        "user_id": where.user or "",
        "agent_id": where.agent,
        "session_id": where.session,
        "namespace": where.namespace,
    }
    return {name: value for name, value in given.items() if value}


def _write_tally(tally: Tally, out: Output) -> None:
    if out.json:
        output.write_json(tally)
        return
    counts = [f"{count} {outcome}" for outcome, count in sorted(tally.outcomes.items())]
    if tally.bad_count:
        counts.append(f"{tally.bad_count} bad")
    output.write(", ".join(counts) or "nothing to import")


@dataclass(frozen=True)
class ExportOptions:
    """Where to write."""

    out: Annotated[Path | None, typer.Option(help="File; unset: stdout.", show_default=False)] = (
        None
    )


def export(what: ExportOptions, where: Scoped) -> None:
    """Write the user's current memories as JSONL that import takes back."""
    from recalld.cli import record

    with where.open() as client:
        memories = client.export(statuses=("active", "conflicted"))
        if what.out is None:
            for memory in memories:
                output.write(record.dump(memory))
            return
        # Written beside its place and renamed, so that a broken export never looks whole.
        part = what.out.with_name(what.out.name + ".part")
        count = 0
        with part.open("w", encoding="utf-8") as stream:
            for memory in memories:
                stream.write(record.dump(memory) + "\n")
                count += 1
        os.replace(part, what.out)
    exits.print_note(f"{count} memories written to {what.out}")


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    command(
        app,
        "import",
        examples="""
        recalld import memories.jsonl -u u1
        recalld import all-users.jsonl --resume --skip-bad --batch 256
        """,
    )(import_file)
    command(
        app,
        "export",
        examples="""
        recalld export -u u1 --out u1.jsonl
        recalld export -u u1 | wc -l
        """,
    )(export)
