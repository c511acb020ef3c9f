"""Objects ``np.poly1d`` with recorded factors, the one of the highest power first.

Zeros in front are left out where the content is known. Else they stay, and are refused when the program runs, where a
result has a factor for each power: its length would be another one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.compound import Compound
from sdgrad.record.functions.arguments import require, static
from sdgrad.record.functions.evaluated import Evaluated
from sdgrad.record.functions.table import OBJECTS, array, content, known, rule
from sdgrad.record.values import Number, is_recorded

LEADING = "the first factor of a poly1d is zero, which NumPy would leave out: only a run knows how many are left"


def _strong(value: Any) -> bool:
    """True of arrays and of numbers of NumPy's, whose operators take a poly1d for the array of its factors."""
    return is_recorded(value) and not (isinstance(value, Number) and value.weak) or hasattr(value, "__array_ufunc__")


def _is_number(value: Any) -> bool:
    return isinstance(value, (Number, np.generic, int, float, complex))


@dataclass(frozen=True, eq=False)
class Poly1d(Evaluated, Compound):
    """Hold all factors, zeros in front among them, and the name of the variable."""

    factors: Any
    variable: str = "x"

    __array_ufunc__ = None

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # what ``isinstance`` asks
        return np.poly1d

    @property
    def parts(self) -> tuple[Any, ...]:
        return (self.factors,)

    def with_parts(self, parts: Iterable[Any]) -> Any:
        (factors,) = parts
        return Poly1d(factors, self.variable)

    def plain(self, parts: Iterable[Any]) -> Any:
        (factors,) = parts
        return np.poly1d(factors, variable=self.variable)

    def rule_of(self, function: Callable) -> Callable:
        if function is np.poly1d:
            return poly1d
        if function is np.roots:
            return lambda p: p.r
        if function not in OF_FACTORS:
            name = getattr(function, "__name__", repr(function))
            raise ParseError(f"{name} of a poly1d is not recorded: use its factors, as in p.c")
        return OF_FACTORS[function]

    # -- factors
    @property
    def c(self) -> Any:
        """Return the factors from the first one on that is not zero."""
        found = content(self.factors)
        if found is not None:
            left = np.trim_zeros(np.asarray(found), "f")
            return known(left if left.size else np.zeros(1, found.dtype))
        if self.factors.shape[0] > 1:
            require(self.factors[0] != 0, LEADING)
        return self.factors

    coef = coeffs = coefficients = c

    @property
    def order(self) -> int:
        return int(self.c.shape[0]) - 1

    o = order

    @property
    def r(self) -> Any:
        return np.roots(self.c)

    roots = r

    def __len__(self) -> int:
        return self.order

    def __iter__(self) -> Iterator[Any]:
        return iter(self.c)

    def __getitem__(self, power: Any) -> Any:
        k = static(power)
        n = self.factors.shape[0]
        return self.factors[n - 1 - k] if 0 <= k < n else self.factors.dtype.type(0)

    def __setitem__(self, power: Any, value: Any) -> None:
        raise ParseError("writing a factor of a poly1d is not recorded: make another one, of an array of factors")

    def __eq__(self, other: object) -> Any:
        raise ParseError("whether two poly1d are equal is not recorded: compare their factors, as in p.c")

    __hash__ = None  # type: ignore[assignment]

    # -- arithmetic
    def __pos__(self) -> Poly1d:
        return self

    def __neg__(self) -> Poly1d:
        return Poly1d(-self.factors)

    def __add__(self, other: Any) -> Any:
        return Poly1d(np.polyadd(self.factors, poly1d(other).factors))

    def __sub__(self, other: Any) -> Any:
        return Poly1d(np.polysub(self.factors, poly1d(other).factors))

    def __mul__(self, other: Any) -> Any:
        return Poly1d(self.factors * other if _is_number(other) else np.polymul(self.factors, poly1d(other).factors))

    def __truediv__(self, other: Any) -> Any:
        return Poly1d(self.factors / other) if _is_number(other) else _divided(self, poly1d(other))

    def __pow__(self, power: Any) -> Any:
        n = static(power)
        if n < 0:
            raise ValueError("Power to non-negative integers only.")
        found = poly1d(known(np.ones(1, int)))
        for _ in range(n):
            found = self * found
        return found

    def __radd__(self, other: Any) -> Any:
        return other + self.c if _strong(other) else poly1d(other) + self

    def __rsub__(self, other: Any) -> Any:
        return other - self.c if _strong(other) else poly1d(other) - self

    def __rmul__(self, other: Any) -> Any:
        return other * self.c if _strong(other) else self * other

    def __rtruediv__(self, other: Any) -> Any:
        if _strong(other):
            return other / self.c
        return Poly1d(other / self.c) if _is_number(other) else _divided(poly1d(other), self)

    def __repr__(self) -> str:
        return f"<recorded poly1d of {self.factors.shape[0]} factors>"


@rule(np.poly1d)
def poly1d(c_or_r: Any, r: bool = False, variable: Any = None) -> Any:
    if type(c_or_r) is Poly1d:
        return c_or_r if variable is None else Poly1d(c_or_r.factors, variable)
    if isinstance(c_or_r, np.poly1d):
        c_or_r = c_or_r.coeffs
    factors = np.atleast_1d(array(np.poly(c_or_r) if r else c_or_r))
    if np.ndim(factors) > 1:
        raise ValueError("Polynomial must be 1d only.")
    factors = factors if np.shape(factors)[0] else known(np.zeros(1, factors.dtype))
    return Poly1d(array(factors), "x" if variable is None else variable)


def _divided(over: Poly1d, by: Poly1d) -> tuple[Poly1d, Poly1d]:
    quotient, rest = np.polydiv(over.c, by.c)
    return poly1d(quotient), poly1d(rest)


def value_at(p: Poly1d, val: Any) -> Any:
    """Return the values at some places, or the polynomial of another one, by Horner's rule."""
    if not isinstance(val, np.poly1d):
        return np.polyval(p.factors, array(val) if isinstance(val, (list, tuple)) else val)
    inner, found = poly1d(val), poly1d(p.factors[:1])
    for k in range(1, p.factors.shape[0]):
        found = found * inner + p.factors[k]
    return found


def derivative(p: Poly1d, m: Any = 1) -> Poly1d:
    return poly1d(np.polyder(p.factors, static(m)))


def integral(p: Poly1d, m: Any = 1, k: Any = 0) -> Poly1d:
    return poly1d(np.polyint(p.factors, static(m), k))


def _of_two(combine: Callable) -> Callable:
    return lambda p, q: combine(poly1d(p), poly1d(q))


Poly1d.table = {"__call__": value_at, "deriv": derivative, "integ": integral}
OF_FACTORS: dict[Any, Callable] = {
    np.polyval: lambda p, x: value_at(poly1d(p), x),
    np.polyder: lambda p, m=1: derivative(poly1d(p), m),
    np.polyint: lambda p, m=1, k=0: integral(poly1d(p), m, 0 if k is None else k),
    np.polyadd: _of_two(operator.add),
    np.polysub: _of_two(operator.sub),
    np.polymul: _of_two(operator.mul),
    np.polydiv: _of_two(_divided),
    np.shape: lambda p: p.c.shape,
    np.asarray: lambda p: p.c,
    np.array: lambda p: p.c,
}
"""Functions of NumPy's that take a poly1d, and what they do with one."""


@rule(np.poly1d.__call__)
def call_known(p: Any, val: Any) -> Any:
    return value_at(poly1d(p), val)


OBJECTS[np.poly1d] = lambda p, take: Poly1d(take("coeffs"), p.variable)
