"""The durable truth: memory records, their vectors and the answers already given.

It never ranks, embeds or speaks gRPC. Import the part that is needed (`recalld.storage.store`,
`recalld.storage.duckdb_store`, ...): the package itself loads nothing.
"""
