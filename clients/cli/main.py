"""Entry point of the `recalld` command: runs the application and turns errors into exit codes.

It never prints a traceback for an error that the client or the caller's input explains, and never
hides any other.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from recalld.cli import exits

# Modules of the optional extras; a missing one is explained, any other is a fault of ours.
CLI_EXTRA = ("typer", "rich")


def run(arguments: Sequence[str] | None = None) -> None:
    """Runs one command and exits with its code; `arguments` default to those of the process."""
    try:
        from recalld.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in CLI_EXTRA:
            raise
        exits.print_error(f"the command line needs an extra: pip install 'recalld[cli]' ({error})")
        sys.exit(exits.FAILED)
    try:
        app(args=None if arguments is None else list(arguments), prog_name="recalld")
    except BrokenPipeError:
        # The reader of our output has seen enough (`recalld list | head`): end without a word,
        # also from the interpreter's own flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(exits.FAILED)
    except Exception as error:
        code = exits.code_of(error)
        if code is None:
            raise
        exits.print_error(exits.message_of(error))
        sys.exit(code)


if __name__ == "__main__":
    run()
