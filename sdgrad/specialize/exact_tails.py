"""Run a function as Python runs it, with distributions of SciPy whose small probabilities keep their digits.

SciPy computes many probabilities and quantiles by the complement ``1 - p``, whose rounding is all that is left of a
small ``p``. Such a number is no reason to say that a program is wrong.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sdgrad.specialize.plain_runs import GivenUp, is_plain

SMALL = 1e-6  # probabilities below lose the digits that a comparison looks at
ROUNDING = 1e-12  # how far a probability of SciPy's may be from the exact one if rounding is the reason
METHODS = ("_ppf", "_isf", "_cdf", "_sf", "_logcdf", "_logsf")
_replaced = threading.Lock()


@contextlib.contextmanager
def exact_tails() -> Iterator[None]:
    """Compute small probabilities, and quantiles of them, by sdgrad's own formulas in plain runs of this thread."""
    if "scipy.stats" not in sys.modules:
        yield
        return
    from sdgrad.record.functions.scipy_stats import TABLE  # takes long to import, and is imported by now

    kinds = {type(getattr(sys.modules["scipy.stats"], name)): f for name, f in TABLE.items()}
    with _replaced:
        before = [(k, m, vars(k).get(m)) for k in kinds for m in METHODS]
        for kind, formulas in kinds.items():
            for method in METHODS:
                setattr(kind, method, _guarded(getattr(kind, method), formulas, method[1:], method in vars(kind)))
        try:
            yield
        finally:
            for kind, method, own in before:
                delattr(kind, method) if own is None else setattr(kind, method, own)


def _guarded(of_scipy: Callable, formulas: Any, name: str, is_own: bool) -> Callable:
    """Return a method that takes sdgrad's value where a probability is small, and SciPy's elsewhere."""

    def method(dist: Any, x: Any, *shapes: Any) -> Any:
        found = of_scipy(dist, x, *shapes)
        if not is_plain():  # another thread's
            return found
        tail = _is_tail(name, np.asarray(x), np.asarray(found))
        if not np.any(tail):
            return found
        exact = _exact(formulas, name, x, shapes)
        if exact is None:
            if is_own:
                return found
            raise GivenUp  # there is nothing to compare with
        return np.where(tail & _is_rounding(formulas, name, exact, found, shapes), exact, found)

    return method


def _is_tail(name: str, x: np.ndarray, found: np.ndarray) -> np.ndarray:
    if name in ("ppf", "isf"):
        return x < SMALL
    return (found < np.log(SMALL)) | (found > -SMALL) if name.startswith("log") else found < SMALL


def _exact(formulas: Any, name: str, x: Any, shapes: tuple) -> Any:
    """Return a formula's value for numbers; None if there is none, or it is one for compiled programs only."""
    formula = formulas.get(name)
    try:
        return None if formula is None else formula(np.asarray(x, np.float64), *shapes)
    except AttributeError:
        return None


def _is_rounding(formulas: Any, name: str, exact: Any, found: Any, shapes: tuple) -> Any:
    """True where two values are, as probabilities, no further apart than the rounding of 1 explains."""
    if name in ("ppf", "isf"):
        inverse = {"ppf": "cdf", "isf": "sf"}[name]
        pair = [_exact(formulas, inverse, v, shapes) for v in (exact, found)]
    else:
        pair = [np.exp(v) if name.startswith("log") else v for v in (exact, found)]
    return pair[0] is None or np.abs(pair[0] - pair[1]) < ROUNDING
