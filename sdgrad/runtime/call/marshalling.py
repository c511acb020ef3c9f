"""Convert arguments of compiled programs (NumPy and CuPy arrays, torch tensors, numbers) and results back."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import dace
import numpy as np
import sympy
from dace import data as dt

from sdgrad.errors import ArgumentError
from sdgrad.runtime.compile.number_kind import check_kind


def is_tensor(value: Any) -> bool:
    """True for a torch tensor (torch need not be installed)."""
    return type(value).__module__.split(".")[0] == "torch" and hasattr(value, "detach")


def is_cupy(value: Any) -> bool:
    """True for a CuPy array (CuPy need not be installed)."""
    return type(value).__module__.split(".")[0] == "cupy" and hasattr(value, "get")


def as_array(value: Any) -> Any:
    """Convert a value to NumPy, without a copy for arrays and CPU tensors; numbers are unchanged."""
    if is_tensor(value):
        return (value.detach() if value.device.type == "cpu" else value.detach().cpu()).numpy()
    return value.get() if is_cupy(value) else value


def as_value(value: Any) -> Any:
    """Convert a value to what DaCe's frontend infers types from: numbers, and contiguous arrays.

    An array without dimensions becomes a number.
    """
    array = as_array(value)
    if not isinstance(array, np.ndarray):
        return array
    return array[()] if array.ndim == 0 else np.ascontiguousarray(array)


def as_recorded(value: Any) -> Any:
    """Convert a value to what a recording takes: as :func:`as_value`, but arrays without dimensions stay arrays."""
    array = as_array(value)
    return array if isinstance(array, np.ndarray) and array.ndim == 0 else as_value(value)


def like(result: np.ndarray, original: Any) -> Any:
    """Convert a result to the kind of its argument: a tensor, a CuPy or NumPy array, or a number."""
    if is_tensor(original):
        import torch

        return torch.from_numpy(result if result.ndim == 0 else np.ascontiguousarray(result)).to(original.device)
    if is_cupy(original):
        return importlib.import_module("cupy").asarray(result)
    return result if isinstance(original, np.ndarray) else result[()] if result.shape == () else result


def describe(value: Any) -> str:
    """Describe a value for error messages."""
    array = as_array(value)
    if isinstance(array, np.ndarray):
        return f"{array.dtype} array of shape {array.shape}"
    return type(value).__name__


def check(name: str, value: Any, desc: dt.Data) -> Any:
    """Convert an argument to the program's dtype and layout.

    :raises ArgumentError: its dtype or shape is another one.
    """
    array = as_array(value)
    wanted = np.dtype(desc.dtype.type)
    if isinstance(desc, dt.Scalar) or tuple(desc.shape) == (1,) and np.ndim(array) == 0:
        return _check_number(name, value, desc)
    if not isinstance(array, np.ndarray):
        array = np.asarray(array)
    if not array.dtype.isnative:
        raise ArgumentError(
            f"argument '{name}': its numbers have the byte order of other processors ({array.dtype}): pass "
            f"{name}.astype({name}.dtype.newbyteorder('='))"
        )
    if array.dtype != wanted or array.ndim != len(desc.shape):
        raise ArgumentError(
            f"argument '{name}': expected a {wanted} array with {len(desc.shape)} dimensions, found a {describe(value)}"
        )
    for found, expected in zip(array.shape, desc.shape, strict=False):
        if not dace.symbolic.issymbolic(expected) and found != int(expected):
            shape = tuple(map(str, desc.shape))
            raise ArgumentError(f"argument '{name}': expected shape ({', '.join(shape)}), found {array.shape}")
    return np.ascontiguousarray(array)


def _check_number(name: str, value: Any, desc: dt.Data) -> Any:
    """Convert a number to the program's dtype, in an array of one element if the program takes an array.

    :raises ArgumentError: it is an array of several elements, or a part of it would be lost.
    """
    array, wanted = as_array(value), np.dtype(desc.dtype.type)
    if np.ndim(array) != 0 and np.size(array) != 1:
        raise ArgumentError(f"argument '{name}': expected a {wanted} scalar, found a {describe(value)}")
    check_kind(name, array, wanted)
    if isinstance(desc, dt.Scalar):
        return wanted.type(np.asarray(array).reshape(())[()])
    return np.full(1, array, wanted)


def matching(value: Any, model: Any, what: str) -> np.ndarray:
    """Convert a cotangent or tangent to the dtype of its primal value; scalars become arrays of one element.

    :raises ArgumentError: its shape is another one.
    """
    array, wanted = np.asarray(as_array(value)), np.asarray(as_array(model))
    if array.shape != wanted.shape:
        raise ArgumentError(f"{what}: expected shape {wanted.shape}, found {array.shape}")
    if array.dtype.kind == "c" and wanted.dtype.kind != "c":
        raise ArgumentError(f"{what}: it is complex, and the value is real: give its real part")
    return np.ascontiguousarray(array, dtype=wanted.dtype).reshape(wanted.shape or (1,))


def evaluate_shape(desc: dt.Data, symbols: dict[str, int]) -> tuple[int, ...]:
    """Evaluate a shape for values of its symbols."""
    return tuple(
        int(dace.symbolic.evaluate(s, {dace.symbolic.symbol(k): v for k, v in symbols.items()}))
        if dace.symbolic.issymbolic(s)
        else int(s)
        for s in desc.shape
    )


def solve_symbols(descs: dict[str, dt.Data], values: dict[str, Any]) -> dict[str, int]:
    """Solve for the symbols in shapes, given arrays: first extents that are a symbol, then those like ``N + 1``.

    :raises ArgumentError: two extents give one symbol different values.
    """
    found: dict[str, int] = {}
    extents = _symbolic_extents(descs, values)
    for name, k, extent, size in extents:
        symbol = str(extent)
        if symbol.isidentifier() and found.setdefault(symbol, size) != size:
            raise ArgumentError(
                f"argument '{name}': dimension {k} is {size}, but {symbol} is {found[symbol]} elsewhere"
            )
    for _, _, extent, size in extents:
        found |= _solved(sympy.sympify(extent), size, found)
    return found


def _symbolic_extents(descs: dict[str, dt.Data], values: dict[str, Any]) -> list[tuple[str, int, Any, int]]:
    """List the extents with symbols: the argument, the dimension, the extent, and the size that is given."""
    found: list[tuple[str, int, Any, int]] = []
    for name, desc in descs.items():
        value = as_array(values.get(name))
        if isinstance(value, np.ndarray):
            found += [(name, k, e, value.shape[k]) for k, e in enumerate(desc.shape[: value.ndim])]
    return [x for x in found if dace.symbolic.issymbolic(x[2])]


def _solved(extent: sympy.Expr, size: int, known: dict[str, int]) -> dict[str, int]:
    """Solve ``extent = size`` for its only unknown symbol; empty if there are several, or no unique integer."""
    unknown = [s for s in extent.free_symbols if s.name not in known]
    if len(unknown) != 1:
        return {}
    values = {s: known[s.name] for s in extent.free_symbols if s.name in known}
    return dict(_solution(extent.subs(values), size, unknown[0]))


@functools.lru_cache(4096)
def _solution(extent: sympy.Expr, size: int, symbol: sympy.Symbol) -> tuple[tuple[str, int], ...]:
    """Solve ``extent = size`` for a symbol, once: it takes a millisecond."""
    solutions = sympy.solve(extent - size, symbol)
    return ((symbol.name, int(solutions[0])),) if len(solutions) == 1 and solutions[0].is_Integer else ()
