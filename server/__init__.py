"""The gRPC server: composition, transport, write path, read path.

It owns time, threads and configuration.
"""
