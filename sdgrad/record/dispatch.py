"""Answer NumPy's protocols: which rule a universal function or another function has, and what has none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import sdgrad.record.functions.airy_and_hankel
import sdgrad.record.functions.banded_cholesky
import sdgrad.record.functions.complex_numbers
import sdgrad.record.functions.cosine_transforms
import sdgrad.record.functions.decompositions
import sdgrad.record.functions.detached
import sdgrad.record.functions.determinants
import sdgrad.record.functions.eigenvalues
import sdgrad.record.functions.factors
import sdgrad.record.functions.fourier
import sdgrad.record.functions.histograms
import sdgrad.record.functions.least_squares
import sdgrad.record.functions.matrices
import sdgrad.record.functions.matrix_equations
import sdgrad.record.functions.matrix_functions
import sdgrad.record.functions.orthogonal_factors
import sdgrad.record.functions.orthogonal_functions
import sdgrad.record.functions.places
import sdgrad.record.functions.polar
import sdgrad.record.functions.polynomial_arithmetic
import sdgrad.record.functions.polynomial_grids
import sdgrad.record.functions.polynomial_objects
import sdgrad.record.functions.polynomial_series
import sdgrad.record.functions.polynomials
import sdgrad.record.functions.python
import sdgrad.record.functions.quantiles
import sdgrad.record.functions.scipy_special
import sdgrad.record.functions.series_objects
import sdgrad.record.functions.sets
import sdgrad.record.functions.singular_values
import sdgrad.record.functions.sorting
import sdgrad.record.functions.special
import sdgrad.record.functions.statistics
import sdgrad.record.functions.structured
import sdgrad.record.functions.systems
import sdgrad.record.functions.windows
import sdgrad.record.long_integers
import sdgrad.record.selected_functions
import sdgrad.record.sparse.constructors
import sdgrad.record.sparse.eigenvalues  # noqa: F401  (these register rules, as do those that they import)
from sdgrad.errors import ParseError, UnknownContent
from sdgrad.record.compound import Compound
from sdgrad.record.elementwise import apply
from sdgrad.record.functions import ufunc_methods
from sdgrad.record.functions.evaluated import Evaluated
from sdgrad.record.functions.table import (
    ALIASING,
    FUNCTIONS,
    MAKERS,
    all_known,
    content,
    full_name,
    into,
    operand,
    own,
    wrapped,
)
from sdgrad.record.recorder import ONLY_DATA
from sdgrad.record.selected import Selected, Turned, applied, called, unknown
from sdgrad.record.settling import settle
from sdgrad.record.sparse.matrix import OPERATIONS
from sdgrad.record.sparse.taking import rule_of_compound
from sdgrad.record.texts import BEGIN, Shown, Told
from sdgrad.record.values import RULES, Array, Number, Recorded, can_be_fixed, declines

METHODS: dict[str, Callable] = {
    "reduce": ufunc_methods.reduce,
    "accumulate": ufunc_methods.accumulate_along,
    "reduceat": ufunc_methods.reduceat,
    "outer": ufunc_methods.outer,
}
WITHOUT_EFFECT = {"order", "subok", "casting"}


def ufunc(function: np.ufunc, method: str, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return a universal function, or one of its methods, of recorded values."""
    inputs = tuple(map(own, inputs))
    if any(map(declines, inputs)):
        raise TypeError(f"{full_name(function)}: a polynomial does not support ufuncs; use its coefficients")
    if any(isinstance(x, Compound) for x in inputs):
        return OPERATIONS.ufunc(function, method, inputs, kwargs)
    if any(isinstance(x, (Selected, Turned)) for x in inputs):
        return applied(function, method, inputs, kwargs)
    if method == "at":
        return ufunc_methods.at(function, *inputs)
    kwargs = {k: v for k, v in kwargs.items() if k not in WITHOUT_EFFECT}
    out, where = kwargs.pop("out", None), kwargs.pop("where", True)
    out = out if isinstance(out, tuple) else (out,)
    if method == "__call__":
        inputs, rest = inputs[: function.nin], inputs[function.nin :]
        found = _called(function, inputs, **kwargs)
        return _put(function, found, rest or out, where)
    if where is not True:
        kwargs["where"] = where
    found = METHODS[method](function, *inputs, **kwargs)
    return found if out[0] is None else into(out, found)


def _called(function: np.ufunc, inputs: Sequence[Any], dtype: Any = None, **kwargs: Any) -> Any:
    """Return a universal function of recorded values, by its rule or its template."""
    if function in FUNCTIONS:
        return FUNCTIONS[function](*inputs, **({} if dtype is None else {"dtype": dtype}), **kwargs)
    if kwargs:
        raise ParseError(f"{full_name(function)}({min(kwargs)}=) is not recorded")
    operands = [operand(x) for x in inputs]
    return _known(function, operands) if all_known(operands) else apply(function, operands, dtype)


def _put(function: np.ufunc, found: Any, out: Any, where: Any) -> Any:
    """Write what a universal function gives to where it is wanted."""
    if all(o is None for o in out):
        if where is True:
            return found
        raise ParseError(f"{full_name(function)}(where=) leaves elements undefined: pass out= as well")
    results = found if function.nout > 1 else (found,)
    chosen = [r if where is True else FUNCTIONS[np.where](where, r, o) for r, o in zip(results, out, strict=True)]
    written = tuple(r if o is None else into(o, r) for r, o in zip(chosen, out, strict=True))
    return written if function.nout > 1 else written[0]


def _known(function: np.ufunc, operands: Sequence[Any]) -> Any:
    return wrapped(function(*content(list(operands))))


def _holds_ours(value: Any) -> bool:
    """True if an object that the recording made, in place of a library's, is in a nest: only rules know it."""
    if isinstance(value, (list, tuple, dict)):
        return any(map(_holds_ours, value.values() if isinstance(value, dict) else value))
    return isinstance(value, Evaluated) and not isinstance(value, Compound)


def function(of: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Return another function of NumPy's of recorded values."""
    args, kwargs = tuple(map(own, args)), {k: own(v) for k, v in kwargs.items()}
    if any(isinstance(x, Selected) for x in (*args, *kwargs.values())):
        return called(of, args, kwargs)
    if any(isinstance(p, Selected) for x in args if isinstance(x, (list, tuple)) for p in x):
        raise unknown(full_name(of))
    rule = FUNCTIONS.get(of)
    if all_known([args, kwargs]) and of not in ALIASING and "out" not in kwargs and not _holds_ours([*args, kwargs]):
        return wrapped(of(*content(args), **content(kwargs)))
    if (own_rule := rule_of_compound(of, args, kwargs)) is not None:
        return own_rule(*args, **kwargs)
    if rule is None:
        raise ParseError(f"{full_name(of)} has no derivative here: no rule is known")
    try:
        found = rule(*args, **kwargs)
    except UnknownContent as error:
        if any(map(_has_open_length, args)):
            raise ParseError(
                f"{full_name(of)} of an array whose length only a run of the program knows: compute with the whole "
                "array, and with zeros for the rest, as in np.where(np.arange(len(x)) < n, x, 0)"
            ) from error
        raise
    return wrapped(found) if of in MAKERS else found


def _has_open_length(value: Any) -> bool:
    """True of an array of which data decide how many elements it has."""
    return isinstance(value, Array) and any(map(value.recorder.ranges.may_be_short, value.tensor.shape))


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
            return value.read_known().flat[0]
        if value.storage.outside is not None:
            raise value.recorder.hints.fix(value.storage.origin)
        raise unreadable(value, what)
    if not isinstance(value, Number):
        if isinstance(value, Recorded):
            raise unreadable(value, what)
        return value
    if not can_be_fixed(value.origin):
        raise unreadable(value, what)
    raise value.recorder.hints.fix(value.origin)


INSTEAD = {
    "an index of Python's": "lists, comprehensions, sizes of arrays and Python's functions need its value. In a 'for' "
    "loop, fill an array that is large enough, or add up",
    "a key": "dicts and sets need its value. Use an array, and the number as its index",
    "the truth value": "what cannot be an 'if' with both arms recorded needs its value: the 'if' of a comprehension, "
    "a list that grows, whether a generator yields. Use np.where, or multiply by the condition; write the loop of a "
    "generator where its values are used",
    "an array of NumPy's own": "functions without a rule, and libraries in C, need it. See sdgrad.pure_callback",
}
"""What to write where Python needs a value."""


def unreadable(value: Any, what: str) -> Exception:
    """Return the error for content that only a run knows; start again instead where it can be known."""
    told = "a number" if isinstance(value, Number) else "an array" if isinstance(value, Array) else "selected elements"
    settle(value.recorder, value.storage.origin if isinstance(value, Array) else getattr(value, "origin", ONLY_DATA))
    more = f": {INSTEAD[what]}" if what in INSTEAD else ""
    return UnknownContent(f"{what} of {told} that only a run of the program knows{more}")


def text(value: Any, how: str) -> str:
    """Return the text of a recorded value, by which Python may decide what it does."""
    if isinstance(value, Number) and can_be_fixed(value.origin):
        return format(_content(value, "text"), how)
    if isinstance(value, Array) and value.known is not None and how:
        return format(value.read_known(), how)
    return in_short(value)


def in_short(value: Any) -> str:
    """Return what is shown of a recorded value."""
    if isinstance(value, Array) and value.known is not None:
        return Shown(value.known)
    shape = f"[{', '.join(map(str, value.tensor.shape))}]" if isinstance(value, Array) else ""
    return Told(f"{BEGIN}{value.dtype}{shape}>")


RULES.ufunc, RULES.function, RULES.truth, RULES.text, RULES.shown = ufunc, function, truth, text, in_short
RULES.content, RULES.unreadable = _content, unreadable
Compound.answer = staticmethod(function)
