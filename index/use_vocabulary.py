"""Builds the tokenizer of the fast model from its SentencePiece file.

It never reads or writes files. Invariant: a kept piece keeps its place relative to the others, so
pieces and rows of the embedding table stay in step; the first six stay as they are.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from recalld.index.e5_tokenizer import WORD_START, is_zh_en
from recalld.index.errors import ModelInvalid

UNK, BOS, EOS, PAD = 0, 1, 2, 3
SPECIAL_COUNT = 6
# Numbers of the fields that are read, of sentencepiece_model.proto.
_PIECES, _NORMALIZER, _PIECE_TEXT, _PIECE_SCORE, _CHARSMAP = 1, 3, 1, 2, 2
_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a SentencePiece file says of a unigram tokenizer.

    Attributes:
        pieces: text and log-probability of each.
        charsmap: the compiled table that normalises characters.
    """

    pieces: tuple[tuple[str, float], ...]
    charsmap: bytes


def read_vocabulary(data: bytes) -> Vocabulary:
    """Read a SentencePiece model.

    Raises:
        ModelInvalid: it is damaged, or no such file.
    """
    try:
        fields = list(_fields(data))
        parts = [dict(_fields(value)) for number, value in fields if number == _PIECES]
        pieces = tuple(
            (part[_PIECE_TEXT].decode(), struct.unpack("<f", part.get(_PIECE_SCORE, bytes(4)))[0])
            for part in parts
        )
        normalizer = dict(_fields(dict(fields)[_NORMALIZER]))
        return Vocabulary(pieces, normalizer[_CHARSMAP])
    except (IndexError, KeyError, ValueError, struct.error) as error:
        raise ModelInvalid(f"damaged SentencePiece model: {error!r}") from error


def kept_pieces(pieces: Sequence[tuple[str, float]]) -> list[int]:
    """Choose the pieces without letters of scripts other than Latin and Han, ascending."""
    return [i for i, (text, _) in enumerate(pieces) if i < SPECIAL_COUNT or is_zh_en(text)]


def build_tokenizer(vocabulary: Vocabulary, kept: Sequence[int], max_tokens: int) -> Tokenizer:
    """Build the tokenizer: `<s> text </s>`, cut at `max_tokens`, special tokens included."""
    pieces = [vocabulary.pieces[i] for i in kept]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=UNK, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Precompiled(vocabulary.charsmap),
            normalizers.Strip(),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Metaspace(replacement=WORD_START, prepend_scheme="always", split=True),
        ]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", BOS), ("</s>", EOS)]
    )
    tokenizer.enable_truncation(max_length=max_tokens)
    return tokenizer


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Number and bytes of each field of a message; numbers of no width are passed over."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        wire = tag & 7
        if wire == _VARINT:
            _, at = _varint(data, at)
            continue
        if wire == _LENGTH:
            size, at = _varint(data, at)
        elif wire in (_EIGHT_BYTES, _FOUR_BYTES):
            size = 8 if wire == _EIGHT_BYTES else 4
        else:
            raise ValueError(f"wire type {wire}")
        if at + size > len(data):
            raise ValueError("cut short")
        yield tag >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable width, and where the next one begins."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
