"""Arguments of a compiled program: NumPy arrays, torch tensors and numbers in, the same kind out."""

from __future__ import annotations

import importlib
from typing import Any

import dace
import numpy as np
import sympy
from dace import data as dt

from sdgrad.errors import ArgumentError


def is_tensor(value: Any) -> bool:
    """Whether a value is a torch tensor (torch need not be installed)."""
    return type(value).__module__.split(".")[0] == "torch" and hasattr(value, "detach")


def is_cupy(value: Any) -> bool:
    """Whether a value is an array of CuPy's (which need not be installed)."""
    return type(value).__module__.split(".")[0] == "cupy" and hasattr(value, "get")


def as_array(value: Any) -> Any:
    """A value as NumPy sees it, without a copy where it is an array or a CPU tensor."""
    if is_tensor(value):
        return (value.detach() if value.device.type == "cpu" else value.detach().cpu()).numpy()
    return value.get() if is_cupy(value) else value


def as_value(value: Any) -> Any:
    """A value as DaCe's frontend is to know it.

    An array without dimensions is the number it holds; every other one is contiguous, as programs take them.
    """
    array = as_array(value)
    if not isinstance(array, np.ndarray):
        return array
    if array.ndim == 0:
        return array[()]
    return array if array.flags.c_contiguous else np.empty(array.shape, array.dtype)


def like(result: np.ndarray, original: Any) -> Any:
    """A result in the kind of the argument it belongs to."""
    if is_tensor(original):
        import torch

        return torch.from_numpy(result if result.ndim == 0 else np.ascontiguousarray(result)).to(original.device)
    if is_cupy(original):
        return importlib.import_module("cupy").asarray(result)
    return result if isinstance(original, np.ndarray) else result[()] if result.shape == () else result


def describe(value: Any) -> str:
    array = as_array(value)
    if isinstance(array, np.ndarray):
        return f"{array.dtype} array of shape {array.shape}"
    return type(value).__name__


def check(name: str, value: Any, desc: dt.Data) -> Any:
    """The value as the program wants it, or an error that says what was expected and what was found."""
    array = as_array(value)
    wanted = np.dtype(desc.dtype.type)
    if isinstance(desc, dt.Scalar) or tuple(desc.shape) == (1,) and np.ndim(array) == 0:
        if np.ndim(array) != 0 and np.size(array) != 1:
            raise ArgumentError(f"argument '{name}': expected a {wanted} scalar, found a {describe(value)}")
        return (
            wanted.type(np.asarray(array).reshape(())[()]) if isinstance(desc, dt.Scalar) else np.full(1, array, wanted)
        )
    if not isinstance(array, np.ndarray):
        array = np.asarray(array)
    if array.dtype != wanted or array.ndim != len(desc.shape):
        raise ArgumentError(
            f"argument '{name}': expected a {wanted} array with {len(desc.shape)} dimensions, found a {describe(value)}"
        )
    for found, expected in zip(array.shape, desc.shape, strict=False):
        if not dace.symbolic.issymbolic(expected) and found != int(expected):
            shape = tuple(map(str, desc.shape))
            raise ArgumentError(f"argument '{name}': expected shape ({', '.join(shape)}), found {array.shape}")
    return np.ascontiguousarray(array)


def matching(value: Any, model: Any, what: str) -> np.ndarray:
    """A cotangent or tangent in the dtype of what it belongs to; scalars as arrays of one element.

    :raises ArgumentError: its shape is another one.
    """
    array, wanted = np.asarray(as_array(value)), np.asarray(as_array(model))
    if array.shape != wanted.shape:
        raise ArgumentError(f"{what}: expected shape {wanted.shape}, found {array.shape}")
    return np.ascontiguousarray(array, dtype=wanted.dtype).reshape(wanted.shape or (1,))


def evaluate_shape(desc: dt.Data, symbols: dict[str, int]) -> tuple[int, ...]:
    """A shape with values for its symbols."""
    return tuple(
        int(dace.symbolic.evaluate(s, {dace.symbolic.symbol(k): v for k, v in symbols.items()}))
        if dace.symbolic.issymbolic(s)
        else int(s)
        for s in desc.shape
    )


def solve_symbols(descs: dict[str, dt.Data], values: dict[str, Any]) -> dict[str, int]:
    """The values of shape symbols, from the sizes of given arrays: ``N`` from ``N``, else from ``N + 1``."""
    found: dict[str, int] = {}
    sizes = []
    for name, desc in descs.items():
        value = as_array(values.get(name))
        if isinstance(value, np.ndarray):
            sizes += [(name, k, e, value.shape[k]) for k, e in enumerate(desc.shape[: value.ndim])]
    symbolic = [x for x in sizes if dace.symbolic.issymbolic(x[2])]
    for name, k, extent, size in symbolic:
        symbol = str(extent)
        if symbol.isidentifier() and found.setdefault(symbol, size) != size:
            raise ArgumentError(
                f"argument '{name}': dimension {k} is {size}, but {symbol} is {found[symbol]} elsewhere"
            )
    for _, _, extent, size in symbolic:
        unknown = [s for s in sympy.sympify(extent).free_symbols if s.name not in found]
        if len(unknown) == 1:
            known = {s: found[s.name] for s in sympy.sympify(extent).free_symbols if s.name in found}
            solutions = sympy.solve(sympy.sympify(extent).subs(known) - size, unknown[0])
            if len(solutions) == 1 and solutions[0].is_Integer:
                found[unknown[0].name] = int(solutions[0])
    return found
