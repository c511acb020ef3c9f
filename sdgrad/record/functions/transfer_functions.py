"""Apply forms of transfer functions of ``scipy.signal``: by their factors, and by their zeros and poles."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal as signal

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import require
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.table import array, fixed, known, operand, rule
from sdgrad.record.values import Array


def _polynomial(zeros: Any) -> Array:
    """Return the factors of the polynomial with these zeros."""
    a: Any = np.atleast_1d(array(zeros))
    content = fixed(a)
    if content is not None:
        return known(np.atleast_1d(np.poly(content)))
    if a.dtype.kind == "c":
        raise ParseError(
            "scipy.signal.zpk2tf: only a run knows whether complex zeros come in pairs, and the factors are real: "
            "multiply those of each pair, [1, -2 * z.real, abs(z) ** 2], with np.convolve"
        )
    return array(astype(np.poly(a), a.dtype if a.dtype.kind == "f" else float))


@rule(signal.zpk2tf)
def zpk2tf(z: Any, p: Any, k: Any) -> tuple[Any, Any]:
    zeros, gain = array(z), np.atleast_1d(operand(k) * 1.0)
    if zeros.ndim < 2:
        return gain * _polynomial(zeros), _polynomial(p)
    rows = zeros.shape[0]
    gains = [gain[0]] * rows if np.shape(gain)[0] == 1 else list(gain)
    return np.stack([g * _polynomial(row) for g, row in zip(gains, zeros, strict=False)]), _polynomial(p)


def _roots(factors: Any) -> Any:
    """Return zeros of a polynomial; those at zero are told only of factors that are known."""
    content = fixed(np.atleast_1d(array(factors)))
    return np.roots(factors) if content is None else known(np.roots(content))


@rule(signal.tf2zpk)
def tf2zpk(b: Any, a: Any) -> tuple[Any, Any, Any]:
    """Return zeros, poles and the gain; zeros and poles are complex, as those of ``numpy.roots``."""
    over, under = (array(np.atleast_1d(array(x))) for x in (b, a))
    if over.ndim != 1 or under.ndim != 1:
        raise ParseError("scipy.signal.tf2zpk of several numerators is not recorded: write a loop")
    over, under = (x if x.dtype.kind in "fc" else array(astype(x, float)) for x in (over, under))
    told = "scipy.signal.tf2zpk: the first factors must not be zero, for they decide how many zeros and poles there are"
    require((np.abs(over[0] / under[0]) > 1e-14) & np.not_equal(under[0], 0), told)
    return _roots(b), _roots(a), over[0] / under[0]
