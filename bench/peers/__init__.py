"""Other stores of memories and vectors, asked the same questions; needs the `peers` extra."""
