"""Generated messages and stubs of the wire contract `recalld.v1`; regenerate with `make gen`."""
