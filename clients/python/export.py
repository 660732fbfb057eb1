"""How an export is read from a server that has no export stream: page by page."""

from __future__ import annotations

from recalld.client.options import ExportOptions, ListOptions
from recalld.client.values import Status

EXPORTED_STATUSES = (
    Status.ACTIVE,
    Status.SUPERSEDED,
    Status.CONFLICTED,
    Status.EXPIRED,
    Status.ARCHIVED,
)
PAGE_SIZE = 1000


def paging_options(narrow: ExportOptions) -> ListOptions:
    """The list call that gives what an export would, newest first instead of oldest first."""
    return {"statuses": EXPORTED_STATUSES, **narrow, "page_size": PAGE_SIZE}
