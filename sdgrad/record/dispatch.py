"""Answer NumPy's protocols: which rule a universal function or another function has, and what has none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import sdgrad.record.functions.detached
import sdgrad.record.functions.linalg
import sdgrad.record.functions.parts
import sdgrad.record.functions.python  # noqa: F401  (these three register rules)
from sdgrad.errors import ParseError
from sdgrad.record.elementwise import apply, kind
from sdgrad.record.functions.reductions import product_of, reduced
from sdgrad.record.functions.table import FUNCTIONS, all_known, array, content, operand, own, wrapped
from sdgrad.record.indexing import expanded, view
from sdgrad.record.restart import Restart
from sdgrad.record.stores import accumulate, store
from sdgrad.record.values import DATA, RULES, Array, Number

REDUCED = {np.add: "sum", np.multiply: "prod", np.maximum: "max", np.minimum: "min"}


def ufunc(function: np.ufunc, method: str, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return a universal function, or one of its methods, of recorded values."""
    inputs = tuple(map(own, inputs))
    if method == "reduce":
        return _reduce(function, *inputs, **kwargs)
    if method == "accumulate" and function in (np.add, np.multiply):
        return FUNCTIONS[np.cumsum if function is np.add else np.cumprod](
            inputs[0], *(inputs[1:] or (kwargs.get("axis", 0),))
        )
    if method == "outer":
        a, b = map(array, inputs)
        wide = view(a, [slice(None)] * a.ndim + [None] * b.ndim)
        return ufunc(function, "__call__", (wide, b), {})
    if method == "at":
        target, index, *value = inputs
        return _at(function, target, index, *value)
    if method != "__call__":
        raise ParseError(f"numpy.{function.__name__}.{method} has no rule")
    out = kwargs.get("out")
    (out,) = out if isinstance(out, tuple) else (out,)
    inputs, rest = inputs[: function.nin], inputs[function.nin :]
    out = rest[0] if rest else out
    if function in (np.matmul, np.vecdot):
        found = product_of(*inputs)
    else:
        operands = [operand(x) for x in inputs]
        found = _known(function, operands) if all_known(operands) else apply(function, operands, kwargs.get("dtype"))
    if kwargs.get("where", True) is not True:
        if out is None:
            raise ParseError(f"numpy.{function.__name__}(where=) leaves elements undefined: pass out= as well")
        found = FUNCTIONS[np.where](kwargs["where"], found, out)
    return found if out is None else _into(out, found)


def _known(function: np.ufunc, operands: Sequence[Any]) -> Any:
    return wrapped(function(*content(list(operands))))


def _into(out: Any, found: Any) -> Any:
    """Write a result into an array that exists, and return that."""
    if not isinstance(out, Array):
        raise ParseError("an array that the function did not make is written: pass it as an argument")
    if not np.can_cast(np.dtype(kind(found)), out.dtype, "same_kind"):
        raise TypeError(f"cannot cast a result of type {np.dtype(kind(found))} into an array of type {out.dtype}")
    store(out, Ellipsis, found)
    return out


def _reduce(
    function: np.ufunc, a: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> Any:
    if function not in REDUCED:
        raise ParseError(f"numpy.{function.__name__}.reduce has no rule")
    a = array(a)
    return reduced(a, REDUCED[function], axis, keepdims, np.dtype(dtype) if dtype is not None else a.dtype)


def _at(function: np.ufunc, target: Array, index: Any, value: Any = None) -> None:
    """Do ``np.add.at(target, index, value)``: repeated indices add up."""
    if function not in (np.add, np.subtract):
        raise ParseError(f"numpy.{function.__name__}.at has no rule")
    accumulate(target, expanded(target, index), -value if function is np.subtract else value)


def function(of: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Return another function of NumPy's of recorded values."""
    args, kwargs = tuple(map(own, args)), {k: own(v) for k, v in kwargs.items()}
    if all_known([args, kwargs]):
        return wrapped(of(*content(args), **content(kwargs)))
    rule = FUNCTIONS.get(of)
    if rule is None:
        raise ParseError(f"{of.__module__}.{of.__name__} has no derivative here: no rule is known")
    return rule(*args, **kwargs)


def truth(value: Any) -> bool:
    """Return the truth of a value where Python has to know it."""
    if isinstance(value, Array):
        value = value[(0,) * value.ndim] if value.size == 1 else _ambiguous()
    return bool(_content(value, "the truth value"))


def _ambiguous() -> Any:
    raise ValueError("the truth value of an array with more than one element is ambiguous: use .any() or .all()")


def _content(value: Any, what: str) -> Any:
    """Return the content of a value where Python needs it, or start again so that it is known."""
    if isinstance(value, Array):
        if value.known is not None and value.size == 1:
            return value.known.flat[0]
        if value.storage.outside is not None:
            raise value.recorder.hints.fix(value.storage.origin)
        if value.recorder.freeze():
            raise Restart(value.recorder.hints)
        raise unreadable(value, what)
    if not isinstance(value, Number):
        return value
    if value.outer is not None:
        return _content(value.outer, what)
    if DATA in value.origin or not value.origin:
        if value.recorder.freeze():
            raise Restart(value.recorder.hints)
        raise unreadable(value, what)
    raise value.recorder.hints.fix(value.origin)


def unreadable(value: Any, what: str) -> Exception:
    """Return the error for content that only a run knows."""
    told = "an array" if isinstance(value, Array) else "a number"
    return ParseError(f"{what} of {told} that only a run of the program knows")


def text(value: Any, how: str) -> str:
    """Return what ``print`` shows of a recorded value."""
    if isinstance(value, Number) and how and DATA not in value.origin and value.origin:
        return format(_content(value, "text"), how)
    if isinstance(value, Array) and value.known is not None:
        return format(value.known, how) if not how else str(value.known)
    shape = f"[{', '.join(map(str, value.tensor.shape))}]" if isinstance(value, Array) else ""
    return f"<recorded {value.dtype}{shape}>"


RULES.ufunc, RULES.function, RULES.truth, RULES.text = ufunc, function, truth, text
RULES.content, RULES.unreadable = _content, unreadable
