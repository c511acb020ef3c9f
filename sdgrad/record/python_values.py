"""Functions of SciPy that are called as they are at run time: their values have no derivatives here."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from sdgrad.record.callbacks import Called, kind_of
from sdgrad.record.functions.linalg import inexact
from sdgrad.record.functions.table import rule
from sdgrad.record.nests import flatten, unflatten

FACTORS = "scipy.linalg.{} has no derivative here, as its factors are one choice of many: {}"
PENCILS = "use np.linalg.eigvals(np.linalg.solve(b, a)) for generalized eigenvalues"


def _called(function: Callable, matrices: tuple[Any, ...], told: str) -> Any:
    """Record a call of a function of matrices; what it returns is like what it returns for unit matrices."""
    given = tuple(inexact(*matrices))
    for matrix in given:
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape != given[0].shape:
            raise ValueError(f"square matrices of one size are needed here, not {matrix.shape}")
    leaves, form = flatten(function(*(np.eye(m.shape[0], dtype=m.dtype) for m in given)))
    _, arguments = flatten((given, {}))
    call = Called(function, arguments, given, tuple(range(len(given))), form, tuple(map(kind_of, leaves)), told)
    found = call(*given)
    return unflatten(form, found if isinstance(found, tuple) else (found,))


def _chosen(function: Callable, **how: Any) -> Callable:
    found = functools.partial(function, **how)
    found.__name__ = function.__name__  # type: ignore[attr-defined]
    return found


@rule(scipy.linalg.qz)
def qz(
    A: Any,  # noqa: N803 (SciPy's names)
    B: Any,  # noqa: N803
    output: str = "real",
    lwork: Any = None,
    sort: Any = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    own = _chosen(scipy.linalg.qz, output=output, sort=sort, check_finite=check_finite)
    return _called(own, (A, B), FACTORS.format("qz", PENCILS))


@rule(scipy.linalg.ordqz)
def ordqz(
    A: Any,  # noqa: N803 (SciPy's names)
    B: Any,  # noqa: N803
    sort: Any = "lhp",
    output: str = "real",
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    own = _chosen(scipy.linalg.ordqz, sort=sort, output=output, check_finite=check_finite)
    return _called(own, (A, B), FACTORS.format("ordqz", PENCILS))


@rule(scipy.linalg.rsf2csf)
def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> Any:  # noqa: N803 (SciPy's names)
    own = _chosen(scipy.linalg.rsf2csf, check_finite=check_finite)
    return _called(own, (T, Z), FACTORS.format("rsf2csf", "use np.linalg.eigvals for eigenvalues"))
