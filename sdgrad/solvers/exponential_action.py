"""Record ``scipy.sparse.linalg.expm_multiply``: its derivatives are those of its Taylor series."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse.linalg

from sdgrad.errors import ParseError
from sdgrad.record.calls import WorksInside
from sdgrad.record.compound import Compound
from sdgrad.record.functions.arguments import static
from sdgrad.record.functions.detached import detached
from sdgrad.record.functions.matrix_calls import real_type
from sdgrad.record.functions.table import array, fixed, known, rule
from sdgrad.record.sparse.matrix import is_sparse
from sdgrad.record.values import is_recorded
from sdgrad.solvers.algorithms import exponential
from sdgrad.solvers.implicit import recorded

NAME = "scipy.sparse.linalg.expm_multiply"
TERMS = 30  # of a Taylor series, at most
REACH = 3.5  # the norm up to which so many terms are exact to double precision
FACTORIALS = np.cumprod(np.arange(1.0, TERMS + 1))


def _matrix(A: Any) -> Any:  # noqa: N803 (SciPy's names)
    """Return a sparse or dense matrix of numbers that are no integers."""
    if is_sparse(A):
        found = A
    elif isinstance(A, Compound) or callable(A) or hasattr(A, "matvec"):
        raise ParseError(
            "scipy.sparse.linalg.expm_multiply: the matrix is a sparse one in CSR, CSC or COO, or an array"
        )
    else:
        found = array(A)
    if len(found.shape) != 2 or found.shape[0] != found.shape[1]:
        raise ValueError("expected A to be like a square matrix")
    return found if found.dtype.kind in "fc" else found.astype(float)


class _Exponential(WorksInside):
    """Multiply the exponential of a matrix times a number with columns.

    The shift is a constant: whatever it is, the result is the same.
    """

    def __init__(self, matrix: Any, time: float) -> None:
        diagonal: Any = matrix.diagonal()
        ones = known(np.ones(matrix.shape[0], real_type(matrix.dtype)))
        self.matrix, self.time = matrix, time
        self.shift: Any = detached(np.sum(diagonal) / max(matrix.shape[0], 1))
        sums = detached(ones @ abs(matrix) - np.abs(diagonal) + np.abs(diagonal - self.shift))
        norm: Any = abs(time) * np.max(sums, initial=0.0)
        self.norm: Any = np.where(np.isfinite(norm), norm, 0.0)

    def product(self, x: Any) -> Any:
        return (self.matrix @ x - self.shift * x) * self.time

    def __call__(self, x: Any) -> Any:
        steps: Any = np.maximum(np.ceil(self.norm / REACH), 1.0)
        sizes = (self.norm / steps) ** known(np.arange(1.0, TERMS + 1)) / known(FACTORIALS)
        terms = np.minimum(np.sum(sizes > np.finfo(x.dtype).eps / 4) + 1, TERMS)
        length = (1.0 / steps).astype(real_type(x.dtype))
        return recorded(exponential.action, self.product, x, self.shift * self.time, steps.astype(int), length, terms)


@rule(scipy.sparse.linalg.expm_multiply)
def expm_multiply(
    A: Any,  # noqa: N803 (SciPy's names)
    B: Any,  # noqa: N803
    start: Any = None,
    stop: Any = None,
    num: Any = None,
    endpoint: Any = None,
    traceA: Any = None,  # noqa: N803
) -> Any:
    """Record the action; the trace, if it is given, would only be a help."""
    matrix = _matrix(A)
    if is_sparse(B):
        raise ParseError(f"{NAME}: a sparse right side is not recorded: write B.toarray()")
    x: Any = array(B)
    if x.ndim not in (1, 2):
        raise ValueError("expected B to be like a matrix or a vector")
    if matrix.shape[1] != x.shape[0]:
        raise ValueError(f"shapes of matrices A {matrix.shape} and B {x.shape} are incompatible")
    x = x.astype(np.result_type(matrix.dtype, x.dtype, np.float32))
    if start is None and stop is None and num is None and endpoint is None:
        return _Exponential(matrix, 1.0)(x)
    return _at_times(lambda t: _Exponential(matrix, t), x, *_times(start, stop, num, endpoint))


def _times(start: Any, stop: Any, num: Any, endpoint: Any) -> tuple[float, float, int]:
    """Return the first time, the distance of two, and their number."""
    first, last = fixed(start), fixed(stop)
    if any(t is None or is_recorded(t) for t in (first, last)):
        raise ParseError(f"{NAME}: start= and stop= are known when recording: multiply the matrix by other times")
    count = 50 if num is None else static(num)
    if count < 2:
        raise ParseError(f"{NAME}: fewer than two times are not recorded: scale the matrix")
    times, step = np.linspace(first, last, count, endpoint=endpoint is None or bool(endpoint), retstep=True)
    return float(times[0]), float(step), count


def _at_times(exponential_of: Callable, x: Any, first: float, step: float, count: int) -> Any:
    begin = exponential_of(first)(x) if first else x
    found = np.zeros((count, *x.shape), x.dtype) + 0 * begin
    return recorded(exponential.actions, exponential_of(step), begin, found)
