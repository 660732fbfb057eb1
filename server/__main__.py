"""`recalld serve`, `restore`, `verify`, `config`, `catalogue`, `token`: flags -> Config -> code.

Exit codes: 0 stopped or done as asked, 1 could not start or failed, 2 wrong usage or configuration,
3 no such snapshot.
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from recalld.index import role_catalogue
from recalld.index.errors import CatalogueInvalid, IndexLayerError
from recalld.server import config as configuration
from recalld.server import logs
from recalld.server.errors import ConfigError, ServerError
from recalld.server.token_commands import token_app
from recalld.storage.errors import SnapshotNotFound, StorageError

HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    no_args_is_help=True,
    help="The recalld server.",
    rich_markup_mode="rich",
    context_settings=HELP_OPTIONS,
)
config_app = typer.Typer(no_args_is_help=True, help="Look at the configuration.")
app.add_typer(config_app, name="config")
catalogue_app = typer.Typer(no_args_is_help=True, help="Look at the role catalogue.")
app.add_typer(catalogue_app, name="catalogue")
app.add_typer(token_app, name="token")

PRIVATE_UMASK = 0o077
"""Only its own user reads what a server writes: the database's log has the mode of the process."""

SERVE_HELP = """Run the server until SIGTERM.

Settings: defaults < --config FILE (TOML) < environment < flags. Every
setting has an environment name RECALLD_<SECTION>__<SETTING>, for example
RECALLD_SERVER__WORKERS=4; `recalld config print` shows them all.

Examples:

  recalld serve

  recalld serve --listen 127.0.0.1:7621 --data-dir other-data

  recalld serve --listen unix:/run/recalld/recalld.sock --config recalld.toml

  recalld serve --embedder fast

Unless credentials are asked for, whoever reaches the address may read and
write everything: keep to loopback, or to a Unix socket, which admits the
server's own user only. Any other address needs credentials and TLS:

  recalld token create --tenant acme --role writer

  RECALLD_AUTH__REQUIRED=true RECALLD_TLS__CERT_FILE=tls.crt
  RECALLD_TLS__KEY_FILE=tls.key recalld serve --listen 10.0.0.5:7600
"""

RESTORE_HELP = """Put a snapshot in place of the data of a stopped server.

Works on the data directory itself and refuses while a server holds it. The
present data is kept aside until the restored one is checked and in place;
then it is gone: take a snapshot first if you may want it back. What was
purged stays purged. A damaged snapshot is refused, and the newest intact one
named. Killed at any point, the next start has the old data or the new.

Examples:

  recalld restore before-upgrade

  recalld restore 20261130T154500Z --data-dir /var/lib/recalld
"""

VERIFY_HELP = """Check the data of a stopped server; changes nothing.

The rows against the rules of the store, every snapshot against its manifest,
and an index built from the rows against these rows. Lists everything that is
wrong, one line each, and exits with 0 when nothing is, with 1 otherwise.
Refuses while a server holds the directory: `recalld snapshot verify` checks
the snapshots of a running one.

Examples:

  recalld verify

  recalld verify --data-dir /var/lib/recalld --json
"""

Listen = Annotated[
    str | None,
    typer.Option(
        # The backslash keeps the brackets from being read as markup.
        help=r"host:port, \[v6]:port or unix:/path, never :port alone; default 127.0.0.1:7600",
        show_default=False,
    ),
]
DataDir = Annotated[
    Path | None, typer.Option(help="the data directory; default ./recalld-data", show_default=False)
]
SnapshotName = Annotated[str, typer.Argument(help="name of the snapshot", show_default=False)]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="TOML file", show_default=False)]
ModelDir = Annotated[
    Path | None, typer.Option(help="folder of an exported embedding model", show_default=False)
]
EmbedderKind = Annotated[
    str | None,
    typer.Option(
        help="onnx (default), fast (four times as fast, without relevance) or hash (model-free, "
        "for tests)",
        show_default=False,
    ),
]
TestClock = Annotated[
    bool,
    typer.Option(
        "--test-clock", help="let callers set the clock (metadata recalld-now); never in production"
    ),
]
LogLevel = Annotated[
    str | None, typer.Option(help="debug, info (default), warning, error", show_default=False)
]


def _load(
    listen: str | None,
    data_dir: Path | None,
    config: Path | None,
    model_dir: Path | None,
    embedder: str | None,
    test_clock: bool,
    log_level: str | None,
) -> configuration.Config:
    """Configuration from flags; a usage error ends the process with code 2."""
    flags: dict[str, dict[str, Any]] = {"server": {}, "storage": {}, "embedder": {}, "log": {}}
    given = (
        ("server", "listen", listen),
        ("server", "test_clock", test_clock or None),
        ("storage", "data_dir", data_dir),
        ("embedder", "model_dir", model_dir),
        ("embedder", "kind", embedder),
        ("log", "level", log_level),
    )
    for section, name, value in given:
        if value is not None:
            flags[section][name] = value
    try:
        return configuration.load(flags=flags, file=config)
    except ConfigError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None


@app.command(help=SERVE_HELP)
def serve(
    listen: Listen = None,
    data_dir: DataDir = None,
    config: ConfigFile = None,
    model_dir: ModelDir = None,
    embedder: EmbedderKind = None,
    test_clock: TestClock = False,
    log_level: LogLevel = None,
) -> None:
    """Run the server."""
    settings = _load(listen, data_dir, config, model_dir, embedder, test_clock, log_level)
    from recalld.server import interpreter
    from recalld.server.app import App

    os.umask(PRIVATE_UMASK)
    interpreter.settle()
    try:
        asyncio.run(App(settings, logs.configure(settings.log.level)).run())
    except (ServerError, StorageError, IndexLayerError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2 if isinstance(error, ConfigError) else 1) from None


@app.command("restore", help=RESTORE_HELP)
def restore_snapshot(
    name: SnapshotName, data_dir: DataDir = None, config: ConfigFile = None
) -> None:
    """Restore a snapshot."""
    settings = _load(None, data_dir, config, None, None, False, None)
    from recalld.server import offline

    try:
        offline.run(settings, name)
    except (StorageError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(3 if isinstance(error, SnapshotNotFound) else 1) from None


@app.command("verify", help=VERIFY_HELP)
def verify_data(
    data_dir: DataDir = None,
    config: ConfigFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="as one JSON object")] = False,
) -> None:
    """Check the data."""
    settings = _load(None, data_dir, config, None, None, False, None)
    from recalld.server import verify

    try:
        is_in_order = verify.run(settings, as_json=as_json)
    except (StorageError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
    raise typer.Exit(0 if is_in_order else 1)


@config_app.command("print")
def print_config(
    config: ConfigFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="as JSON")] = False,
) -> None:
    """Print every setting in force, as a TOML file that --config takes back.

    Examples:

      recalld config print > recalld.toml

      RECALLD_SERVER__WORKERS=4 recalld config print --json
    """
    settings = _load(None, None, config, None, None, False, None)
    typer.echo(
        json.dumps(settings.model_dump(mode="json"), indent=2)
        if as_json
        else configuration.to_toml(settings)
    )


@catalogue_app.command("check")
def check_catalogue(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="own entries; default: ranking.catalogue_file, if it is set",
            show_default=False,
        ),
    ] = None,
    config: ConfigFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="as one JSON object")] = False,
) -> None:
    """Check the role catalogue as the server would, with a file of one's own on top.

    Exits with 0 when it is in order, 1 when not: the first problem is named by file, line and
    field.

    Examples:

      recalld catalogue check

      recalld catalogue check our-roles.jsonl --json
    """
    if file is None:
        file = _load(None, None, config, None, None, False, None).ranking.catalogue_file
    try:
        catalogue = role_catalogue.load(file)
    except CatalogueInvalid as error:
        if as_json:
            typer.echo(json.dumps({"valid": False, "problem": str(error)}, ensure_ascii=False))
        else:
            typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
    counts = {
        "roles": len(catalogue.roles),
        "situations": len(catalogue.situations),
        "memories": sum(len(role.memories) for role in catalogue.roles.values()),
        "requests": sum(len(one.requests) for one in catalogue.situations.values()),
        "keys": len(catalogue.key_roles()),
        "keys_with_values": len(catalogue.values),
        "values": sum(len(entry.values) for entry in catalogue.values.values()),
    }
    if as_json:
        typer.echo(json.dumps({"valid": True, **counts, "hash": catalogue.content_hash()}))
    else:
        typer.echo(
            "in order: {roles} roles ({memories} example memories, {keys} keys), "
            "{situations} situations ({requests} example requests), "
            "{keys_with_values} keys with {values} canonical values".format_map(counts)
        )


if __name__ == "__main__":
    app()
