"""Cholesky's factors of matrices of bands, and systems that they solve (Golub & Van Loan 2013, 4.3.5)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from sdgrad.errors import ParseError
from sdgrad.record.elements import call
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.linalg import inexact, require
from sdgrad.record.functions.matrix_calls import as_rule
from sdgrad.record.functions.parts import choose_where, tensor_of
from sdgrad.record.functions.systems import on_the_other_side, solve_banded
from sdgrad.record.functions.table import array, known, rule


@rule(scipy.linalg.cholesky_banded)
def cholesky_banded(ab: Any, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True) -> Any:
    """Return the bands of the factor; what is no part of the matrix stays as it is, as SciPy leaves it."""
    (bands,) = inexact(ab)
    if bands.ndim != 2:
        raise ParseError("scipy.linalg.cholesky_banded of stacks of matrices is not recorded: write a loop")
    bands = array(astype(bands, np.float32)) if bands.dtype == np.float16 else bands  # LAPACK has no halves
    count, n = bands.shape[0] - 1, bands.shape[1]
    found = _factor(bands if lower else _lower_form(bands))
    require(found, "the matrix is not positive definite", lambda: (np.real(found[0]) > 0.0).all())
    inside = np.add.outer(np.arange(count + 1), np.arange(n)) < n
    factor = found if lower else _upper_form(found)
    return choose_where(known(inside if lower else inside[::-1, ::-1]), factor, bands)


@as_rule
def _lower_form(bands: Any) -> Any:
    """Return the bands of the conjugate transpose, which are below the diagonal, of those above it."""
    count, n = bands.shape[0] - 1, bands.shape[1]
    return np.stack(
        [np.conj(bands[count]), *(on_the_other_side(bands[count - d], d, n, True) for d in range(1, count + 1))]
    )


@as_rule
def _upper_form(bands: Any) -> Any:
    """Return the bands of the conjugate transpose, which are above the diagonal, of those below it."""
    count, n = bands.shape[0] - 1, bands.shape[1]
    above = [on_the_other_side(bands[d], d, n, False) for d in range(count, 0, -1)]
    return np.stack([*above, np.conj(bands[0])])


def _factor(bands: Any) -> Any:
    """Return the bands of the lower factor, column by column; rows and columns of zeros lie around them meanwhile."""
    given, recorder = tensor_of(array(bands)), bands.recorder
    count, n = given.shape[0] - 1, given.shape[1]
    if not n:
        return bands
    found = recorder.array(recorder.full((2 * count + 1, count + n), 0, bands.dtype))
    f = found.tensor

    def conjugate(x: Any) -> Any:
        return call("conj", x) if bands.dtype.kind == "c" else x

    with recorder.loop(n) as j:
        column = j + count

        def rest(d: Any) -> Any:
            value = given[d, j]
            for k in range(1, count + 1):
                value = value - f[d + k, column - k] * conjugate(f[k, column - k])
            return value

        pivot = f.slice(1, column, 1)
        real = (lambda x: call("real", x).astype(bands.dtype)) if bands.dtype.kind == "c" else lambda x: x
        recorder.assign(pivot.slice(0, 0, 1), lambda i, _: call("sqrt", real(rest(i))))
        if count:
            recorder.assign(pivot.slice(0, 1, count), lambda i, _: rest(i + 1) / f[0, column])
    return found[: count + 1, count:]


@rule(scipy.linalg.cho_solve_banded)
def cho_solve_banded(cb_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    factor, lower = cb_and_lower
    bands, right = inexact(factor, b)
    if bands.ndim != 2:
        raise ParseError("scipy.linalg.cho_solve_banded of stacks of matrices is not recorded: write a loop")
    if bands.shape[-1] != right.shape[0]:
        raise ValueError("shapes of cb and b are not compatible.")
    count = bands.shape[0] - 1
    below, above = (bands, _upper_form(bands)) if lower else (_lower_form(bands), bands)
    half = solve_banded((count, 0), below, right)
    return solve_banded((0, count), above, half)
