"""Builds the tokenizer of the default model from its vocabulary.

It never reads or writes files. Invariant: ids 0 to 3 are `<s>`, `<pad>`, `</s>` and `<unk>`, and a
kept piece keeps its place relative to the others, so pieces and rows of the embedding table stay
in step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from recalld.index.e5_container import E5Container

Prune = Literal["zh-en", "none"]

BOS, PAD, EOS, UNK = 0, 1, 2, 3
SPECIAL_COUNT = 4
# Latin, punctuation, symbols, Han, Bopomofo, full-width forms, emoji and the planes above.
# The mark of a word's start, U+2581, lies inside.
ZH_EN_RANGES = (
    (0x0000, 0x024F),
    (0x2000, 0x303F),
    (0x3100, 0x312F),
    (0x3190, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFE00, 0xFE6F),
    (0xFF00, 0xFF65),
    (0xFFE0, 0xFFEF),
    (0x1F000, 0x10FFFF),
)
WORD_START = "\u2581"
_CONTROLS = "[\\x{01}-\\x{08}\\x{0B}\\x{0E}-\\x{1F}\\x{7F}\\x{8F}\\x{9F}]"
_BLANKS = (
    "[\\x{09}\\x{0A}\\x{0C}\\x{0D}\\x{1680}\\x{200B}-\\x{200F}"
    "\\x{2028}\\x{2029}\\x{2581}\\x{FEFF}\\x{FFFD}]"
)
_WIDE_TILDE = "\uff5e"
_WIDE_TILDE_KEPT_AS = "\ue0ff"


def kept_pieces(pieces: Sequence[str], prune: Prune) -> list[int]:
    """Choose the vocabulary.

    Args:
        pieces: the full vocabulary; the last piece of a pruned one is its mask, which is dropped.
        prune: `zh-en` drops pieces with letters of other scripts, `none` keeps all.

    Returns:
        Indices into `pieces`, ascending, the four special ones first.
    """
    if prune == "none":
        return list(range(len(pieces)))
    ordinary = range(SPECIAL_COUNT, len(pieces) - 1)
    return [*range(SPECIAL_COUNT), *(i for i in ordinary if is_zh_en(pieces[i]))]


def build_tokenizer(container: E5Container, kept: Sequence[int], max_tokens: int) -> Tokenizer:
    """Build the tokenizer: `<s> text </s>`, cut at `max_tokens`, padded to the longest.

    Args:
        container: gives pieces and scores.
        kept: indices as `kept_pieces` returns them.
        max_tokens: special tokens included, > 2.
    """
    scored = [(container.pieces[i], float(container.scores[i])) for i in kept]
    tokenizer = Tokenizer(models.Unigram(scored, unk_id=UNK, byte_fallback=False))
    tokenizer.normalizer = _normalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Metaspace(replacement=WORD_START, prepend_scheme="always", split=True),
        ]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", BOS), ("</s>", EOS)],
    )
    tokenizer.enable_truncation(max_length=max_tokens)
    tokenizer.enable_padding(pad_id=PAD, pad_token="<pad>")
    return tokenizer


def _normalizer() -> normalizers.Normalizer:
    # The container's own map is a table over single code points; these standard steps give the
    # same result, and a `tokenizer.json` can hold them.
    return normalizers.Sequence(
        [
            normalizers.Replace(Regex(_CONTROLS), ""),
            normalizers.Replace(Regex(_BLANKS), " "),
            normalizers.Replace(_WIDE_TILDE, _WIDE_TILDE_KEPT_AS),
            normalizers.NFKC(),
            normalizers.Replace(_WIDE_TILDE_KEPT_AS, _WIDE_TILDE),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )


def is_zh_en(piece: str) -> bool:
    """Whether a piece has no letter of a script other than Latin and Han."""
    return all(any(low <= ord(char) <= high for low, high in ZH_EN_RANGES) for char in piece)
