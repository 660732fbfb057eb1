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
    from recalld.cli.checked_file import CheckedFile
    from recalld.cli.importer import Tally

BATCH_COUNT = 64
BATCH_COUNT_MAX = 256
# Names listed where an import tells whose lines they were.
USERS_SHOWN_MAX = 5


@dataclass(frozen=True)
class ImportOptions:
    """What to read, and how."""

    file: Annotated[Path, typer.Argument(help="JSONL, one memory a line; a pipe will do.")]
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
    as_user: Annotated[
        bool,
        typer.Option(
            "--as-user",
            help="Put every line under --user, also lines that name a user of their own.",
        ),
    ] = False
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Report bad lines and go on without them.")
    ] = False


def import_file(what: ImportOptions, where: Scoped, out: Output) -> None:
    """Store the memories of a JSONL file: one JSON object a line, UTF-8, blank lines allowed.

    Fields: content (required), kind, key, value, importance, confidence, stated_by, event_time,
    valid_from, valid_to, expire_time, user_id, agent_id, session_id, namespace, source (an object:
    session_id, turn, message_id, uri), metadata, relevant_when (a list), language, visibility,
    key_cardinality. Times are RFC 3339 with a timezone, or seconds since 1970; value and metadata
    are objects. An unknown field is an error.

    Every line is checked against the server's limits first: without --skip-bad a bad line stops
    the import before any write. --user, --agent, --session and --namespace hold for lines that
    name none themselves.
    """
    from recalld.cli import checked_file, importer

    if what.as_user and not where.user:
        raise ValueError("--as-user: name the user with --user")
    with checked_file.readable(what.file) as path, where.connect() as client:
        terms = checked_file.Terms(
            scope=_default_scope(where),
            limits=client.server_info().limits,
            as_user=what.as_user,
            skip_bad=what.skip_bad,
        )
        checked = checked_file.scan(path, terms)
        tally = importer.Tally(bad_count=len(checked.bad_lines))
        try:
            importer.store(client, checked, tally, batch_count=what.batch, resume=what.resume)
        except (Exception, KeyboardInterrupt):
            _report_unfinished(checked, tally, what.resume)
            raise
    _write_tally(tally, out)
    _report_own_users(checked)


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
    else:
        output.write(_counts(tally) or "nothing to import")


def _counts(tally: Tally) -> str:
    counts = [f"{count} {outcome}" for outcome, count in sorted(tally.outcomes.items())]
    if tally.repeated_count:
        counts.append(f"{tally.repeated_count} already stored by an earlier run")
    if tally.bad_count:
        counts.append(f"{tally.bad_count} bad")
    return ", ".join(counts)


def _report_unfinished(checked: CheckedFile, tally: Tally, resume: bool) -> None:
    """Says how far an import came that ends by an error or by Ctrl-C, and how to go on."""
    counts = f" ({_counts(tally)})" if _counts(tally) else ""
    exits.print_note(
        f"stopped: {tally.stored_count()} of {checked.good_count} lines are stored{counts}; "
        "the batch in flight may be, too"
    )
    if resume:
        exits.print_note("repeat the same command to go on: what is stored is not written again")
        return
    exits.print_note(
        "repeat it with --resume to go on: lines that are stored count as refreshed, but events "
        "and documents without an event_time are stored twice; --resume on the first run avoids it"
    )


def _report_own_users(checked: CheckedFile) -> None:
    """Says that --user did not hold for some lines."""
    users = list(checked.own_users)
    if users:
        shown = ", ".join(output.shown_text(user) for user in users[:USERS_SHOWN_MAX])
        more = ", ..." if len(users) > USERS_SHOWN_MAX else ""
        exits.print_note(
            f"{checked.own_users.total()} lines named users of their own: {shown}{more} "
            "(--as-user puts every line under --user)"
        )


@dataclass(frozen=True)
class ExportOptions:
    """Where to write."""

    out: Annotated[Path | None, typer.Option(help="File; unset: stdout.", show_default=False)] = (
        None
    )


def export(what: ExportOptions, where: Scoped) -> None:
    """Write the user's current memories as JSONL that import takes back.

    Current are active and conflicted ones; superseded, expired, archived and forgotten ones stay
    behind. For an admin, without --agent those that agents keep private are in it, too; with it,
    of the private ones only that agent's. --session and --namespace do not narrow it.
    """
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
        recalld import <(zcat old.jsonl.gz) -u u1 --as-user
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
