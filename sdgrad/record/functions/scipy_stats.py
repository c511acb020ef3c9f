"""Apply the distributions of ``scipy.stats``: methods of SciPy's objects, and of frozen ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.stats as stats
from scipy.stats import rv_continuous, rv_discrete

from sdgrad.errors import ParseError
from sdgrad.record.elementwise import common
from sdgrad.record.functions.bounded_distributions import BOUNDED
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.discrete_distributions import DISCRETE
from sdgrad.record.functions.distributions import CONTINUOUS, Formulas
from sdgrad.record.functions.further_distributions import FURTHER
from sdgrad.record.functions.higher_moments import SHAPES
from sdgrad.record.functions.moments import MOMENTS
from sdgrad.record.functions.noncentral_distributions import NONCENTRAL
from sdgrad.record.functions.positive_distributions import POSITIVE
from sdgrad.record.functions.table import active, operand, rule
from sdgrad.record.functions.undefined import undefined_where
from sdgrad.record.methods import BoundRule
from sdgrad.record.selected import Selected
from sdgrad.record.selected_functions import OF_THEIR_OWN, by_element
from sdgrad.record.values import is_recorded

FROZEN: tuple[type, ...] = (type(stats.norm()), type(stats.poisson(1.0)))
TABLE: dict[str, Formulas] = {**CONTINUOUS, **POSITIVE, **BOUNDED, **FURTHER, **NONCENTRAL, **DISCRETE}
GENERIC: Any = next(k for k in rv_continuous.__mro__ if k.__name__ == "rv_generic")


def real(value: Any) -> Any:
    """Return an operand in double precision, as SciPy computes."""
    x = operand(value)
    dtype = common([x])
    if dtype.kind == "c":
        raise ParseError("a distribution of complex numbers is not recorded")
    if not is_recorded(x):
        return float(x)
    return x if dtype == np.float64 and not getattr(x, "weak", False) else astype(x, np.float64)


def _formulas(dist: Any) -> Formulas:
    """Return the formulas of one of SciPy's distributions.

    :raises ParseError: there are none.
    """
    name = getattr(dist, "name", "")
    found = TABLE.get(name)
    if found is None or type(getattr(stats, name, None)) is not type(dist):
        raise ParseError(
            f"the distribution '{name}' is not recorded (docs/functions.md lists {len(TABLE)} that are): write its "
            "formula"
        )
    return found


def _checked(found: Any, y: Any, valid: Any, inputs: tuple) -> Any:
    """Return values, NaN for parameters and for places that are none, with the derivative NaN by the inputs."""
    wrong = np.isnan(y) if valid is True else np.isnan(y) | ~(valid & (y == y))
    return undefined_where(wrong, found, *inputs)


def _inside(f: Formulas, y: Any, shapes: tuple, whole: bool) -> Any:
    low, high = f.ends(shapes)
    above, below = (y > low, y < high) if f.open else (y >= low, y <= high)
    below = y < math.inf if f.finite and f.high == math.inf else below & (y < math.inf) if f.finite else below
    return (above & below) & (y == np.floor(y)) if whole else above & below


def _within(f: Formulas, y: Any, shapes: tuple, inside: Any) -> Any:
    """Return places with one of the support in place of those outside, where formulas have no derivative."""
    if f.inner is not None:
        return np.where(inside, y, f.inner(*shapes) if callable(f.inner) else f.inner)
    low, high = f.ends(shapes)
    if isinstance(low, float) and isinstance(high, float):
        if math.isinf(low) and math.isinf(high):
            return y
        middle: Any = high - 1.0 if math.isinf(low) else low + 1.0 if math.isinf(high) else 0.5 * (low + high)
    else:
        begins, ends = np.isfinite(low), np.isfinite(high)
        one_end = np.where(begins, low + 1.0, np.where(ends, high - 1.0, 0.0))
        middle = np.where(begins & ends, 0.5 * (low + high), one_end)
    return np.where(inside, y, middle)


def _density(f: Formulas, name: str, y: Any, shapes: tuple, scale: Any, whole: bool) -> Any:
    outside = -math.inf if name == "logpdf" else 0.0
    formula: Any = f.get(name)
    inside = _inside(f, y, shapes, whole)
    found = formula(_within(f, y, shapes, inside), *shapes)
    if scale is not None:
        found = found - np.log(scale) if name == "logpdf" else found / scale
    return np.where(inside, found, outside)


def _probability(f: Formulas, name: str, y: Any, shapes: tuple, whole: bool) -> Any:
    before, after = {"cdf": (0.0, 1.0), "sf": (1.0, 0.0)}[name.removeprefix("log")]
    if name.startswith("log"):
        before, after = (0.0 if p else -math.inf for p in (before, after))
    low, high = f.ends(shapes)
    formula: Any = f.get(name)
    below = y < low if whole else y <= low
    inner = _within(f, y, shapes, ~(below | (y >= high)))
    return np.where(below, before, np.where(y >= high, after, formula(inner, *shapes)))


def _quantile(f: Formulas, name: str, q: Any, shapes: tuple) -> Any:
    formula: Any = f.get(name)
    if not f.quantiles_at_ends:
        return np.where((q >= 0) & (q <= 1), formula(q, *shapes), math.nan)
    inside, (first, last) = (q > 0) & (q < 1), f.ends(shapes) if name == "ppf" else f.ends(shapes)[::-1]
    found = formula(np.where(inside, q, 0.5), *shapes)
    return np.where(inside, found, np.where(q == 0, first, np.where(q == 1, last, math.nan)))


def evaluate(dist: Any, name: str, x: Any, args: tuple, kwds: dict[str, Any]) -> Any:
    """Return a function of a distribution: ``name`` is that of a continuous one's method."""
    f, whole = _formulas(dist), isinstance(dist, rv_discrete)
    if any(isinstance(v, Selected) for v in (x, *args, *kwds.values())):
        return by_element(lambda x, *args, **kwds: evaluate(dist, name, x, args, kwds), (x, *args), kwds)
    given, loc, scale = dist._parse_args(*args, **kwds)
    if f.get(name) is None or whole and name in ("ppf", "isf"):
        raise ParseError(
            f"scipy.stats.{dist.name}.{name} is not recorded: it has no closed form with a derivative; integrate the "
            "density with scipy.integrate.quad, or find the root of the distribution function with sdgrad.root"
        )
    with np.errstate(all="ignore"):
        return _with_place(f, name, real(x), tuple(map(real, given)), real(loc), real(scale), whole)


def _with_place(f: Formulas, name: str, x: Any, shapes: tuple, loc: Any, scale: Any, whole: bool) -> Any:
    """Return a function of a distribution with a location and a scale."""
    valid = f.valid(*shapes) if shapes else True
    scaled = is_recorded(scale) or scale != 1.0
    valid = (scale > 0) & valid if scaled else valid
    inputs = (x, *shapes, loc, scale)
    if name in ("ppf", "isf"):
        found = _quantile(f, name, x, shapes)
        valid = (x >= 0) & (x <= 1) & (loc == loc) & valid
        return _checked(found * scale + loc if scaled else found + loc, x, valid, inputs)
    moved = x - loc if is_recorded(loc) or loc != 0.0 else x
    y = moved / scale if scaled else moved
    if name in ("pdf", "logpdf"):
        return _checked(_density(f, name, y, shapes, scale if scaled else None, whole), y, valid, inputs)
    place = np.floor(y) if whole else y
    found = _checked(_probability(f, name, place, shapes, whole), place, valid, inputs)
    if whole and name == "logcdf":  # SciPy looks at the end first, and at the parameters afterwards
        return np.where(y >= f.ends(shapes)[1], 0.0, found)
    return found


@dataclass(frozen=True, eq=False)
class Frozen:
    """Hold a distribution with parameters of which some are recorded."""

    dist: Any
    args: tuple
    kwds: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        if name in OF_PARAMETERS:
            return BoundRule(lambda value, *args, **named: value.of_parameters(name, args, named), self)
        own = {"pmf": "pdf", "logpmf": "logpdf"}.get(name, name)
        if own not in METHODS_OF_ALL or name not in dir(type(self.dist)):
            if hasattr(type(self.dist), name):
                raise ParseError(f"scipy.stats.{self.dist.name}.{name} is not recorded")
            raise AttributeError(name)
        return BoundRule(lambda value, x: evaluate(value.dist, own, x, value.args, value.kwds), self)

    def of_parameters(self, name: str, more: tuple, named: dict[str, Any]) -> Any:
        """Return a moment, an entropy or a quantile."""
        if named and list(named) != [FIRST.get(name)]:
            raise TypeError(f"{name}() got an unexpected keyword argument {next(iter(named))!r}")
        return of_parameters(self.dist, name, (*more, *named.values()), self.args, self.kwds)


# -- functions of the parameters alone
OF_PARAMETERS = ("mean", "var", "std", "entropy", "median", "interval", "stats", "moment", "support")
LETTERS = {"m": "mean", "v": "var", "s": "skew", "k": "kurtosis"}
FIRST = {"interval": "confidence", "moment": "order", "stats": "moments"}
"""Arguments besides the parameters."""


def of_parameters(dist: Any, name: str, more: tuple, args: tuple, kwds: dict[str, Any]) -> Any:
    """Return a moment, an entropy or a quantile of a distribution."""
    if name == "median":
        return _quantile_of(dist, 0.5, args, kwds)
    if name == "interval":
        if not more:
            raise TypeError("interval() missing 1 required positional argument: 'confidence'")
        share = real(more[0])
        return tuple(_quantile_of(dist, q, args, kwds) for q in (0.5 - 0.5 * share, 0.5 + 0.5 * share))
    if name in OF_MOMENTS:
        return OF_MOMENTS[name](dist, *(more or ("mv",) * (name == "stats")), args, kwds)
    f, formulas = _formulas(dist), (SHAPES if name in ("skew", "kurtosis") else MOMENTS).get(dist.name)
    formula = getattr(formulas, "var" if name == "std" else name, None)
    if formula is None:
        called = next((f"stats: moments={m!r}" for m in "sk" if LETTERS[m] == name), name)
        raise ParseError(f"scipy.stats.{dist.name}.{called} is not recorded: no formula with a derivative is known")
    given, loc, scale = dist._parse_args(*args, **kwds)
    shapes, place, width = tuple(map(real, given)), real(loc), real(scale)
    found = formula(*shapes) if callable(formula) else formula
    outer: dict[str, Callable] = {
        "mean": lambda v: v * width + place, "var": lambda v: v * width * width,
        "std": lambda v: np.sqrt(v) * width,
        "entropy": lambda v: v if isinstance(dist, rv_discrete) else v + np.log(width),
        "skew": lambda v: v, "kurtosis": lambda v: v,
    }  # fmt: skip
    valid = (width > 0) & (place == place) & (f.valid(*shapes) if shapes else True)
    return undefined_where(~valid, outer[name](found), *shapes, place, width)[()]


def _several_moments(dist: Any, moments: str, args: tuple, kwds: dict[str, Any]) -> Any:
    """Return mean, variance, skewness and excess kurtosis, as far as they are asked for."""
    found = tuple(of_parameters(dist, name, (), args, kwds) for m, name in LETTERS.items() if m in moments)
    return found[0] if len(found) == 1 else found


def _moment(dist: Any, order: Any, args: tuple, kwds: dict[str, Any]) -> Any:
    """Return one of the first four moments about zero."""
    if order not in (1, 2, 3, 4):
        raise ParseError(f"scipy.stats.{dist.name}.moment of order {order} is not recorded: the first four are")
    mean, *more = (of_parameters(dist, n, (), args, kwds) for n in list(LETTERS.values())[:order])
    if order == 1:
        return mean
    second = more[0] + mean * mean
    if order == 2:
        return second
    central = more[1] * more[0] ** 1.5
    if order == 3:
        return central + 3.0 * mean * more[0] + mean**3
    return (more[2] + 3.0) * more[0] ** 2 + 4.0 * mean * central + 6.0 * mean * mean * more[0] + mean**4


def _support(dist: Any, args: tuple, kwds: dict[str, Any]) -> Any:
    """Return the ends of the support."""
    f = _formulas(dist)
    given, loc, scale = dist._parse_args(*args, **kwds)
    shapes, place, width = tuple(map(real, given)), real(loc), real(scale)
    valid = (width > 0) & (place == place) & (f.valid(*shapes) if shapes else True)
    ends = (e * width + place for e in f.ends(shapes))
    return tuple(undefined_where(~valid, e, *shapes, place, width)[()] for e in ends)


OF_MOMENTS: dict[str, Callable] = {"stats": _several_moments, "moment": _moment, "support": _support}


def _quantile_of(dist: Any, q: Any, args: tuple, kwds: dict[str, Any]) -> Any:
    return evaluate(dist, "ppf", q, args, kwds)


def _register_parameters(name: str) -> None:
    count = 1 if name in FIRST and name != "stats" else 0  # stands before the parameters

    def of_distribution(dist: Any, *args: Any, **kwds: Any) -> Any:
        if FIRST.get(name) in kwds:
            return of_parameters(dist, name, (kwds.pop(FIRST[name]),), args, kwds)
        return of_parameters(dist, name, args[:count], args[count:], kwds)

    rule(getattr(GENERIC, name))(of_distribution)


METHODS_OF_ALL = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")


@rule(GENERIC.__call__, GENERIC.freeze)
def freeze(dist: Any, *args: Any, **kwds: Any) -> Any:
    _formulas(dist)
    return active().reads.made(Frozen(dist, args, kwds))


OF_THEIR_OWN |= {GENERIC.__call__, GENERIC.freeze}


def _register(owner: Any, name: str, own: str) -> None:
    def of_distribution(dist: Any, x: Any, *args: Any, **kwds: Any) -> Any:
        return evaluate(dist, own, x, args, kwds)

    rule(getattr(owner, name))(of_distribution)
    OF_THEIR_OWN.add(getattr(owner, name))


def _register_frozen(method: Callable, own: str) -> None:
    def of_frozen(frozen: Any, x: Any) -> Any:
        return evaluate(frozen.dist, own, x, frozen.args, frozen.kwds)

    rule(method)(of_frozen)
    OF_THEIR_OWN.add(method)


for _own in OF_PARAMETERS:
    _register_parameters(_own)
for _own in METHODS_OF_ALL:
    _register(rv_continuous, _own, _own)
    _name = {"pdf": "pmf", "logpdf": "logpmf"}.get(_own, _own)
    _register(rv_discrete, _name, _own)
    for _method in {getattr(_kind, n) for _kind in FROZEN for n in (_own, _name) if hasattr(_kind, n)}:
        _register_frozen(_method, _own)
