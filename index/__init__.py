"""Text to vectors and vectors to candidates: embedders, indexes and their errors.

This part never reads the database, the wire format, the clock or the environment, and importing
it starts no thread.
"""
