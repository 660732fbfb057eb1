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
# Stretch, offset and error.
TERM_COUNT = 3
# Rows of a block: a pass reads one block behind the other, three times as fast as one column of
# words behind the other, since its counters stay in the nearest cache.
BLOCK_COUNT = 64
SMALLEST = np.finfo(np.float32).tiny


@kernel("u64", returns="u64")
def bits_of(word):  # type: ignore[no-untyped-def]
    """Count the ones of a word; compiled to the processor's own instruction where it has one."""
    pairs = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    mask = np.uint64(0x3333333333333333)
    fours = (pairs & mask) + ((pairs >> np.uint64(2)) & mask)
    bytes_ = (fours + (fours >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (bytes_ * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel("f32[:,:]", "out f32[:,:]")
def turn_into(signs, vectors):  # type: ignore[no-untyped-def]
    """Turn vectors by a fixed rotation that spreads what each says over all columns.

    Each round turns some signs and mixes as many columns as are a power of two, by turns the first
    and the last ones, so a round costs dim * log(dim) and reads no matrix.

    Args:
        signs: float32[rounds, dim], each 1 or -1.
        vectors: float32[m, dim], turned in place.

    Source: Ailon, Chazelle, The Fast Johnson-Lindenstrauss Transform, SIAM J. Comput. 39 (2009).
    """
    dim = vectors.shape[1]
    width = 1
    while 2 * width <= dim:
        width *= 2
    scale = np.float32(1.0 / np.sqrt(width))
    for i in range(vectors.shape[0]):
        for turn in range(signs.shape[0]):
            vector = vectors[i]
            for j in range(dim):
                vector[j] *= signs[turn, j]
            mixed = vector[(dim - width) * (turn % 2) :][:width]
            half = 1
            while half < width:
                for start in range(0, width, 2 * half):
                    low, high = mixed[start : start + half], mixed[start + half : start + 2 * half]
                    for j in range(half):
                        one, other = low[j], high[j]
                        low[j], high[j] = one + other, one - other
                half *= 2
            for j in range(width):
                mixed[j] *= scale


@kernel("f32[:]", "out u64[:,:]", "out f32[:]")
def levels_into(turned, planes, lengths):  # type: ignore[no-untyped-def]
    """Write the bits of a request's levels, the odd numbers nearest to its columns.

    Args:
        turned: float32[dim], the request without the centre.
        planes: uint64[PLANE_COUNT, words], zeros, written.
        lengths: float32[3], written: step of the levels, length of the request, and of what the
            levels leave of it.
    """
    largest = np.float32(0.0)
    for j in range(turned.shape[0]):
        largest = max(largest, abs(turned[j]))
    step = max(largest, SMALLEST) / np.float32(LEVEL_MAX)
    whole, left = 0.0, 0.0
    for j in range(turned.shape[0]):
        level = np.rint((turned[j] / step + LEVEL_MAX) / np.float32(2.0))
        whole += np.float64(turned[j]) ** 2
        left += np.float64(turned[j] - step * (2 * level - LEVEL_MAX)) ** 2
        for plane in range(PLANE_COUNT):
            bit = np.uint64(level) >> np.uint64(plane) & np.uint64(1)
            planes[plane, j // 64] |= bit << np.uint64(j % 64)
    lengths[0], lengths[1], lengths[2] = step, np.sqrt(whole), np.sqrt(left)


@kernel("u64[:,:,:]", "f32[:,:,:]", "u64[:,:]", "f32[:]", "out f32[:]")
def reach_into(codes, terms, planes, numbers, reach):  # type: ignore[no-untyped-def]
    """Write for each row a similarity that its own exceeds about never.

    With q for the request without the centre and s for a row's signs, the similarity is about
    `stretch * (s . q) + offset`; the spread of what is missing is `error * |q|` for the signs and
    `stretch * |d|` for what the levels leave of the request.

    Args:
        codes: uint64[blocks, words, BLOCK_COUNT], rows' signs as bits, 1 = positive; spare bits
            are 0. Row r is number r % BLOCK_COUNT of block r // BLOCK_COUNT.
        terms: float32[blocks, TERM_COUNT, BLOCK_COUNT]: stretch, offset and error of each row.
        planes: uint64[PLANE_COUNT, words], bits of the request's levels; spare bits are 0.
        numbers: float32[5]: step of the levels; sum of the largest level over the columns; what
            every row gains; how often |q| and |d| are added.
        reach: float32[n], written.
    """
    step, ceiling, shift, width, blur = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    differing = np.empty(BLOCK_COUNT, dtype=np.uint64)
    for block in range((reach.shape[0] + BLOCK_COUNT - 1) // BLOCK_COUNT):
        differing[:] = 0
        for w in range(codes.shape[1]):
            one, two, four, eight = planes[0, w], planes[1, w], planes[2, w], planes[3, w]
            words = codes[block, w]
            for i in range(BLOCK_COUNT):
                word = words[i]
                # Signs and bits agree in +1 and differ in -1: the dot product is a count of bits.
                differing[i] += (
                    bits_of(word ^ one)
                    + (bits_of(word ^ two) << np.uint64(1))
                    + (bits_of(word ^ four) << np.uint64(2))
                    + (bits_of(word ^ eight) << np.uint64(3))
                )
        start = block * BLOCK_COUNT
        stretch, offset, error = terms[block, 0], terms[block, 1], terms[block, 2]
        for i in range(min(BLOCK_COUNT, reach.shape[0] - start)):
            dot = step * (ceiling - np.float32(2.0) * np.float32(np.int64(differing[i])))
            signs, levels = width * error[i], blur * stretch[i]
            spread = np.sqrt(signs * signs + levels * levels)
            reach[start + i] = stretch[i] * dot + offset[i] + shift + spread


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
