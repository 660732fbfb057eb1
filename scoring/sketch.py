"""Sketch kernel: upper bounds of many similarities from one bit per column.

It reads a thirtieth of what the vectors take, so that a pass over very many rows names the few
that are worth a closer look. It never chooses rows, and its numbers are never shown.

Source: Gao, Long, RaBitQ: Quantizing High-Dimensional Vectors with a Theoretical Error Bound for
Approximate Nearest Neighbor Search, SIGMOD 2024, sections 3.1 to 3.3.
"""

from __future__ import annotations

import numpy as np

from recalld.scoring.kernel import kernel

# The request has this many bits per column, so its levels are the odd numbers from -15 to 15.
PLANE_COUNT = 4
LEVEL_MAX = (1 << PLANE_COUNT) - 1
# Rows of `terms`.
TERM_COUNT = 3
STRETCH, OFFSET, ERROR = range(TERM_COUNT)
# Rows counted at once: their counters stay in the nearest cache.
_BLOCK_COUNT = 1_024


@kernel("u64", returns="u64")
def bits_of(word):  # type: ignore[no-untyped-def]
    """Count the ones of a word; compiled to the processor's own instruction where it has one."""
    pairs = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    mask = np.uint64(0x3333333333333333)
    fours = (pairs & mask) + ((pairs >> np.uint64(2)) & mask)
    bytes_ = (fours + (fours >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (bytes_ * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel("u64[:,:]", "f32[:,:]", "u64[:,:]", "f32[:]", "out f32[:]")
def reach_into(codes, terms, planes, numbers, reach):  # type: ignore[no-untyped-def]
    """Write for each row a similarity that its own exceeds about never.

    With q for the request without the centre and s for a row's signs, the similarity is about
    `stretch * (s . q) + offset`; the spread of what is missing is `error * |q|` for the signs and
    `stretch * |d|` for what the levels leave of the request.

    Args:
        codes: uint64[words, >= n], a row's signs as bits, 1 = positive; spare bits are 0.
        terms: float32[TERM_COUNT, >= n]: stretch, offset and error of each row.
        planes: uint64[PLANE_COUNT, words], bits of the request's levels; spare bits are 0.
        numbers: float32[5]: step of the levels; sum of the largest level over the columns; what
            every row gains; how often |q| and |d| are added.
        reach: float32[n], written.
    """
    step, ceiling, shift, width, blur = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    differing = np.empty(_BLOCK_COUNT, dtype=np.uint64)
    for start in range(0, reach.shape[0], _BLOCK_COUNT):
        count = min(_BLOCK_COUNT, reach.shape[0] - start)
        differing[:] = 0
        for w in range(codes.shape[0]):
            one, two, four, eight = planes[0, w], planes[1, w], planes[2, w], planes[3, w]
            words = codes[w, start : start + count]
            for i in range(count):
                word = words[i]
                # Signs and bits agree in +1 and differ in -1: the dot product is a count of bits.
                differing[i] += (
                    bits_of(word ^ one)
                    + (bits_of(word ^ two) << np.uint64(1))
                    + (bits_of(word ^ four) << np.uint64(2))
                    + (bits_of(word ^ eight) << np.uint64(3))
                )
        for i in range(count):
            row = start + i
            dot = step * (ceiling - np.float32(2.0) * np.float32(np.int64(differing[i])))
            near = terms[STRETCH, row] * dot + terms[OFFSET, row]
            signs, levels = width * terms[ERROR, row], blur * terms[STRETCH, row]
            reach[row] = near + shift + np.sqrt(signs * signs + levels * levels)


@kernel("f32[:]", "f32[:]", "f32", "f32", "out f32[:]")
def add_reach_into(reach, scale, weight, bar, logit):  # type: ignore[no-untyped-def]
    """Raise log-odds by what a similarity on the model's fixed scale is worth.

    Args:
        reach: float32[n], cosines.
        scale: float32[4], of `recalld.scoring.params.Scale.numbers`.
        weight: of this request, in (0, 1]: what stands out from the background shrinks by it.
        bar: log-odds of full evidence, >= 0.
        logit: float32[n], raised to `bar` times the normalised score where that is more.
    """
    for i in range(reach.shape[0]):
        z = (reach[i] - scale[0]) * scale[1]
        z = z * weight if z > 0 else z
        score = min(max((z + scale[2]) * scale[3], np.float32(0.0)), np.float32(1.0))
        logit[i] = max(logit[i], bar * score)


@kernel("u8[:]", "out f32[:]")
def leave_out_into(excluded, values):  # type: ignore[no-untyped-def]
    """Write minus infinity where a row may not answer.

    Args:
        excluded: uint8[n], 0 = may answer.
        values: float32[n], written.
    """
    for i in range(values.shape[0]):
        values[i] = values[i] if excluded[i] == 0 else np.float32(-np.inf)
