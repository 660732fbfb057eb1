"""Commands that write, read and forget memories: remember, get, keys, list, forget."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recalld.cli import exits, output, texts
from recalld.cli.options import Output, Scoped, command, is_interactive

if TYPE_CHECKING:
    from recalld.client import Client, Memory, NewMemory

# Lines of stdin that are stored in one call, all or nothing.
STDIN_BATCH_COUNT = 64


@dataclass(frozen=True)
class NewMemoryOptions:
    """The memory to store."""

    text: Annotated[
        str, typer.Argument(help="What to remember; - reads one memory a line from stdin.")
    ]
    kind: Annotated[
        str | None,
        typer.Option(
            help="fact, preference, state, event, progress, decision, procedure or document."
        ),
    ] = None
    key: Annotated[str, typer.Option(help="Slot or topic, such as allergy.")] = ""
    importance: Annotated[
        str | None, typer.Option(help="low, medium, high or pinned (never decays).")
    ] = None
    confidence: Annotated[float | None, typer.Option(help="0 to 1.")] = None
    value: Annotated[str | None, typer.Option(help="Structured value, a JSON object.")] = None
    meta: Annotated[str | None, typer.Option(help="Metadata, a JSON object.")] = None
    when: Annotated[
        list[str] | None, typer.Option(help="A cue when it will matter; may be repeated.")
    ] = None
    stated_by: Annotated[
        str | None, typer.Option(help="user, agent, tool or import: whose word it is.")
    ] = None
    visibility: Annotated[str | None, typer.Option(help="shared, private or system.")] = None
    event_time: Annotated[
        str | None, typer.Option(help="When it happened: 2026-11-30, RFC 3339 or seconds.")
    ] = None
    valid_from: Annotated[str | None, typer.Option(help="Start of its truth.")] = None
    valid_to: Annotated[str | None, typer.Option(help="End of its truth.")] = None
    expire_time: Annotated[str | None, typer.Option(help="End of its recall.")] = None
    source_uri: Annotated[str, typer.Option(help="Document it comes from.")] = ""
    request_id: Annotated[
        str | None, typer.Option(help="Makes repeating this call safe (24 hours).")
    ] = None

    def fields(self) -> dict[str, Any]:
        """Everything but the text, as the client takes it."""
        from recalld.client import Importance, Kind, Source, StatedBy, Visibility

        return {
            "kind": texts.option_choice("--kind", Kind, self.kind),
            "key": self.key,
            "importance": texts.option_choice("--importance", Importance, self.importance),
            "confidence": self.confidence,
            "value": texts.option_object("--value", self.value),
            "metadata": texts.option_object("--meta", self.meta),
            "relevant_when": tuple(self.when or ()),
            "stated_by": texts.option_choice("--stated-by", StatedBy, self.stated_by),
            "visibility": texts.option_choice("--visibility", Visibility, self.visibility),
            "event_time": texts.option_time("--event-time", self.event_time),
            "valid_from": texts.option_time("--valid-from", self.valid_from),
            "valid_to": texts.option_time("--valid-to", self.valid_to),
            "expire_time": texts.option_time("--expire-time", self.expire_time),
            "source": Source(uri=self.source_uri) if self.source_uri else None,
        }


def remember(new: NewMemoryOptions, where: Scoped, out: Output) -> None:
    """Store a memory. When this returns, it is durable and the next recall sees it."""
    from recalld.client import NewMemory

    fields = new.fields()
    with where.open() as client:
        if new.text != "-":
            _write_batch(client, [NewMemory(content=new.text, **fields)], new.request_id, out)
            return
        if new.request_id:
            raise ValueError("--request-id: only for a single memory")
        for lines in _stdin_batches():
            batch = [NewMemory(content=line, **fields) for line in lines]
            _write_batch(client, batch, None, out)


def _stdin_batches() -> Iterator[list[str]]:
    """Lines of stdin that are not blank, in batches."""
    batch: list[str] = []
    for line in sys.stdin:
        if line.strip():
            batch.append(line.strip())
        if len(batch) == STDIN_BATCH_COUNT:
            yield batch
            batch = []
    if batch:
        yield batch


def _write_batch(
    client: Client, memories: list[NewMemory], request_id: str | None, out: Output
) -> None:
    options: dict[str, Any] = {"request_id": request_id} if request_id else {}
    written = client.remember(memories, **options)
    for result in written.results:
        if out.json:
            output.write_json({**output.plain(result), "revision": written.revision})
        else:
            touched = [*result.superseded_ids, *result.conflicting_ids]
            output.write(" ".join([result.outcome, result.id, *touched]))


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
