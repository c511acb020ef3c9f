"""Represent scalars of tensor expressions: code with a type, and the extents and subscripts around it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import dace
import numpy as np
import sympy
from dace import symbolic

from sdgrad.errors import ArgumentError
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import to_ast

Dim: TypeAlias = "int | sympy.Expr"
Index: TypeAlias = "int | sympy.Expr | Element"


class Declined(Exception):
    """Say that a lowering does not cover a case, and which."""


class Unknown(Declined):
    """Say that the content of an operand has to be known beforehand, and is not.

    :param why: why, unless it decides shapes.
    """

    def __init__(self, container: str, what: str, why: str = "") -> None:
        super().__init__(f"{what} is computed by the model")
        self.container, self.what, self.why = container, what, why


def dim(value: Any) -> Dim:
    """Return an extent, as a Python number if it is one."""
    value = sympy.sympify(value)
    return int(value) if value.is_Integer else value


def product(extents: Sequence[Dim]) -> Dim:
    """Return the number of elements of a shape."""
    result: Dim = 1
    for n in extents:
        result = result * n
    return result


def divided(n: Dim, by: Dim) -> Dim:
    """Return ``n // by``."""
    return dim(symbolic.int_floor(sympy.sympify(n), sympy.sympify(by)))


def bounds(dtype: Any) -> tuple[Any, Any]:
    """Return the least and the largest number of a type, infinities included."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        return np.iinfo(dtype).min, np.iinfo(dtype).max
    return (False, True) if dtype.kind == "b" else (-np.inf, np.inf)


def typeclass(dtype: Any) -> dace.typeclass:
    """Return DaCe's name of a type of NumPy's.

    :raises ArgumentError: there is none.
    """
    try:
        return _typeclass(np.dtype(dtype).type)
    except KeyError:
        raise ArgumentError(f"type {np.dtype(dtype)} is not supported: convert to float64") from None


_typeclass = cache(dace.dtypes.dtype_to_typeclass)


@dataclass(frozen=True, eq=False)
class Element:
    """Hold one number of a computation: its code, and its type."""

    code: ast.expr
    dtype: np.dtype

    def _with(self, op: type[ast.operator], other: Any, swapped: bool = False) -> Element:
        other = element(other, self.dtype)
        left, right = (other, self) if swapped else (self, other)
        return Element(code.binary(op, left.code, right.code), np.result_type(left.dtype, right.dtype))

    def _compared(self, op: type[ast.cmpop], other: Any) -> Element:
        expr = ast.Compare(left=self.code, ops=[op()], comparators=[element(other, self.dtype).code])
        return Element(expr, np.dtype(bool))

    def __add__(self, other: Any) -> Element:
        return self._with(ast.Add, other)

    def __radd__(self, other: Any) -> Element:
        return self._with(ast.Add, other, True)

    def __sub__(self, other: Any) -> Element:
        return self._with(ast.Sub, other)

    def __rsub__(self, other: Any) -> Element:
        return self._with(ast.Sub, other, True)

    def __mul__(self, other: Any) -> Element:
        return self._with(ast.Mult, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Element:
        return self._with(ast.Div, other)

    def __rtruediv__(self, other: Any) -> Element:
        return self._with(ast.Div, other, True)

    def __pow__(self, other: Any) -> Element:
        return self._with(ast.Pow, other)

    def __neg__(self) -> Element:
        return Element(ast.UnaryOp(op=ast.USub(), operand=self.code), self.dtype)

    def __lt__(self, other: Any) -> Element:
        return self._compared(ast.Lt, other)

    def __le__(self, other: Any) -> Element:
        return self._compared(ast.LtE, other)

    def __gt__(self, other: Any) -> Element:
        return self._compared(ast.Gt, other)

    def __ge__(self, other: Any) -> Element:
        return self._compared(ast.GtE, other)

    def equals(self, other: Any) -> Element:
        return self._compared(ast.Eq, other)

    def __and__(self, other: Element) -> Element:
        return Element(ast.BoolOp(op=ast.And(), values=[self.code, other.code]), np.dtype(bool))

    def __or__(self, other: Element) -> Element:
        return Element(ast.BoolOp(op=ast.Or(), values=[self.code, other.code]), np.dtype(bool))

    def __invert__(self) -> Element:
        return Element(ast.UnaryOp(op=ast.Not(), operand=self.code), np.dtype(bool))

    def astype(self, dtype: Any) -> Element:
        """Return the number in another type."""
        dtype = np.dtype(dtype)
        if dtype == self.dtype:
            return self
        if dtype == np.bool_:
            return self._compared(ast.NotEq, 0)
        if self.dtype.kind == "c" and dtype.kind != "c":
            return call("real", self, dtype=np.empty(0, self.dtype).real.dtype).astype(dtype)
        return Element(code.call(f"dace.{typeclass(dtype).to_string()}", self.code), dtype)


def element(value: Any, dtype: Any = np.float64) -> Element:
    """Return a number, or a subscript, as code; Python's numbers take the type of their partner."""
    if isinstance(value, Element):
        return value
    if isinstance(value, sympy.Basic) and not value.is_number:
        return Element(to_ast(value), np.dtype(np.int64))
    dtype = np.dtype(dtype)
    if isinstance(value, (bool, np.bool_)):
        return Element(code.constant(bool(value)), np.dtype(bool))
    if dtype.kind in "iub" and value == int(value):  # compared as it is: the largest integers are no doubles
        return Element(code.constant(int(value)), dtype)
    return _number(value, dtype if dtype.kind in "fc" else np.dtype(np.float64))


def _number(value: Any, own: np.dtype) -> Element:
    """Return a real or complex number as code of its type; a small integer takes any real type."""
    is_complex = own.kind == "c" or isinstance(value, (complex, np.complexfloating))
    value = complex(value) if is_complex else float(value)
    if not is_complex and value == int(value if np.isfinite(value) else 1) and abs(value) < 2**20:
        return Element(code.constant(int(value)), own)
    if isinstance(value, complex):
        kind = own if own.kind == "c" else np.dtype(np.complex128)
        parts = ", ".join(map(_text, (value.real, value.imag)))
        return Element(code.parse(f"dace.{typeclass(kind).to_string()}({parts})"), kind)
    text, exact = _text(value), own == np.float64 or not np.isfinite(value)
    return Element(code.parse(text if exact else f"dace.{typeclass(own).to_string()}({text})"), own)


def _text(value: float) -> str:
    """Return a real number as code; what is beyond the largest double is infinite."""
    return "1e309 - 1e309" if np.isnan(value) else repr(float(value)).replace("inf", "1e309")


def call(function: str, *args: Any, dtype: Any = None) -> Element:
    """Call a function of generated code; its result has the type of the first argument unless told."""
    first = next((a for a in args if isinstance(a, Element)), None)
    own = first.dtype if first is not None else np.dtype(np.float64)
    values = [element(a, own) for a in args]
    return Element(code.call(function, *(v.code for v in values)), np.dtype(dtype) if dtype is not None else own)


def where(condition: Element, then: Any, otherwise: Any) -> Element:
    """Return a choice; only the chosen value has a derivative."""
    known = next((v.dtype for v in (then, otherwise) if isinstance(v, Element)), np.dtype(np.float64))
    a, b = element(then, known), element(otherwise, known)
    return Element(code.choose(condition.code, a.code, b.code), np.result_type(a.dtype, b.dtype))


def every(*conditions: Element | None) -> Element | None:
    """Return the conjunction of conditions; None if there is none."""
    given = [c for c in conditions if c is not None]
    if not given:
        return None
    result = given[0]
    for c in given[1:]:
        result = result & c
    return result
