"""Select elements by a mask that only a run knows: element-wise functions, reductions, and writes under the same mask.

How many there are is not known while a function is recorded. So all elements are computed, and the mask decides which
count: ``np.sum(a[m])`` adds up where ``m`` holds, ``b[m] = 1 / a[m]`` writes where it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.special

from sdgrad.errors import ParseError
from sdgrad.record.elements import bounds
from sdgrad.record.functions.table import FUNCTIONS, active, array, full_name
from sdgrad.record.indexing import view
from sdgrad.record.recorder import ONLY_DATA
from sdgrad.record.settling import settle
from sdgrad.record.values import RULES, Array, Recorded, is_recorded

ADDED = {np.sum, np.prod, np.mean, np.var, np.std, np.any, np.all}
EXTREME = {np.max: "max", np.min: "min", np.amax: "max", np.amin: "min"}
METHODS: dict[str, Callable] = {
    "sum": np.sum, "prod": np.prod, "mean": np.mean, "var": np.var, "std": np.std, "any": np.any, "all": np.all,
    "max": np.max, "min": np.min,
}  # fmt: skip
PRODUCTS = (np.dot, np.vdot, np.inner)
BY_NAME: dict[str, Callable] = {
    "clip": np.clip, "round": np.round, "dot": np.dot, "argmax": np.argmax, "argmin": np.argmin, "ptp": np.ptp,
    "nonzero": np.nonzero,
}  # fmt: skip
CALLED: list[Callable] = []
"""Rules of further functions, by the module above that has them."""


class Selected(Recorded):
    """Elements of an array that a mask selects.

    :param full: all elements.
    :param mask: which of them, along the first axes.
    """

    __slots__ = ("full", "mask", "recorder")

    def __init__(self, full: Array, mask: Array) -> None:
        self.full, self.mask, self.recorder = full, mask, full.recorder

    @property
    def dtype(self) -> np.dtype:
        return self.full.dtype

    @property
    def ndim(self) -> int:
        return self.full.ndim - self.mask.ndim + 1

    @property
    def count(self) -> Any:
        """Return how many elements along the first axis the mask selects."""
        return FUNCTIONS[np.count_nonzero](self.mask)

    def wide_mask(self) -> Any:
        """Return the mask in the shape of all elements."""
        mask = self.mask
        for _ in range(self.full.ndim - mask.ndim):
            mask = view(mask, [slice(None)] * mask.ndim + [None])
        return mask if self.full.ndim == self.mask.ndim else np.broadcast_to(mask, self.full.shape)

    @property
    def shape(self) -> tuple[Any, ...]:
        return (self.count, *self.full.shape[self.mask.ndim :])

    @property
    def size(self) -> Any:
        rest = self.full.shape[self.mask.ndim :]
        return self.count * int(np.prod(rest)) if rest else self.count

    def __len__(self) -> int:
        raise unknown("len()")

    def __getitem__(self, index: Any) -> Any:
        return RULES.part(self, index)

    def __iter__(self) -> Any:
        raise unknown("a loop over them")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"array has no attribute '{name}'")
        if name in METHODS:
            return lambda axis=None, **kwargs: called(METHODS[name], (self,), {"axis": axis, **kwargs})
        if name == "copy":
            return lambda: self
        if name == "astype":
            return lambda dtype: Selected(self.full.astype(dtype), self.mask)
        if name in BY_NAME:
            return lambda *args, **kwargs: called(BY_NAME[name], (self, *args), kwargs)
        if name in ("ravel", "reshape", "flatten") and self.ndim == 1:
            return lambda *shape: self if shape in ((), (-1,)) else unknown_shape()
        if name == "T" and self.ndim == 2 and self.mask.ndim == 1:
            return Turned(self)
        if name in ("real", "imag"):
            return Selected(getattr(self.full, name), self.mask)
        raise unknown("an index" if name in Array.__slots__ else f"'.{name}'")


class Places(Selected):
    """Indices along an axis of where a mask holds."""

    __slots__ = ("axis",)

    def __init__(self, full: Array, mask: Array, axis: int) -> None:
        super().__init__(full, mask)
        self.axis = axis


class Turned(Recorded):
    """Selected rows, transposed: a factor of a product."""

    __slots__ = ("recorder", "selected")
    ndim = 2

    def __init__(self, selected: Selected) -> None:
        self.selected, self.recorder = selected, selected.recorder

    @property
    def T(self) -> Selected:
        return self.selected


def masks(parts: list[Any]) -> list[Any]:
    """Return the parts of an index with a mask in place of the indices of where it holds."""
    if any(isinstance(p, Selected) and not isinstance(p, Places) for p in parts):
        raise unknown("an index")
    if not any(isinstance(p, Places) for p in parts):
        return parts
    first = next(k for k, p in enumerate(parts) if isinstance(p, Places))
    mask = parts[first].mask
    group = parts[first : first + mask.ndim]
    if [getattr(p, "axis", None) if isinstance(p, Places) and same_mask(p.mask, mask) else None for p in group] != list(
        range(mask.ndim)
    ):
        raise unknown("some of the indices")
    return [*parts[:first], mask, *parts[first + mask.ndim :]]


def at_selected(a: Any, index: Any) -> Selected | None:
    """Return the elements at positions that are selected, computed with: the same mask selects these; None for others.

    Positions that the mask leaves out may lie anywhere, and are zero.
    """
    parts = list(index) if isinstance(index, tuple) else [index]
    if not parts or not isinstance(parts[0], Selected) or all(isinstance(p, Places) for p in parts if is_recorded(p)):
        return None
    chosen = [p for p in parts if isinstance(p, Selected)]
    if any(p.dtype.kind not in "iu" for p in chosen) or any(isinstance(p, (Array, np.ndarray, list)) for p in parts):
        raise unknown("an index with")
    _, mask = together(chosen)
    return Selected(RULES.item(a, tuple(filled(p, 0) if isinstance(p, Selected) else p for p in parts)), mask)


def filled(a: Selected, value: Any) -> Any:
    """Return all elements, with a number for those that the mask leaves out."""
    return np.where(a.wide_mask(), a.full, np.asarray(value, a.dtype)[()])


def unknown_shape() -> Any:
    raise unknown("a shape")


def unknown(what: str) -> ParseError:
    """Return the error for what needs the number of selected elements; start again if masks can be known instead."""
    settle(active(), ONLY_DATA)
    return ParseError(
        f"{what} of the elements that a mask selects: how many there are is known when the program runs. Element-wise "
        "functions, sums and other reductions of them, and writes under the same mask are recorded; else write "
        "np.where(mask, a, 0)"
    )


def select(full: Array, mask: Array) -> Selected:
    """Return the elements of an array that a mask of its first axes selects, as they are now."""
    if full.tensor.shape[: mask.ndim] != mask.tensor.shape:
        raise IndexError(f"a mask of shape {mask.shape} for an array of shape {full.shape}")
    return Selected(full.copy(), mask)


def applied(ufunc: np.ufunc, method: str, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return a universal function of selected elements."""
    if method == "reduce" and ufunc in (np.add, np.multiply, np.maximum, np.minimum):
        of = {np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min}[ufunc]
        return reduced(of, *inputs, **kwargs)
    if method != "__call__" or kwargs or ufunc in (np.matmul, np.vecdot):
        if ufunc is np.matmul and len(inputs) == 2:
            return multiplied(*inputs)
        if ufunc is np.logaddexp and method == "reduce" and len(inputs) == 1 and not kwargs:
            return called(scipy.special.logsumexp, tuple(inputs), {})
        raise unknown(full_name(ufunc))
    full, mask = together(inputs)
    found = RULES.ufunc(ufunc, method, full, kwargs)
    return tuple(Selected(f, mask) for f in found) if isinstance(found, tuple) else Selected(found, mask)


def together(inputs: Sequence[Any]) -> tuple[list[Any], Array]:
    """Return operands with all their elements, and the mask that selects from each."""
    chosen = [x for x in inputs if isinstance(x, Selected)]
    mask = chosen[0].mask
    if not all(same_mask(x.mask, mask) for x in chosen):
        raise ParseError(
            "elements that different masks select are combined: compute the mask once, m = .., and use it for both"
        )
    for x in inputs:
        if not isinstance(x, Selected) and np.ndim(x) if not is_recorded(x) else 0:
            raise unknown("an array of another length with")
        if isinstance(x, Array) and x.ndim > chosen[0].ndim - 1:
            raise unknown("an array of another length with")
    return [x.full if isinstance(x, Selected) else x for x in inputs], mask


def same_mask(a: Array, b: Array) -> bool:
    """True if two masks are one, or computed in the same way from the same."""
    if a is b or a.storage is b.storage and a.tensor is b.tensor:
        return True
    one, other = a.storage.recipe, b.storage.recipe
    return one is not None and one == other


def reduced(of: Any, a: Any, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Return a reduction of selected elements."""
    if not isinstance(a, Selected) or args or not (axis is None or axis == 0 and a.mask.ndim == 1):
        raise unknown(f"{full_name(of)} along an axis")
    if of in EXTREME:
        least, largest = bounds(a.dtype)
        kwargs["initial"] = least if EXTREME[of] == "max" else largest
    elif of not in ADDED:
        raise unknown(full_name(of))
    return FUNCTIONS[of](a.full, axis=axis, where=a.wide_mask(), **kwargs)


def multiplied(a: Any, b: Any) -> Any:
    """Return a product of matrices, some of which are selected rows."""
    if isinstance(a, Selected) and isinstance(b, Selected) and a.ndim == b.ndim == 1:
        return product(a, b)
    if isinstance(a, Turned) or isinstance(a, Selected) and isinstance(b, Selected):
        rows = a.selected if isinstance(a, Turned) else a
        if not isinstance(b, Selected) or (isinstance(a, Selected) and a.ndim != 1) or rows.mask.ndim != 1:
            raise unknown("numpy.matmul")
        together([rows, b])
        left = filled(rows, 0)
        return (left.T if left.ndim == 2 else left) @ filled(b, 0)
    if isinstance(a, Selected) and a.mask.ndim == 1 and a.ndim > 1 and not isinstance(b, Turned):
        return Selected(filled(a, 0) @ b, a.mask)
    raise unknown("numpy.matmul")


def product(a: Any, b: Any) -> Any:
    """Return the inner product of selected elements."""
    (left, right), mask = together([a, b])
    return reduced(np.sum, Selected(left * right, mask))


def called(function: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Return another function of selected elements."""
    for more in CALLED:
        if (found := more(function, args, kwargs)) is not NotImplemented:
            return found
    if function in ADDED or function in EXTREME:
        return reduced(function, *args, **kwargs)
    if function in PRODUCTS and len(args) == 2:
        return multiplied(*args) if function is np.dot else product(*args)
    if function is np.size:
        return args[0].size
    if function is np.linalg.norm and len(args) == 1:
        return np.sqrt(reduced(np.sum, applied(np.multiply, "__call__", (args[0], args[0]), {})))
    if function is np.count_nonzero:
        return reduced(np.sum, applied(np.not_equal, "__call__", (args[0], 0), {}))
    raise unknown(full_name(function))


def under_the_mask(value: Any, mask: Array) -> Any:
    """Return what is written where a mask holds, for all elements.

    :raises ParseError: another mask selects them.
    """
    if not isinstance(value, Selected):
        return value
    if not same_mask(value.mask, mask):
        raise ParseError(
            "elements that one mask selects are written where another one holds: compute the mask once, m = .., and "
            "use it for both"
        )
    return array(value.full)


RULES.select, RULES.under_the_mask, RULES.masks, RULES.at_selected = select, under_the_mask, masks, at_selected
