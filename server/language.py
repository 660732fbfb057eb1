"""Which language a text is in, as far as ranking and headings need it.

Chinese, English or neither.
"""

from __future__ import annotations

import re

HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
LATIN = re.compile("[A-Za-z]")


def detect_language(text: str) -> str:
    """BCP 47 tag: `zh` when the text holds Han characters, `en` when Latin letters, else `und`.

    Chinese text is full of Latin names and identifiers, and English text hardly ever holds Han
    characters: a tenth of Han characters among the letters decides.
    """
    han = len(HAN.findall(text))
    latin = len(LATIN.findall(text))
    if han and han * 10 >= latin:
        return "zh"
    if latin:
        return "en"
    return "zh" if han else "und"
