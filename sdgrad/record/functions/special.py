"""Apply element-wise functions besides NumPy's universal ones: rounding, angles, comparisons, those of SciPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.elementwise import apply, common, compute, is_weak, kind
from sdgrad.record.functions.arguments import static
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.reductions import all_
from sdgrad.record.functions.table import array, into, operand, rule
from sdgrad.record.values import Array, is_recorded

BOOLEAN, WHOLE, REAL = np.dtype(bool), np.dtype(np.int64), np.dtype(float)


def type_of(value: Any) -> np.dtype:
    """Return the type of an operand; Python's numbers have those of NumPy that hold them."""
    return np.dtype(kind(value))


def inexact(*values: Any) -> np.dtype:
    """Return the type in which a function computes that has no integer results."""
    dtype = common(values)
    return dtype if dtype.kind in "fc" else np.dtype(float)


# -- rounding
@rule(np.round, np.around, method="round")
def round_(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    x, digits = operand(a), static(decimals)
    dtype = type_of(x)
    if dtype.kind == "c":
        raise ParseError("numpy.round of complex numbers is not recorded: round their real and imaginary parts")
    if dtype.kind in "iub" and digits >= 0:
        return apply(np.positive, [x]) if dtype.kind != "b" else x
    scale = repr(10.0 ** abs(digits))
    text = f"rint({{0}} * {scale}) / {scale}" if digits > 0 else f"rint({{0}} / {scale}) * {scale}"
    inner = dtype if dtype.kind == "f" else np.dtype(float)
    found = compute(text if digits else "rint({0})", [x], [inner], inner)
    return found if inner == dtype else astype(found, dtype)


@rule(np.fix)
def fix(x: Any, out: Any = None) -> Any:
    return apply(np.trunc, [operand(x)])


# -- values that have no place among the numbers
@rule(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    value = operand(x)
    dtype = type_of(value)
    if dtype.kind == "c":
        raise ParseError("numpy.nan_to_num of complex numbers is not recorded: use their real and imaginary parts")
    if dtype.kind != "f":
        return apply(np.positive, [value]) if dtype.kind != "b" else value
    high, low = (n if n is not None else v for n, v in ((posinf, np.finfo(dtype).max), (neginf, np.finfo(dtype).min)))
    text = "{1} if isnan({0}) else (({2} if {0} > 0 else {3}) if isinf({0}) else {0})"
    found = compute(text, [value, *map(operand, (nan, high, low))], [dtype] * 4, dtype)
    return found if copy or not isinstance(x, Array) else into(x, found)


@rule(np.isposinf)
def isposinf(x: Any, out: Any = None) -> Any:
    return apply(np.equal, [operand(x), np.inf])


@rule(np.isneginf)
def isneginf(x: Any, out: Any = None) -> Any:
    return apply(np.equal, [operand(x), -np.inf])


@rule(np.signbit)
def signbit(x: Any, /) -> Any:
    dtype = type_of(operand(x))
    return compute("copysign(1.0, {0}) < 0" if dtype.kind == "f" else "{0} < 0", [operand(x)], [dtype], BOOLEAN)


# -- complex numbers
@rule(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    x = operand(z)
    dtype = inexact(x)
    own = np.empty(0, dtype).real.dtype
    text = "3.141592653589793 if copysign(1.0, {0}) < 0 else 0"
    text = "atan2(imag({0}), real({0}))" if dtype.kind == "c" else f"{{0}} if isnan({{0}}) else ({text})"
    found = compute(text, [x], [dtype], own)
    return apply(np.degrees, [found]) if deg else found


@rule(np.isreal)
def isreal(x: Any) -> Any:
    return apply(np.equal, [np.imag(operand(x)), 0])


@rule(np.iscomplex)
def iscomplex(x: Any) -> Any:
    return apply(np.not_equal, [np.imag(operand(x)), 0])


@rule(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    return type_of(operand(x)).kind == "c"


@rule(np.isrealobj)
def isrealobj(x: Any) -> bool:
    return not iscomplexobj(x)


@rule(np.real_if_close)
def real_if_close(a: Any, tol: Any = 100) -> Any:
    if iscomplexobj(a):
        raise ParseError("numpy.real_if_close: only a run knows whether the imaginary parts are small; use np.real")
    return array(a)


@rule(np.isscalar)
def isscalar(element: Any) -> bool:
    return not isinstance(element, (Array, list, tuple, np.ndarray))


@rule(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    return np.result_type(*(common([x]) if is_recorded(x) else x for x in arrays_and_dtypes))


# -- comparisons
@rule(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    x, y = operand(a), operand(b)
    dtype = inexact(x, y)
    text = "({0} == {1}) or (isfinite({1}) and abs({0} - {1}) <= {3} + {2} * abs({1}))"
    text = f"({text}) or (isnan({{0}}) and isnan({{1}}))" if equal_nan else text
    own = np.empty(0, dtype).real.dtype
    return compute(text, [x, y, operand(rtol), operand(atol)], [dtype, dtype, own, own], BOOLEAN)


@rule(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    return all_(isclose(a, b, rtol, atol, equal_nan))


@rule(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    x, y = array(a1), array(a2)
    if x.shape != y.shape:
        return False
    same = apply(np.equal, [x, y])
    both = [apply(np.isnan, [v]) for v in (x, y)] if equal_nan else []
    return all_(apply(np.logical_or, [same, apply(np.logical_and, both)]) if both else same)


@rule(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> Any:
    x, y = array(a1), array(a2)
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return all_(apply(np.equal, [x, y]))


def _sinc_series() -> str:
    """Return the terms of the cardinal sine below 1e-16 times the first one, for arguments to 0.15."""
    text = ""
    for k in reversed(range(9)):
        term = repr((-(math.pi**2)) ** k / math.factorial(2 * k + 1))
        text = f"({term} + {{0}} * {{0}} * {text})" if text else term
    return text


SINC = f"{_sinc_series()} if abs({{0}}) < 0.15 else sin({math.pi!r} * {{0}}) / ({math.pi!r} * {{0}})"
"""The quotient has no derivatives at 0, and inexact ones near it."""


@rule(np.sinc)
def sinc(x: Any) -> Any:
    return compute(SINC, [operand(x)], [inexact(operand(x))], inexact(operand(x)))


# -- sums of exponentials: nothing is exponentiated that could overflow, in what is not chosen either
def _log_sum(function: np.ufunc, exponential: str, scale: float) -> None:
    apart = f"max({{0}}, {{1}}) + log1p({exponential}(-abs({{0}} - {{1}}))) * {scale!r}"
    # at a tie: the terms of log(2 cosh(d / 2)), which have its derivatives up to the seventh
    d = f"(({{0}} - {{1}}) * {1 / scale!r})"
    tie = f"{math.log(2)!r} + {d} ** 2 / 8 - {d} ** 4 / 192 + {d} ** 6 / 2880"
    middle = "0.5 * {0} + 0.5 * {1}"
    text = f"({middle} + ({tie}) * {scale!r} if isfinite({{0}}) else {middle}) if {{0}} == {{1}} else {apart}"

    def log_sum(x1: Any, x2: Any, /, *, dtype: Any = None) -> Any:
        given = [operand(x1), operand(x2)]
        own = np.dtype(dtype) if dtype is not None else inexact(*given)
        return compute(text, given, [own, own], own, is_weak(*given))

    rule(function)(log_sum)


_log_sum(np.logaddexp, "exp", 1.0)
_log_sum(np.logaddexp2, "exp2", 1 / math.log(2))
