"""Arrays to order: kernels that scan, weigh, fuse and select, and the parameters they obey.

This part never holds data, reads the clock, the files or the environment; importing it starts no
thread. Compiled code is behind `kernel`; everything else is NumPy.
"""
