"""Turns weights into the integer codes that the default model's graph holds.

Only arrays in, arrays out. Invariant: a scale is never 0, so codes can always be undone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Largest weight code. Processors without 8-bit dot products could saturate at 127 and would need
# 63, at a cosine of 0.998 to this.
CODE_MAX = 127
Q8_BLOCK = 128
Q4_BLOCK = 32
# Smoothing factors are stored as eighths of a power of two.
SMOOTH_STEPS = 8


def pack_nibbles(nibbles: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Pack two codes into a byte, even elements in the low half.

    Args:
        nibbles: uint8[rows, columns], in [0, 15], columns a multiple of 32.

    Returns:
        uint8[rows, columns / 32, 16].
    """
    rows, columns = nibbles.shape
    pairs = nibbles.reshape(rows, columns // Q4_BLOCK, Q4_BLOCK // 2, 2)
    return (pairs[..., 0] | (pairs[..., 1] << 4)).astype(np.uint8)


def quantise_blocks(
    weights: NDArray[np.float32],
) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Quantise in blocks of 128 columns.

    Args:
        weights: float32[rows, columns], columns a multiple of 128.

    Returns:
        Codes uint8[rows, columns / 128, 128] with zero at 128, and scales
        float32[rows, columns / 128].
    """
    rows, columns = weights.shape
    blocks = weights.reshape(rows, columns // Q8_BLOCK, Q8_BLOCK)
    scales = _nonzero(np.abs(blocks).max(2) / CODE_MAX)
    codes = np.clip(np.rint(blocks / scales[:, :, None]), -CODE_MAX, CODE_MAX) + CODE_MAX + 1
    return codes.astype(np.uint8), scales.astype(np.float32)


def quantise_channels(
    weights: NDArray[np.float32],
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Quantise with one scale an output channel.

    Args:
        weights: float32[outputs, inputs].

    Returns:
        Codes int8[inputs, outputs], the layout the product wants, and scales float32[outputs].
    """
    scales = _nonzero((np.abs(weights).max(1) / CODE_MAX).astype(np.float32))
    codes = np.clip(np.rint(weights / scales[:, None]), -CODE_MAX, CODE_MAX)
    return codes.astype(np.int8).T, scales


def smoothing_factors(steps: NDArray[np.int8]) -> NDArray[np.float32]:
    """Read stored smoothing steps: int8[inputs], eighths of a power of two, to float32[inputs]."""
    return np.exp2(steps.astype(np.float32) / SMOOTH_STEPS).astype(np.float32)


def _nonzero(scales: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.where(scales == 0, np.float32(1), scales)
