"""Draw from the gamma distribution and its kin, with derivatives by their shapes.

Values are those of Marsaglia and Tsang 2000. Derivatives are implicit (Figurnov, Mohamed and Mnih 2018): a number moves
with the shape so that its probability stays the same, ``dz/da = -(dF/da) / p``. In logarithms, small shapes do not
underflow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from sdgrad.random.draws import REAL, drawn, extents, numbers, real, softmax, taken
from sdgrad.random.keys import pair
from sdgrad.record.calls import works_inside
from sdgrad.record.elementwise import compute
from sdgrad.record.functions.detached import detached
from sdgrad.record.values import is_recorded
from sdgrad.runtime.libraries.random_numbers import Kind

PATHS = {Kind.GAMMA: "special_gamma_path", Kind.LOG_GAMMA: "special_log_gamma_path"}


def _drawn(kind: Kind, key: Any, a: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Draw, and let the result move with a shape that is recorded."""
    own = taken(a, REAL)
    found = drawn(kind, key, shape, dtype, own)
    if not is_recorded(a) or a.dtype.kind != "f":
        return found
    given = [own if own.ndim else own[()], detached(own if own.ndim else own[()]), found]
    return compute(f"{PATHS[kind]}({{0}}, {{1}}, {{2}})", given, [REAL] * 3, dtype)


@works_inside
def gamma(key: Any, a: Any, shape: Any = None, dtype: Any = np.float64) -> Any:
    """Draw from the gamma distribution with shape ``a`` and scale 1."""
    return _drawn(Kind.GAMMA, key, a, extents(shape, a), real(dtype, "gamma"))


@works_inside
def loggamma(key: Any, a: Any, shape: Any = None, dtype: Any = np.float64) -> Any:
    """Draw logarithms of numbers of the gamma distribution, which for small ``a`` underflow."""
    return _drawn(Kind.LOG_GAMMA, key, a, extents(shape, a), real(dtype, "loggamma"))


@works_inside
def beta(key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = np.float64) -> Any:
    """Draw from the beta distribution: the share of the first of two numbers of gamma distributions."""
    own, size = real(dtype, "beta"), extents(shape, a, b)
    first, second = pair(key)
    difference = _drawn(Kind.LOG_GAMMA, first, a, size, own) - _drawn(Kind.LOG_GAMMA, second, b, size, own)
    return scipy.special.expit(difference)


@works_inside
def dirichlet(key: Any, alpha: Any, shape: Any = None, dtype: Any = np.float64) -> Any:
    """Draw from the Dirichlet distribution.

    :param alpha: an array whose last axis has the parameters of one distribution.
    :param shape: of the results without that axis.
    """
    own, every = real(dtype, "dirichlet"), numbers(alpha, real(dtype, "dirichlet"))
    if not np.ndim(every):
        raise ValueError("sdgrad.random.dirichlet takes an array of parameters, at least a vector")
    size = extents(shape, every[..., 0])
    logs = _drawn(Kind.LOG_GAMMA, key, every, (*size, int(every.shape[-1])), own)
    return softmax(logs)


@works_inside
def chisquare(key: Any, df: Any, shape: Any = None, dtype: Any = np.float64) -> Any:
    """Draw from the chi-squared distribution with ``df`` degrees of freedom."""
    own = real(dtype, "chisquare")
    return 2.0 * _drawn(Kind.GAMMA, key, 0.5 * numbers(df, own), extents(shape, df), own)


@works_inside
def t(key: Any, df: Any, shape: Any = None, dtype: Any = np.float64) -> Any:
    """Draw from Student's t distribution with ``df`` degrees of freedom."""
    own, size = real(dtype, "t"), extents(shape, df)
    first, second = pair(key)
    half = 0.5 * numbers(df, own)
    spread = np.log(half) - _drawn(Kind.LOG_GAMMA, second, half, size, own)
    return drawn(Kind.NORMAL, first, size, own) * np.exp(0.5 * spread)


@works_inside
def f(key: Any, dfnum: Any, dfden: Any, shape: Any = None, dtype: Any = np.float64) -> Any:
    """Draw from the F distribution: the ratio of two numbers of chi-squared distributions over their degrees."""
    own, size = real(dtype, "f"), extents(shape, dfnum, dfden)
    first, second = pair(key)
    over, under = (0.5 * numbers(df, own) for df in (dfnum, dfden))
    logs = _drawn(Kind.LOG_GAMMA, first, over, size, own) - _drawn(Kind.LOG_GAMMA, second, under, size, own)
    return np.exp(logs) * (under / over)
