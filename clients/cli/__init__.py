"""The `recalld` command: serve, and everything the client can do, from a shell.

Imports nothing heavy before a command needs it, so that `recalld --help` is quick. Data goes to
stdout, errors and notes to stderr; colour and tables only on a terminal.
"""
