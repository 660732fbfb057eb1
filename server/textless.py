"""Methods whose remembered answers hold no text of a memory.

They stay when a memory is purged, so that a repeated request is answered and not carried out
again; the answers of all other methods go when they name a purged memory. A method that is not
listed here counts as one that tells texts.
"""

from __future__ import annotations

TEXTLESS_METHODS = frozenset(
    {
        "recalld.v1.MemoryService/Remember",
        "recalld.v1.MemoryService/Forget",
        "recalld.v1.RecallService/ReportUsage",
    }
)
