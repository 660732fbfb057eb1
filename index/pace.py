"""How long texts wait for the embedder, from how long they took lately.

It decides nothing and knows no lock: the caller holds one. Times are seconds of one monotonic
clock.
"""

from __future__ import annotations

SMOOTHING = 0.2
"""Weight of the newest run: five or so runs tell, one slow one does not."""


class Pace:
    """Seconds from one text to the next, of a queue that is not empty.

    What stands between two runs counts as well, such as runs of another queue that goes first: it
    is the time that those who wait see.

    Attributes:
        waiting: texts in the queue now.
    """

    def __init__(self) -> None:
        """Start without knowing anything: until the first run nobody has to wait."""
        self.waiting = 0
        self._per_text_s = 0.0
        self._since_s = 0.0

    def count(self, more: int, now_s: float) -> None:
        """Texts came (or, below 0, went); the time matters to the first that come."""
        if not self.waiting:
            self._since_s = now_s
        self.waiting += more

    def ran(self, text_count: int, now_s: float) -> None:
        """A run of so many texts, >= 1, ended."""
        latest_s = (now_s - self._since_s) / text_count
        known_s = self._per_text_s or latest_s
        self._per_text_s = known_s + SMOOTHING * (latest_s - known_s)
        self._since_s = now_s

    def wait_s(self, text_count: int) -> float:
        """Seconds until so many texts will have been embedded; 0 before the first run."""
        return text_count * self._per_text_s
