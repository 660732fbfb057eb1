"""Commands that write, read and forget memories: remember, get, keys, list, forget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recalld.cli import exits, output
from recalld.cli.options import Output, Scoped, command, is_interactive
from recalld.cli.remember_command import remember

if TYPE_CHECKING:
    from recalld.client import Memory


@dataclass(frozen=True)
class GetOptions:
    """Which memory."""

    id: Annotated[str | None, typer.Argument(help="Memory id.", show_default=False)] = None
    key: Annotated[str | None, typer.Option(help="Its key, instead of the id.")] = None


def get(which: GetOptions, where: Scoped, out: Output) -> None:
    """Show one memory by id, or the current value of a key."""
    with where.open() as client:
        memory = client.get(which.id, which.key)
    if out.json:
        output.write_json(memory)
    else:
        output.write_fields(memory)


@dataclass(frozen=True)
class KeysOptions:
    """Which keys."""

    prefix: Annotated[str, typer.Argument(help="Only keys under it.", show_default=False)] = ""


def keys(which: KeysOptions, where: Scoped, out: Output) -> None:
    """List the keys in use, with kind, number of current memories and newest time."""
    with where.open() as client:
        entries = client.list_keys(which.prefix)
    if out.json:
        for entry in entries:
            output.write_json(entry)
        return
    rows = [(entry.key, entry.kind, entry.count, entry.newest_time) for entry in entries]
    output.write_rows(("key", "kind", "count", "newest"), rows)


@dataclass(frozen=True)
class ListOptions:
    """How much to list."""

    all_pages: Annotated[
        bool, typer.Option("--all-pages", help="All memories, not only the newest page.")
    ] = False


def list_memories(which: ListOptions, where: Scoped, out: Output) -> None:
    """List current memories, newest first."""
    with where.open() as client:
        if which.all_pages:
            _write_memories(client.list(), out)
            return
        page = client.list_page()
    _write_memories(iter(page.memories), out)
    if page.next_page_token:
        shown = len(page.memories)
        exits.print_note(f"{shown} of {page.total_size} shown; --all-pages shows all")


def _write_memories(memories: Iterator[Memory], out: Output) -> None:
    if out.json:
        for memory in memories:
            output.write_json(memory)
        return
    rows = ((m.id, m.event_time, m.kind, m.key, m.status, m.content) for m in memories)
    output.write_rows(("id", "time", "kind", "key", "status", "content"), rows)


@dataclass(frozen=True)
class ForgetOptions:
    """Which memories, and how far."""

    ids: Annotated[list[str] | None, typer.Argument(help="Memory ids.", show_default=False)] = None
    key: Annotated[str | None, typer.Option(help="Every version under this key.")] = None
    all_memories: Annotated[
        bool, typer.Option("--all", help="Everything of the user; asks first.")
    ] = False
    purge: Annotated[
        bool,
        typer.Option(
            "--purge", help="Leave no byte of it, also in snapshots; cannot be undone; asks first."
        ),
    ] = False
    undo: Annotated[bool, typer.Option("--undo", help="Take a forget back (30 days).")] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False

    def selector(self) -> dict[str, Any]:
        """The one selector given.

        Raises:
            ValueError: If it is not exactly one.
        """
        given: dict[str, Any] = {
            "ids": self.ids,
            "key": self.key,
            "all_memories": self.all_memories,
        }
        chosen = {name: value for name, value in given.items() if value}
        if len(chosen) != 1:
            raise ValueError("name what to forget: ids, or --key, or --all")
        return chosen

    def mode(self) -> str:
        """The mode of forgetting.

        Raises:
            ValueError: If --purge and --undo are both given.
        """
        if self.purge and self.undo:
            raise ValueError("--purge and --undo exclude each other")
        return "purge" if self.purge else "undo" if self.undo else "soft"


def forget(which: ForgetOptions, where: Scoped, out: Output) -> None:
    """Forget memories: nothing recalls them any more; --undo takes it back for 30 days.

    With --purge no byte of them stays, and neither a restore nor an import brings them back.
    """
    selector, mode = which.selector(), which.mode()
    with where.open() as client:
        if (which.all_memories or which.purge) and not which.dry_run and not which.yes:
            _confirm(where.user or "", selector, mode)
        forgotten = client.forget(mode=mode, dry_run=which.dry_run, **selector)
    if out.json:
        output.write_json(forgotten)
        return
    verbs = {"soft": "forgotten", "purge": "purged", "undo": "restored"}
    prefix = "would be " if which.dry_run else ""
    output.write(f"{forgotten.count} {prefix}{verbs[mode]}")
    if forgotten.receipt is not None:
        output.write_fields(forgotten.receipt)


def _confirm(user: str, selector: dict[str, Any], mode: str) -> None:
    """Asks before much or for good is touched; without a terminal, --yes is needed."""
    if not is_interactive():
        option = "--all" if "all_memories" in selector else "--purge"
        raise ValueError(f"{option} needs --yes when there is no terminal to ask on")
    what = "everything" if "all_memories" in selector else "what is named"
    question = f"{mode}: {what} of user {output.shown_text(user)}. Go on?"
    if not typer.confirm(question, err=True):
        raise exits.Failure("nothing was changed")


def add_to(app: typer.Typer) -> None:
    """Registers the commands."""
    command(
        app,
        "remember",
        examples="""
        recalld remember "Allergic to peanuts" -u u1 --key allergy --importance high
        recalld remember "Moved to Chengdu" -u u1 --key location.home --event-time 2026-11-01
        cat facts.txt | recalld remember - -u u1 --stated-by import
        """,
    )(remember)
    command(
        app,
        "get",
        examples="""
        recalld get -u u1 --key allergy
        recalld get -u u1 0f3c9a5e7b1d4c2e8a6f0b9d7c5e3a1f --json
        """,
    )(get)
    command(app, "keys", examples="recalld keys -u u1 location")(keys)
    command(app, "list", examples="recalld list -u u1 --all-pages --json")(list_memories)
    command(
        app,
        "forget",
        examples="""
        recalld forget -u u1 --key allergy --dry-run
        recalld forget -u u1 0f3c9a5e7b1d4c2e8a6f0b9d7c5e3a1f --undo
        recalld forget -u u1 --all --yes
        recalld forget -u u1 --key address --purge --dry-run
        recalld forget -u u1 --all --purge --yes
        """,
    )(forget)
