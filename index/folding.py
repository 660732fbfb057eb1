"""Text folding: one spelling for what readers take as the same text.

Compatibility forms (full width, ligatures) fold by NFKC, traditional Chinese folds to simplified by
phrase, and whatever is not printable becomes a blank. Folding never changes case: the analyzer
still needs the humps of `camelCase`.

Invariants: folding is idempotent; ASCII text without control characters comes back unchanged.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import opencc

# Controls, format characters (zero width, bidi), separators and private use: all of them would glue
# or split words invisibly.
_ODD = re.compile(
    r"[\x00-\x1f\x7f-\xa0\xad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
    r"\ue000-\uf8ff\ufff9-\ufffd]+"
)
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u02bc": "'", "\uff07": "'"})


class Folder:
    """Folds text; holds the converter from traditional to simplified Chinese.

    Thread safety: `fold` only reads; one instance serves any number of threads.
    """

    def __init__(self) -> None:
        self._converter = opencc.OpenCC("t2s")
        self._traditional = _traditional_only()

    def fold(self, text: str) -> str:
        """Return `text` with one spelling per meaning.

        Args:
            text: any string; lone surrogates are treated as blanks.

        Returns:
            NFKC text in simplified Chinese, with every control, format and odd blank character
            replaced by a space; case is kept.
        """
        if text.isascii():
            if text.isprintable():
                return text
            return _ODD.sub(" ", text)
        text = _ODD.sub(" ", unicodedata.normalize("NFKC", text)).translate(_APOSTROPHES)
        if not self._traditional.isdisjoint(text):
            # By phrase, not by character: 乾隆 keeps its 乾, 乾燥 loses it.
            text = str(self._converter.convert(text))
        return text


def _traditional_only() -> frozenset[str]:
    """Characters that simplified text never holds, so that most texts skip conversion."""
    table = Path(opencc.__file__).parent / "dictionary" / "TSCharacters.txt"
    lines = (line.partition("\t") for line in table.read_text(encoding="utf-8").splitlines())
    return frozenset(
        source for source, _, targets in lines if source and source not in targets.split()
    )
