"""Zeros of piecewise polynomials and splines: SciPy finds them at run time, and how many there are.

A zero r of ``f(r; c) = 0`` moves by ``-f_c / f_r``. Two steps of Newton's method that begin at it, with the first value
taken as zero, leave it where it is, and have its derivatives up to the third. A zero of higher order has none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.interpolate as interpolate

from sdgrad.record.functions import fitted_splines, piecewise, splines
from sdgrad.record.functions.arguments import static
from sdgrad.record.functions.detached import detached
from sdgrad.record.functions.evaluated import Evaluated, made
from sdgrad.record.functions.fitted_splines import Univariate
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.piecewise import Piecewise, derived
from sdgrad.record.functions.splines import Spline
from sdgrad.record.functions.table import array, known, rule
from sdgrad.runtime.libraries.spline_zeros import Zeros

STEPS = 2
LEAST = 1e-300  # in place of a slope of zero: derivatives without a bound


def _found(c: Any, x: Any, level: Any, most: int, how: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Record the search: zeros, the intervals that they are in, and which of the places hold one."""
    recorder: Any = array(c).recorder
    operands = {"c": tensor_of(array(c)), "x": tensor_of(array(x)), "level": tensor_of(array(level))}
    shapes = {"zeros": ((most,), np.float64), "at": ((most,), np.int64), "count": ((1,), np.int64)}

    own = {n: recorder.copy(t) for n, t in operands.items()}
    made = {n: recorder.declare(n, shape, np.dtype(dtype)) for n, (shape, dtype) in shapes.items()}
    takes, gives = ([(t.shape, str(t.dtype)) for t in part.values()] for part in (own, made))
    connected = ({f"_{n}": t for n, t in part.items()} for part in (own, made))
    recorder.call_into(Zeros(json.dumps({**how, "takes": takes, "gives": gives})), *connected)
    zeros, at, count = (recorder.array(t) for t in made.values())
    return zeros, at, known(np.arange(most)) < count


def _moving(zeros: Any, holds: Any, value: Any, slope: Any) -> Any:
    """Return zeros as they are, with their derivatives."""
    found, before = zeros, detached(value(zeros))
    for _ in range(STEPS):
        own = slope(found)
        steep = np.where(holds, np.where(own == 0.0, LEAST, own), 1.0)
        found = found - (value(found) - before) / steep
    return found


# -- of several
@dataclass(frozen=True, eq=False)
class Several(Evaluated):
    """Hold the zeros of each of several polynomials, where SciPy has an array of arrays."""

    told = "the zeros of several polynomials"

    found: tuple[Any, ...]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return len(self.found)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        places = np.arange(len(self.found)).reshape(self.shape)[index]
        if np.ndim(places) == 0:
            return self.found[places]
        return made(Several(tuple(self.found[k] for k in np.ravel(places)), np.shape(places)))


Several.table = {"ravel": lambda s: made(Several(s.found, (s.size,))), "tolist": lambda s: [*s] if s.ndim == 1 else [
    part.tolist() for part in s]}  # fmt: skip


# -- piecewise polynomials
def solve(p: Any, y: Any = 0.0, discontinuity: Any = True, extrapolate: Any = None) -> Any:
    own = Piecewise.of(p)
    if np.ndim(y):
        raise ValueError("`y` must be a number")
    trailing = np.shape(own.c)[2:]
    if not trailing:
        return _of_one(own, y, discontinuity, extrapolate)
    columns = np.reshape(own.c, (*np.shape(own.c)[:2], -1))
    parts = [replace(own, c=array(columns[:, :, k])) for k in range(np.shape(columns)[2])]
    return made(Several(tuple(_of_one(made(q), y, discontinuity, extrapolate) for q in parts), trailing))


def _of_one(own: Piecewise, y: Any, discontinuity: Any, extrapolate: Any) -> Any:
    mode = own.extrapolate if extrapolate is None else extrapolate
    (powers, count), level = np.shape(own.c), np.reshape(array(y), (1,)) * 1.0
    how = {"method": "polynomial", "steps": bool(discontinuity), "extrapolate": bool(mode)}
    most = count * (powers + 1)
    zeros, at, holds = _found(detached(own.c), detached(own.x), detached(level), most, how)
    proper, k = holds & (at >= 0), np.maximum(at, 0)
    slopes = derived(own.c, 1)

    def value(r: Any) -> Any:
        return piecewise.horner(own.c, k, r - own.x[k]) - level

    begin = np.where(proper, zeros, detached(own.x[0]))  # NaN has no part in derivatives
    found = _moving(begin, proper, value, lambda r: piecewise.horner(slopes, k, r - own.x[k]))
    moved = own.x - detached(own.x)  # zero, and moves as breakpoints do
    nearest = np.argmin(np.abs(zeros[:, None] - own.x[None, :]), axis=1)
    return np.where(proper, found, zeros + moved[nearest])[holds]


def roots(p: Any, discontinuity: Any = True, extrapolate: Any = None) -> Any:
    return solve(p, 0.0, discontinuity, extrapolate)


@rule(interpolate.PPoly.solve)
def solve_known(p: Any, y: Any = 0.0, discontinuity: Any = True, extrapolate: Any = None) -> Any:
    return solve(p, y, discontinuity, extrapolate)


Piecewise.table |= {"solve": solve, "roots": roots}


# -- splines
def _of_spline(s: Spline, most: int) -> Any:
    if s.k != 3:
        raise NotImplementedError("finding roots unsupported for non-cubic splines")
    if np.ndim(s.c) != 1:
        raise ValueError("sproot() of a BSpline with several columns is not allowed.")
    padded = np.concatenate([s.c[: s.count], known(np.zeros(4))])
    how = {"method": "spline", "most": most}
    zeros, _, holds = _found(detached(padded), detached(s.t), known(np.zeros(1)), most, how)
    found = _moving(zeros, holds, lambda r: splines.values_at(s, r), lambda r: splines.values_at(s, r, 1))
    return found[holds]


@rule(interpolate.sproot)
def sproot(tck: Any, mest: Any = 10) -> Any:
    if isinstance(tck, tuple) and isinstance(tck[1], (list, tuple)):
        return [sproot((tck[0], c, tck[2]), mest) for c in tck[1]]
    return _of_spline(fitted_splines.of_tck(tck, "sproot"), static(mest))


def roots_of_spline(u: Any) -> Any:
    own = Univariate.of(u).spline
    return _of_spline(own, 3 * (np.shape(own.t)[0] - 7))


Univariate.table |= {"roots": roots_of_spline}
