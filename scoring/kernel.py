"""The kernel decorator: the only place that knows Numba.

A kernel is serial, releases the GIL, compiles once for the types it names and is cached on disk;
where no cache can be written (a read-only image) it compiles in memory instead. It never uses
whole fast-math, because NaN and infinity have meaning here, nor `parallel`, which can abort a
process that calls from several threads.

Invariants: inputs are C-contiguous and read-only to the kernel, so read-only and writable arrays
share one compiled variant; only arguments marked `out` may be written. A kernel calls only kernels
of its own file: the cache does not notice edits elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])

_TYPES: dict[str, Any] = {
    "b1": numba.boolean,
    "u8": numba.uint8,
    "u64": numba.uint64,
    "i8": numba.int8,
    "i16": numba.int16,
    "i32": numba.int32,
    "i64": numba.int64,
    "f32": numba.float32,
    "f64": numba.float64,
}
_ARGUMENT = re.compile(r"(?P<type>[buif]\d+)(?:\[(?P<dims>[:,]+)\])?")
_GROUP = re.compile(r"\((?P<parts>.+)\)|(?P<count>\d+) \* (?P<part>.+)")


def kernel(*arguments: str, returns: str = "", reassociate: bool = False) -> Callable[[F], F]:
    """Compile a function for exactly these arguments.

    Args:
        arguments: one per parameter: a scalar type (`i64`), an input array (`f32[:,:]`), an array
            the kernel writes into (`out f32[:]`), a tuple of these (`(f32[:]; i64)`,
            `out (f32[:]; i64[:])`) or of equal ones (`8 * f32[:]`).
        returns: a scalar type, or "" for nothing.
        reassociate: let sums be added in the order that the processor does fastest, always the
            same one on one machine; NaN and infinity keep their meaning.

    Returns:
        A decorator; the compiled function raises TypeError for any other dtype, layout or, for
        `out`, for a read-only array.
    """
    result: Any = _TYPES[returns] if returns else numba.void
    signature = result(*[_parse(argument) for argument in arguments])

    def compile_for(function: F) -> F:
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
        if reassociate:
            options |= {"fastmath": {"reassoc", "contract"}}
        try:
            compiled = numba.njit(signature, cache=True, **options)(function)
        except RuntimeError as error:
            if "no locator available" not in str(error):
                raise
            compiled = numba.njit(signature, **options)(function)
        return cast(F, compiled)

    return compile_for


def _parse(argument: str) -> Any:
    """Turn `f32[:,:]` into the Numba type."""
    given = argument.removeprefix("out ")
    is_out = given != argument
    if group := _GROUP.fullmatch(given):
        if group["count"]:
            return numba.types.UniTuple(_array(group["part"], is_out), int(group["count"]))
        return numba.types.BaseTuple.from_types(
            [_array(part, is_out) for part in group["parts"].split("; ")]
        )
    return _array(given, is_out)


def _array(argument: str, is_out: bool) -> Any:
    """Turn the type of one array or scalar into the Numba type."""
    match = _ARGUMENT.fullmatch(argument)
    if match is None:
        raise ValueError(f"kernel argument {argument!r} is not of the form '[out ]type[dims]'")
    scalar = _TYPES[match["type"]]
    if match["dims"] is None:
        return scalar
    return numba.types.Array(scalar, match["dims"].count(":"), "C", readonly=not is_out)
