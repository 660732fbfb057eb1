"""Evaluations and benches of the whole server: quality by data set, time and memory by bench."""
