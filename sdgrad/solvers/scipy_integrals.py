"""Apply integrals of functions of ``scipy.integrate``, with derivatives that are integrals as well."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.integrate as integrate

from sdgrad.errors import ParseError
from sdgrad.program.naming import returned
from sdgrad.record.calls import WorksInside, works_inside
from sdgrad.record.functions.arguments import constant
from sdgrad.record.functions.table import array, known, own, rule
from sdgrad.record.special_methods import RecordingOperators
from sdgrad.record.values import is_recorded
from sdgrad.solvers.algorithms.kronrod import GK15, GK21
from sdgrad.solvers.algorithms.quadrature import visit
from sdgrad.solvers.closed import Closed
from sdgrad.solvers.implicit import recorded, shaped
from sdgrad.solvers.integrals import Exactness, Integral, require_exact
from sdgrad.solvers.scipy_calls import as_number, found, of_array, of_number, own_array, refuse

LEAST, MOST = 100, 1000  # parts of a range, whatever limit= is
TOL = 1.49e-8
BEGIN, END = "begin", "end"
POINTS = {None: None, "gk15": GK15, "gk21": GK21}


def _number(end: Any) -> Any:
    """Return an end of a range: a float if it is known, or a number of the recording."""
    value = as_number(end)
    if np.ndim(value):
        raise TypeError("the ends of an integral are numbers")
    return np.multiply(value, 1.0) if is_recorded(value) else float(value)


def _is_infinite(end: Any, sign: int = 0) -> bool:
    return isinstance(end, float) and np.isinf(end) and (not sign or end * sign > 0)


class Quadrature:
    """How an integral is computed: its tolerances, its points, and the most parts of a range.

    :param needed: an integral that is not as exact as asked for is an error; else it is no number.
    """

    def __init__(
        self, name: str, epsabs: Any, epsrel: Any, limit: Any, norm: str = "2", points: Any = None, needed: bool = True
    ) -> None:
        told = f"{name}: tolerances and limits are numbers that are known"
        self.name, self.points, self.needed = name, points, needed
        absolute, relative = (float(constant(t, told)) for t in (epsabs, epsrel))
        self.exactness = Exactness(absolute, relative, norm, int(min(max(constant(limit, told), LEAST), MOST)))

    def over(self, f: Callable, a: Any, b: Any, breaks: Any = None) -> tuple[Any, Any]:
        """Record the integral of a function of a number over a range, in pieces between ``breaks``."""
        closed = Closed.of(f, (0.0,), ())
        a, b = _number(a), _number(b)
        if _is_infinite(a) and _is_infinite(b) and a == b:
            zeros = np.zeros(closed.shapes[0])
            return (known(zeros) if zeros.ndim else 0.0), 0.0
        edges = [a, *_inner(a, b, breaks), b]
        pieces = [self._piece(closed, *ends) for ends in zip(edges[:-1], edges[1:], strict=True)]
        totals, errors = zip(*pieces, strict=True)
        return sum(totals[1:], totals[0]), sum(errors[1:], errors[0])

    def _piece(self, closed: Closed, a: Any, b: Any) -> tuple[Any, Any]:
        """Record an integral without breaks."""
        if _is_infinite(a, 1) or _is_infinite(b, -1):
            total, error = self._piece(closed, b, a)
            return -total, error
        ends = {n: e for n, e in ((BEGIN, a), (END, b)) if not _is_infinite(e)}
        operands = {f"operand_{k}": v for k, v in enumerate(closed.operands.values())}
        given = {**{n: e for n, e in ends.items() if is_recorded(e)}, **operands}
        (name,) = returned(closed.program)
        dtype = np.result_type(closed.program.containers[name].dtype.type, float)
        shape, density = tuple(closed.shapes[0]), RangeDensity(closed, ends, tuple(given), dtype)
        points = (GK21 if len(ends) == 2 else GK15) if self.points is None else self.points
        total, error = Integral(density, int(np.prod(shape)), dtype, self.exactness, _one).record(known(points), given)
        if closed.checks:
            recorded(visit, works_inside(lambda q, r: closed.check(density.place(q, r, ends)[0])), known(points[0]))
        return shaped(total, shape), require_exact(self.name, error) if self.needed else error


def _one(given: Sequence[Any]) -> float:
    return 1.0


@dataclass(frozen=True, eq=False)
class RangeDensity(WorksInside):
    """A function over a range as a density.

    :param ends: the finite ends of the range by name: those that are known stay as they are.
    :param names: what it takes.
    """

    closed: Closed
    ends: Mapping[str, Any]
    names: tuple[str, ...]
    dtype: Any

    def __call__(self, q: Any, r: Any, *given: Any) -> Any:
        """Record the function at a place, with how fast that moves."""
        values = dict(zip(self.names, given, strict=True))
        x, speed = self.place(q, r, {**self.ends, **values})
        found = self.closed(x, *(v for n, v in values.items() if n not in self.ends))
        return np.reshape(array(found), -1).astype(self.dtype) * speed

    def place(self, q: Any, r: Any, values: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return a place in the range, and how fast it moves with the variable."""
        if len(self.ends) == 2:
            a, b = values[BEGIN], values[END]
            return np.where(q < 0.5, a + (b - a) * q, b - (b - a) * r), b - a
        if not self.ends:
            return 1.0 / r - 1.0 / q, 1.0 / q**2 + 1.0 / r**2
        return (values[BEGIN] + r / q if BEGIN in self.ends else values[END] - r / q), 1.0 / q**2


def _inner(a: Any, b: Any, breaks: Any) -> list[Any]:
    """Return places between pieces in order, those outside of the range moved to its ends."""
    if breaks is None or not np.size(breaks):
        return []
    places = np.sort(array(breaks).astype(float))
    if not (is_recorded(a) or is_recorded(b)):
        low, high = min(a, b), max(a, b)
        places = places if a <= b else places[::-1]
    else:
        low, high = np.minimum(a, b), np.maximum(a, b)
        places = np.where(a <= b, places, places[::-1])
    clipped = np.clip(places, low, high)
    return [clipped[k] for k in range(places.shape[0])]


def _static_breaks(name: str, points: Any) -> Any:
    """Return the places where a range is divided as an array; their number is known."""
    return None if points is None else np.reshape(array(own_array(points)), -1)


@rule(integrate.quad, aliases=True)
def quad(
    func: Any, a: Any, b: Any, args: Any = (), full_output: Any = 0, epsabs: Any = TOL, epsrel: Any = TOL,
    limit: Any = 50, points: Any = None, weight: Any = None, wvar: Any = None, wopts: Any = None, maxp1: Any = 50,
    limlst: Any = 50, complex_func: bool = False,
) -> tuple:  # fmt: skip
    what = "scipy.integrate.quad"
    if weight is not None:
        raise ParseError(
            f"{what}: weight={weight!r} is not recorded: write it into the function, as in lambda x: f(x) * "
            "np.cos(wvar * x), after a substitution where it is infinite"
        )
    f = of_number(func, args)
    if full_output:
        return *quad(func, a, b, args, 0, epsabs, epsrel, limit, points, complex_func=complex_func), found()
    if complex_func:
        real, imag = (quad(_part(f, n), a, b, (), 0, epsabs, epsrel, limit, points) for n in ("real", "imag"))
        return real[0] + 1j * imag[0], real[1] + 1j * imag[1]
    return _quad(what, f, a, b, epsabs, epsrel, limit, points)


def _part(f: Callable, name: str) -> Callable:
    return works_inside(lambda x: getattr(np, name)(f(x)))


def _quad(
    name: str, f: Callable, a: Any, b: Any, epsabs: Any = TOL, epsrel: Any = TOL, limit: Any = 50, points: Any = None,
    needed: bool = True,
) -> tuple[Any, Any]:  # fmt: skip
    """Record the integral of a function of a number that returns a real number."""
    own = Quadrature(name, epsabs, epsrel, limit, needed=needed)
    if own.exactness.epsabs <= 0.0 and own.exactness.epsrel < 50 * np.finfo(float).eps:
        raise ValueError("If 'epsabs'<=0, 'epsrel' must be greater than both 5e-29 and 50*(machine epsilon).")
    breaks = _static_breaks(name, points)
    if breaks is not None and (_is_infinite(a) or _is_infinite(b)):
        raise ValueError("Infinity inputs cannot be used with break points.")
    return own.over(works_inside(lambda x: _real(name, f(x))), a, b, breaks)


def _real(name: str, value: Any) -> Any:
    """Return a value of an integrand.

    :raises ParseError: it is complex, or no number.
    """
    if np.ndim(value):
        raise ParseError(f"{name} integrates numbers: use scipy.integrate.quad_vec for arrays")
    if np.iscomplexobj(value):
        raise ParseError(f"{name} integrates real numbers: write complex_func=True in scipy.integrate.quad")
    return value * 1.0


@rule(integrate.quad_vec, aliases=True)
def quad_vec(
    f: Any, a: Any, b: Any, epsabs: Any = 1e-200, epsrel: Any = 1e-8, norm: Any = "2", cache_size: Any = None,
    limit: Any = 10000, workers: Any = 1, points: Any = None, quadrature: Any = None, full_output: Any = False, *,
    args: Any = (),
) -> tuple:  # fmt: skip
    what = "scipy.integrate.quad_vec"
    refuse(what, full_output=full_output or None)
    norm = "max" if norm is None else norm
    if norm not in ("2", "max") or quadrature not in POINTS:
        raise ParseError(
            f"{what}: norm= is '2' or 'max', and quadrature= 'gk21' or 'gk15', while a function is recorded"
        )
    inner = of_array(f, args)
    own = Quadrature(what, epsabs, epsrel, limit, norm, POINTS[quadrature])
    return own.over(works_inside(lambda x: inner(x) * 1.0), a, b, _static_breaks(what, points))


@rule(integrate.fixed_quad, aliases=True)
def fixed_quad(func: Any, a: Any, b: Any, args: Any = (), n: Any = 5) -> tuple[Any, None]:
    if _is_infinite(a) or _is_infinite(b):
        raise ValueError("Gaussian quadrature is only available for finite limits.")
    nodes, weights = np.polynomial.legendre.leggauss(constant(n, "scipy.integrate.fixed_quad: n= is a number"))
    f = of_array(func, args)
    return (b - a) / 2.0 * np.sum(known(weights) * f((b - a) * (known(nodes) + 1.0) / 2.0 + a), axis=-1), None


@rule(integrate.nquad, aliases=True)
def nquad(func: Any, ranges: Any, args: Any = None, opts: Any = None, full_output: Any = False) -> tuple[Any, Any]:
    refuse("scipy.integrate.nquad", full_output=full_output or None)
    depth = len(ranges)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    options = list(opts) if isinstance(opts, (list, tuple)) else [opts or {}] * depth
    return _nested("scipy.integrate.nquad", func, list(ranges), options, args)


def _called(value: Any, *args: Any) -> Any:
    """Return a value, or what a function of the user's says it is."""
    return RecordingOperators().call(value, *map(own, args)) if callable(value) else value


def _nested(name: str, func: Any, ranges: Sequence[Any], options: Sequence[Any], args: tuple) -> tuple[Any, Any]:
    """Record an integral over several variables: of its last one outside, down to the first one.

    The integrals inside are no numbers where they are not as exact as asked for, and then the one outside is not.
    """

    def over(depth: int, *outer: Any) -> tuple[Any, Any]:
        low, high = _called(ranges[depth], *outer)
        given = dict(_called(options[depth], *outer))
        if unknown := given.keys() - {"epsabs", "epsrel", "limit", "points"}:
            raise ParseError(f"{name}: the option {sorted(unknown)[0]} is not recorded")

        def value(x: Any) -> Any:
            if depth:
                return over(depth - 1, x, *outer)[0]
            return as_number(RecordingOperators().call(func, x, *map(own, outer)))

        return _quad(name, works_inside(value), low, high, **given, needed=depth == len(ranges) - 1)

    return over(len(ranges) - 1, *args)


@rule(integrate.dblquad, aliases=True)
def dblquad(
    func: Any, a: Any, b: Any, gfun: Any, hfun: Any, args: Any = (), epsabs: Any = TOL, epsrel: Any = TOL
) -> tuple:
    def inner(x: Any, *rest: Any) -> tuple:
        return _called(gfun, x), _called(hfun, x)

    return _multiple("dblquad", func, [works_inside(inner), (a, b)], args, epsabs, epsrel)


@rule(integrate.tplquad, aliases=True)
def tplquad(
    func: Any, a: Any, b: Any, gfun: Any, hfun: Any, qfun: Any, rfun: Any, args: Any = (), epsabs: Any = TOL,
    epsrel: Any = TOL,
) -> tuple:  # fmt: skip
    def innermost(y: Any, x: Any, *rest: Any) -> tuple:
        return _called(qfun, x, y), _called(rfun, x, y)

    def inner(x: Any, *rest: Any) -> tuple:
        return _called(gfun, x), _called(hfun, x)

    ranges = [works_inside(innermost), works_inside(inner), (a, b)]
    return _multiple("tplquad", func, ranges, args, epsabs, epsrel)


def _multiple(name: str, func: Any, ranges: Sequence[Any], args: Any, epsabs: Any, epsrel: Any) -> tuple:
    options = [{"epsabs": epsabs, "epsrel": epsrel}] * len(ranges)
    return _nested(f"scipy.integrate.{name}", func, ranges, options, args if isinstance(args, tuple) else (args,))
