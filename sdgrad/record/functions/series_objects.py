"""Objects of ``numpy.polynomial``: series with recorded coefficients, domains and windows, the lowest degree first."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.polynomial as series
import numpy.polynomial.polynomial as powers
from numpy.polynomial._polybase import ABCPolyBase

from sdgrad.errors import ParseError
from sdgrad.record.compound import Compound
from sdgrad.record.functions.arguments import require, static
from sdgrad.record.functions.evaluated import Evaluated
from sdgrad.record.functions.polynomial_arithmetic import divided, of_roots, roots_of
from sdgrad.record.functions.polynomial_series import as_before, inexact, vander_of, without_zeros
from sdgrad.record.functions.polynomials import least_squares
from sdgrad.record.functions.series_maps import FAMILIES_OF, areas, columns_of, product, slopes, times
from sdgrad.record.functions.table import FUNCTIONS, OBJECTS, array, content, fixed, known, operand, rule
from sdgrad.record.values import Number, is_recorded

VALUES: dict[Any, Callable] = {
    series.Polynomial: powers.polyval,
    series.Chebyshev: series.chebyshev.chebval,
    series.Legendre: series.legendre.legval,
    series.Hermite: series.hermite.hermval,
    series.HermiteE: series.hermite_e.hermeval,
    series.Laguerre: series.laguerre.lagval,
}
LAST = "the last coefficient of a series is zero, which NumPy would leave out: only a run knows how many are left"


@dataclass(frozen=True, eq=False)
class Series(Evaluated, Compound):
    """Hold the class, all coefficients, and whether NumPy would have left out zeros at their end."""

    kind: Any
    factors: Any
    domain: Any
    window: Any
    symbol: str = "x"
    shortened: bool = False

    __array_ufunc__ = None

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # what ``isinstance`` asks
        return self.kind

    @property
    def parts(self) -> tuple[Any, ...]:
        return (self.factors, self.domain, self.window)

    def with_parts(self, parts: Iterable[Any]) -> Any:
        factors, domain, window = parts
        return Series(self.kind, factors, domain, window, self.symbol, self.shortened)

    def plain(self, parts: Iterable[Any]) -> Any:
        factors, domain, window = parts
        return self.kind(without_zeros(factors) if self.shortened else factors, domain, window, self.symbol)

    def rule_of(self, function: Callable) -> Callable:
        name = getattr(function, "__name__", repr(function))
        raise ParseError(f"{name} of a {self.kind.__name__} is not recorded: use its coefficients, as in p.coef")

    def of(self, factors: Any, shortened: bool = True) -> Series:
        """Return a series of the same kind with other coefficients."""
        return Series(self.kind, array(factors), self.domain, self.window, self.symbol, shortened)

    # -- coefficients
    @property
    def coef(self) -> Any:
        """Return the coefficients, without zeros at the end where NumPy leaves these out."""
        found = content(self.factors)
        if not self.shortened or self.factors.shape[0] < 2:
            return self.factors
        if found is not None:
            return known(without_zeros(found))
        require(self.factors[-1] != 0, LAST)
        return self.factors

    def __len__(self) -> int:
        return int(self.coef.shape[0])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.coef)

    def __eq__(self, other: object) -> Any:
        raise ParseError("whether two series are equal is not recorded: compare their coefficients, as in p.coef")

    __hash__ = None  # type: ignore[assignment]

    def partner(self, other: Any) -> Any:
        """Return the coefficients of what an operator has besides."""
        if not isinstance(other, ABCPolyBase):
            return inexact(other)
        own = as_series(other)
        if own.kind is not self.kind:
            raise TypeError("Polynomial types differ")
        for a, b, told in ((self.domain, own.domain, "Domains"), (self.window, own.window, "Windows")):
            if a is not b:
                _same(a, b, f"{told} differ")
        if own.symbol != self.symbol:
            raise ValueError("Polynomial symbols differ")
        return own.factors

    # -- arithmetic
    def __pos__(self) -> Series:
        return self

    def __neg__(self) -> Series:
        return self.of(-self.factors, self.shortened)

    def __add__(self, other: Any) -> Series:
        return self.of(_summed(self.factors, self.partner(other), 1))

    def __sub__(self, other: Any) -> Series:
        return self.of(_summed(self.factors, self.partner(other), -1))

    def __mul__(self, other: Any) -> Series:
        return self.of(product(FAMILIES_OF[self.kind], self.factors, self.partner(other)))

    def __radd__(self, other: Any) -> Series:
        return self.of(_summed(inexact(other), self.factors, 1))

    def __rsub__(self, other: Any) -> Series:
        return self.of(_summed(inexact(other), self.factors, -1))

    def __rmul__(self, other: Any) -> Series:
        return self.of(product(FAMILIES_OF[self.kind], inexact(other), self.factors))

    def __pow__(self, power: Any) -> Series:
        n = static(power)
        if n < 0:
            raise ValueError("Power must be a non-negative integer.")
        if n > self.kind.maxpower:
            raise ValueError("Power is too large")
        found = known(np.ones(1, self.factors.dtype)) if n == 0 else self.factors
        for _ in range(n - 1):
            found = product(FAMILIES_OF[self.kind], found, self.factors)
        return self.of(found)

    def __truediv__(self, other: Any) -> Series:
        if not isinstance(other, (Number, np.number, int, float, complex)) or isinstance(other, bool):
            raise TypeError(f"unsupported types for true division: '{self.kind}', '{type(other)}'")
        return self.of(self.factors / inexact(other)[0])

    def __divmod__(self, other: Any) -> tuple[Series, Series]:
        over, by = self.coef, (as_series(other).coef if isinstance(other, ABCPolyBase) else inexact(other))
        self.partner(other)
        quotient, rest = divided(FAMILIES_OF[self.kind], over, by)
        return self.of(quotient), self.of(rest)

    def __floordiv__(self, other: Any) -> Series:
        return divmod(self, other)[0]

    def __mod__(self, other: Any) -> Series:
        return divmod(self, other)[1]

    def __repr__(self) -> str:
        return f"<recorded {self.kind.__name__} of {self.factors.shape[0]} coefficients>"


def _same(a: Any, b: Any, told: str) -> None:
    """Require that two pairs of ends are equal: now, or when the program runs."""
    first, second = content(a), content(b)
    if first is None or second is None:
        require(np.all(a == b), told)
    elif not np.array_equal(first, second):
        raise TypeError(told)


def _summed(a: Any, b: Any, sign: int) -> Any:
    size = max(np.shape(a)[0], np.shape(b)[0])
    first, second = (np.pad(c, (0, size - np.shape(c)[0])) for c in (a, b))
    return first + second if sign > 0 else first - second


# -- methods
def mapparms(p: Series) -> tuple[Any, Any]:
    """Return the start and the factor of the line from the domain to the window."""
    length, wanted = p.domain[1] - p.domain[0], p.window[1] - p.window[0]
    return (p.domain[1] * p.window[0] - p.domain[0] * p.window[1]) / length, wanted / length


def _mapped(p: Series, x: Any) -> Any:
    place: Any = array(x) if isinstance(x, (list, tuple)) else operand(x)
    start, factor = mapparms(p)
    is_double = np.dtype(getattr(place, "dtype", type(place))) in (np.float64, np.complex128)
    if is_double and not is_recorded(start) and not is_recorded(factor) and start == 0 and factor == 1:
        return place
    return start + factor * place  # in double precision, as NumPy


def value_at(p: Series, arg: Any) -> Any:
    if isinstance(arg, ABCPolyBase) and p.kind is series.Polynomial:
        return _composed(p, as_series(arg))
    if isinstance(arg, (ABCPolyBase, np.poly1d)):
        raise ParseError(f"a {p.kind.__name__} of a polynomial is not recorded: convert both to Polynomial")
    return FUNCTIONS[VALUES[p.kind]](_mapped(p, arg), p.factors)


def _composed(p: Series, arg: Series) -> Series:
    """Return the polynomial of a series, which is of that one's kind."""
    start, factor = mapparms(p)
    inner, factors = start + factor * arg, p.factors
    found: Any = arg.of(factors[-1:])
    for k in range(np.shape(factors)[0] - 2, -1, -1):
        found = factors[k] + found * inner
    return found


def derivative(p: Series, m: Any = 1) -> Series:
    order, factor, found = static(m), mapparms(p)[1], p.factors
    if order < 0:
        raise ValueError("The order of derivation must be non-negative")
    if p.kind is series.Polynomial:
        found, order = FUNCTIONS[powers.polyder](found, order, factor), 0
    for _ in range(order):
        n = np.shape(found)[0]
        found = found * 0 if n == 1 else times(slopes(FAMILIES_OF[p.kind], n), found * factor)
    return p.of(as_before(found, p.factors.dtype), p.shortened)


def integral(p: Series, m: Any = 1, k: Any = (), lbnd: Any = None) -> Series:
    """Integrate such that the value at ``lbnd`` is the constant of each time."""
    start, factor = mapparms(p)
    order, found, value = static(m), p.factors, FUNCTIONS[VALUES[p.kind]]
    constants = list(k) if isinstance(k, (list, tuple)) or np.ndim(k) else [k]
    if order < 0:
        raise ValueError("The order of integration must be non-negative")
    if len(constants) > order:
        raise ValueError("Too many integration constants")
    at = 0.0 if lbnd is None else start + factor * lbnd
    for j in range(order):
        whole = times(areas(FAMILIES_OF[p.kind], np.shape(found)[0]), found / factor)
        first = (constants[j] if j < len(constants) else 0) - value(at, whole)
        found = np.concatenate([(whole[0] + first)[None], whole[1:]])
    return p.of(as_before(found, p.factors.dtype), p.shortened)


def convert(p: Series, domain: Any = None, kind: Any = None, window: Any = None) -> Series:
    """Return the same function as a series of another kind, or with another domain."""
    own = p.kind if kind is None else kind
    ends = [own.domain if domain is None else domain, own.window if window is None else window]
    given = [fixed(array(e)) for e in (p.domain, p.window, *ends)]
    if any(g is None for g in given):
        raise ParseError("converting series with a domain or window that only a run knows is not recorded")
    n = p.factors.shape[0]
    moved = columns_of(p.kind.basis(k, *given[:2]).convert(given[2], own, given[3]).coef for k in range(n))
    return Series(own, array(known(moved) @ p.factors), given[2], given[3], p.symbol, True)


def linspace(p: Series, n: Any = 100, domain: Any = None) -> tuple[Any, Any]:
    first, last = p.domain if domain is None else domain
    places = np.linspace(first, last, static(n))
    return places, value_at(p, places)


def truncate(p: Series, size: Any) -> Series:
    if static(size) < 1:
        raise ValueError("size must be a positive integer")
    return p.of(p.factors[: static(size)], False) if static(size) < p.factors.shape[0] else p


def trim(p: Series, tol: Any = 0) -> Series:
    if is_recorded(tol) or tol != 0:
        raise ParseError("trim(tol) of a series is not recorded: only a run knows how many coefficients are left")
    return p.of(p.factors)


def roots(p: Series) -> Any:
    """Return all roots, as complex numbers in NumPy's order."""
    start, factor = mapparms(p)
    return (roots_of(FAMILIES_OF[p.kind], p.coef) - start) / factor


Series.table = {
    "__call__": value_at, "deriv": derivative, "integ": integral, "convert": convert, "linspace": linspace,
    "truncate": truncate, "cutdeg": lambda p, deg: truncate(p, static(deg) + 1), "trim": trim, "copy": lambda p: p,
    "mapparms": mapparms, "degree": lambda p: len(p) - 1, "roots": roots,
}  # fmt: skip


# -- making
def _ends(value: Any, default: Any, told: str) -> Any:
    if value is None:
        return default
    found = inexact(value)
    if np.shape(found) != (2,):
        raise ValueError(f"{told} has wrong number of elements.")
    return found


def _new(kind: Any, coef: Any, domain: Any = None, window: Any = None, symbol: str = "x") -> Series:
    factors = array(inexact(coef))
    if factors.ndim != 1:
        raise ValueError("Coefficient array is not 1-d")
    if not factors.shape[0]:
        raise ValueError("Coefficient array is empty")
    ends = _ends(domain, kind.domain, "Domain"), _ends(window, kind.window, "Window")
    return Series(kind, factors, ends[0], ends[1], symbol)


def as_series(value: Any) -> Series:
    """Return a series, one of NumPy's or one of ours, as ours."""
    if type(value) is Series:
        return value
    return _new(type(value), value.coef, value.domain, value.window, value.symbol)


def _stands_for(p: Any, take: Callable[[str], Any]) -> Series:
    """Return what stands for a series of NumPy's; the domain and the window of its class are known."""
    ends = [getattr(p, n) if getattr(p, n) is getattr(type(p), n) else take(n) for n in ("domain", "window")]
    return Series(type(p), take("coef"), ends[0], ends[1], p.symbol)


for _kind in VALUES:
    rule(_kind)(functools.partial(_new, _kind))
    OBJECTS[_kind] = _stands_for


@rule(ABCPolyBase.__call__)
def call_known(p: Any, arg: Any) -> Any:
    return value_at(as_series(p), arg)


@rule(vars(ABCPolyBase)["fit"].__func__)
def fit(
    cls: Any, x: Any, y: Any, deg: Any, domain: Any = None, rcond: Any = None, full: bool = False, w: Any = None,
    window: Any = None, symbol: str = "x",
) -> Series:  # fmt: skip
    """Return the series of a degree that is closest to samples, by least squares; the places span its domain."""
    if full or np.ndim(deg):
        raise ParseError("numpy.polynomial: full= and lists of degrees of a fit are not recorded")
    places, values = inexact(x), inexact(y)
    if domain is None:
        ends = np.min(places), np.max(places)
        require(ends[0] != ends[1], "the places of a fit are all the same: pass domain=")
        domain = np.stack(ends)
    elif isinstance(domain, list) and not domain:
        domain = cls.domain
    empty = _new(cls, [0.0], domain, window, symbol)
    left = vander_of(VALUES[cls], _mapped(empty, places), static(deg))
    return empty.of(least_squares(left, places, values, rcond, w), False)


@rule(vars(ABCPolyBase)["fromroots"].__func__)
def fromroots(cls: Any, roots: Any, domain: Any = (), window: Any = None, symbol: str = "x") -> Series:
    if domain is None:
        raise ParseError("numpy.polynomial: fromroots is recorded with a given domain")
    own = cls.domain if isinstance(domain, (list, tuple)) and not domain else domain
    empty = _new(cls, [0.0], own, window, symbol)
    moved, factor = _mapped(empty, inexact(roots)), mapparms(empty)[1]
    return empty.of(of_roots(FAMILIES_OF[cls], moved) / factor ** np.shape(moved)[0], False)
