"""Similarity kernels: a fast 8-bit scan over many rows and an exact one over few.

They never normalise, filter or choose rows; the caller names the rows.

Invariants: `scan_into` differs from `rescore_into` by quantisation only (about 0.002 for unit
vectors of 384 dimensions), so its results select candidates and are never shown.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recalld.scoring.kernel import kernel

INT8_MAX = 127
# The width of the default model, for which the 8-bit kernels have code of their own.
USUAL_DIM = 384


@kernel("i8[:,:]", "f32[:]", "i64[:]", "i16[:]", "f32", "out f32[:]")
def scan_into(codes, scales, rows, query, query_scale, similarity):  # type: ignore[no-untyped-def]
    """Approximate dot products of 8-bit rows with an 8-bit query.

    Args:
        codes: int8[n, dim].
        scales: float32[n], the step of each row.
        rows: int64[m], each in [0, n).
        query: int16[dim], quantised to 8 bits like the rows.
        query_scale: the query's step.
        similarity: float32[m], written.

    Complexity: m * dim multiplications, memory-bound.
    """
    dim = query.shape[0]
    for i in range(rows.shape[0]):
        row = codes[rows[i]]
        total = np.int32(0)
        # Every step is cast back: Numba widens to int64, which costs the 16-bit multiply-add; that
        # the query has 16 bits spares widening it, and a length that is known spares the loop.
        if dim == USUAL_DIM:
            for j in range(USUAL_DIM):
                total = np.int32(total + np.int32(np.int32(row[j]) * np.int32(query[j])))
        else:
            for j in range(dim):
                total = np.int32(total + np.int32(np.int32(row[j]) * np.int32(query[j])))
        similarity[i] = np.float32(total) * scales[rows[i]] * query_scale


@kernel("(i8[:,:]; f32[:])", "i64[:]", "(i16[:,:]; f32[:])", "f32[:]", "f32[:]", "out f32[:]")
def roughly_nearest_into(block, rows, queries, weights, scale, normalised):  # type: ignore[no-untyped-def]
    """Nearly the scores of `nearest_into`, from 8-bit rows.

    Args:
        block: codes int8[n, dim] and steps float32[n].
        rows: int64[m], each in [0, n).
        queries: int16[q, dim] codes and float32[q] steps.
        weights, scale: as for `nearest_into`.
        normalised: float32[n], written at `rows`, in 0..1.
    """
    codes, steps = block
    dim = queries[0].shape[1]
    for i in range(rows.shape[0]):
        row = codes[rows[i]]
        best = np.float32(-1.0)
        is_known = False
        for q in range(queries[0].shape[0]):
            query = queries[0][q]
            total = np.int32(0)
            # As in `scan_into`; a function of its own would not be inlined.
            if dim == USUAL_DIM:
                for j in range(USUAL_DIM):
                    total = np.int32(total + np.int32(np.int32(row[j]) * np.int32(query[j])))
            else:
                for j in range(dim):
                    total = np.int32(total + np.int32(np.int32(row[j]) * np.int32(query[j])))
            is_known |= total != 0
            z = np.float32(total) * steps[rows[i]] * queries[1][q]
            z = (z - scale[0]) * scale[1]
            # What stands out shrinks; a branch would be guessed wrong for every other row.
            z = min(z, z * weights[q])
            best = max(best, min(max((z + scale[2]) * scale[3], np.float32(0.0)), np.float32(1.0)))
        normalised[rows[i]] = best if is_known else scale[2] * scale[3]


@kernel("f32[:,:]", "i64[:]", "f32[:]", "out f32[:]", reassociate=True)
def rescore_into(vectors, rows, query, similarity):  # type: ignore[no-untyped-def]
    """Exact dot products of chosen rows with the query.

    Args:
        vectors: float32[n, dim].
        rows: int64[m], each in [0, n).
        query: float32[dim].
        similarity: float32[m], written; NaN where a row or the query holds NaN.

    Invariants: a row's result depends on that row and the query only.
    """
    for i in range(rows.shape[0]):
        row = vectors[rows[i]]
        total = np.float32(0.0)
        for j in range(query.shape[0]):
            total += row[j] * query[j]
        similarity[i] = total


@kernel(
    "f32[:,:]",
    "i64[:]",
    "f32[:,:]",
    "f32[:]",
    "f32[:]",
    "out f32[:]",
    "out f32[:]",
    reassociate=True,
)
def nearest_into(vectors, rows, queries, weights, scale, raw, normalised):  # type: ignore[no-untyped-def]
    """Exact cosines of chosen rows with their best query, and these on the model's fixed scale.

    Args:
        vectors: float32[n, dim]; a row of zeros is a vector that is not known.
        rows: int64[m], each in [0, n).
        queries: float32[q, dim], q >= 1.
        weights: float32[q], in (0, 1]: what stands out from the background shrinks by it.
        scale: float32[4]: background mean, 1 / spread, spreads below the mean, 1 / all spreads.
        raw: float32[n], written at `rows` with cosines.
        normalised: float32[n], written at `rows`, in 0..1; unknown vectors lie at the background.
    """
    dim = queries.shape[1]
    for i in range(rows.shape[0]):
        row = vectors[rows[i]]
        best = np.float32(-1.0)
        cosine = np.float32(0.0)
        for q in range(queries.shape[0]):
            query = queries[q]
            total = np.float32(0.0)
            for j in range(dim):
                total += row[j] * query[j]
            z = (total - scale[0]) * scale[1]
            z = min(z, z * weights[q])
            score = min(max((z + scale[2]) * scale[3], np.float32(0.0)), np.float32(1.0))
            if score > best:
                best = score
                cosine = total
        raw[rows[i]] = cosine
        # A cosine of exactly 0 is that of a memory whose vector is not known: neither near nor far.
        normalised[rows[i]] = best if cosine != 0 else scale[2] * scale[3]


@kernel("f32[:,:]", "out i16[:,:]", "out f32[:]")
def quantise_into(vectors, codes, steps):  # type: ignore[no-untyped-def]
    """Quantise queries as `quantise` does rows.

    Args:
        vectors: float32[q, dim], finite.
        codes: int16[q, dim], written, in [-127, 127].
        steps: float32[q], written.
    """
    for q in range(vectors.shape[0]):
        largest = np.float32(0.0)
        for j in range(vectors.shape[1]):
            largest = max(largest, abs(vectors[q, j]))
        steps[q] = largest / np.float32(INT8_MAX)
        divisor = steps[q] if steps[q] > 0 else np.float32(1.0)
        for j in range(vectors.shape[1]):
            codes[q, j] = np.int16(np.rint(vectors[q, j] / divisor))


def query_codes(queries: NDArray[np.float32]) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
    """Quantise queries float32[q, dim]: int16[q, dim], in 8 bits, and steps float32[q]."""
    codes = np.empty(queries.shape, dtype=np.int16)
    steps = np.empty(len(queries), dtype=np.float32)
    quantise_into(queries, codes, steps)
    return codes, steps


@kernel("f32[:,:]", "i64", "f64", returns="i64", reassociate=True)
def first_unfit(vectors, parts, tolerance):  # type: ignore[no-untyped-def]
    """Return the first row with a part that is not finite or not of unit length, or -1.

    Args:
        vectors: float32[n, parts * dim]; any part but the first may be zero: it is not known.
        parts: >= 1.
        tolerance: by which a length may differ from 1.
    """
    dim = vectors.shape[1] // parts
    for i in range(vectors.shape[0]):
        for part in range(parts):
            square = 0.0
            for j in range(part * dim, (part + 1) * dim):
                square += np.float64(vectors[i, j]) * np.float64(vectors[i, j])
            # Written so that NaN and infinity fail too.
            if not (abs(np.sqrt(square) - 1.0) <= tolerance or (part > 0 and square == 0)):
                return i
    return -1


@kernel("f32[:]", "out f32[:]", returns="f64", reassociate=True)
def unit_into(vector, unit):  # type: ignore[no-untyped-def]
    """Stretch a vector to length 1; return the length that it had.

    Args:
        vector: float32[dim]; its squares cannot overflow, so its length is finite where it is.
        unit: float32[dim], written; of no use where the length is not finite or 0.
    """
    square = 0.0
    for j in range(vector.shape[0]):
        square += np.float64(vector[j]) * np.float64(vector[j])
    length = np.sqrt(square)
    for j in range(vector.shape[0]):
        unit[j] = np.float32(np.float64(vector[j]) / length)
    return length


def quantise(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Quantise rows to 8 bits, each with its own step.

    Args:
        vectors: float32[n, dim], finite.

    Returns:
        codes int8[n, dim] in [-127, 127] and steps float32[n], such that `codes * step` is within
        half a step of the row; a zero row gets step 0.
    """
    steps = np.abs(vectors).max(axis=1, initial=0.0).astype(np.float32) / np.float32(INT8_MAX)
    divisor = np.where(steps > 0, steps, np.float32(1.0))
    codes = np.rint(vectors / divisor[:, None]).astype(np.int8)
    return codes, steps
