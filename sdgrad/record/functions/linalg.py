"""Linear systems and factorisations: calls of library nodes, whose derivatives are in ``backward_impls/linalg.py``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg
from dace import nodes
from dace.libraries.linalg import Cholesky, Inv, Solve

from sdgrad.record.elementwise import apply, common
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.parts import choose_where, tensor_of
from sdgrad.record.functions.products import conjugate
from sdgrad.record.functions.shapes import broadcast_to, diagonal, matrix_transpose, reshape, transpose
from sdgrad.record.functions.table import array, content, known, rule
from sdgrad.record.index_limits import is_certain
from sdgrad.record.tensors import Tensor, broadcast_shape
from sdgrad.record.values import RULES, Array, is_known, is_recorded
from sdgrad.runtime.libraries.triangular_solve import TriangularSolve


def inexact(*values: Any) -> list[Array]:
    """Return matrices in one type, which holds results of divisions."""
    arrays = [array(v) for v in values]
    dtype = common(arrays)
    dtype = dtype if dtype.kind in "fc" else np.dtype(float)
    return [astype(v, dtype, copy=False) for v in arrays]


def in_double_precision(*values: Any) -> list[Array]:
    """Return matrices in one type, of double precision: that of functions of SciPy's that know no other."""
    return [astype(v, np.result_type(v.dtype, np.float64), copy=False) for v in inexact(*values)]


def square(a: Any) -> Array:
    (matrix,) = inexact(a)
    if matrix.ndim < 2:
        raise np.linalg.LinAlgError(f"{matrix.ndim}-dimensional array given. Array must be at least two-dimensional")
    if matrix.tensor.shape[-2] != matrix.tensor.shape[-1]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    return matrix


def adjoint(a: Any) -> Any:
    """Return the conjugate transposes of matrices."""
    return conjugate(matrix_transpose(a))


def stacked(function: Callable[..., Tensor], shape: Sequence[Any], *operands: Array) -> Array:
    """Return what a function of matrices gives for each of stacks of them.

    :param shape: of one result.
    """
    recorder, dtype = operands[0].recorder, operands[0].dtype
    if all(x.ndim == 2 for x in operands):
        return recorder.array(function(*map(tensor_of, operands)))
    batch = broadcast_shape(*(x.tensor.shape[:-2] for x in operands))
    count = math.prod(batch)
    wide = [tensor_of(reshape(broadcast_to(x, (*batch, *x.shape[-2:])), (count, *x.shape[-2:]))) for x in operands]
    found = recorder.array(recorder.declare("t", (count, *shape), dtype))
    with recorder.loop(count) as k:
        recorder.copy(function(*(x.select(0, k) for x in wide)), found.tensor.select(0, k))
    return reshape(found, (*batch, *shape))


# -- systems
@rule(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    matrix, right = inexact(square(a), b)
    if right.ndim == 1:
        return solve(matrix, right[:, None])[..., 0]
    n = right.tensor.shape[-2]
    if n != matrix.tensor.shape[-1]:
        raise ValueError(f"solve: a matrix of {matrix.shape[-1]} rows, and {n} equations")
    if n == 0:
        return right
    if n == 1:
        return apply(np.true_divide, [right, matrix])
    found = _systems(matrix, right, Solve("solve"), ("_ain", "_bin", "_bout"))
    require(found, "Singular matrix", lambda: np.isfinite(found).all() | ~(np.isfinite(matrix).all() & _finite(right)))
    return found


def _finite(values: Array) -> Any:
    return np.isfinite(values).all()


def require(found: Array, message: str, holds: Callable[[], Any], error: type = np.linalg.LinAlgError) -> None:
    """Record that a factorization has to exist, as NumPy does; not in loops, where it takes as long as a small one."""
    recorder: Any = found.recorder
    if not is_certain(recorder) or recorder.hints.of_rule:
        return
    condition = holds()
    if is_recorded(condition) and not is_known(condition):
        RULES.require(recorder, condition, error(message))
    elif not content(condition):
        raise error(message)


def _succeeded(pivots: Array, matrix: Array) -> Any:
    """True if no diagonal of a factor, of numbers, is all NaN: a factorization that fails leaves that."""
    return ~(np.isnan(pivots).all(axis=-1) & np.isfinite(matrix).all(axis=(-2, -1))).any()


def _systems(matrix: Array, right: Array, node: nodes.LibraryNode, connectors: tuple[str, str, str]) -> Array:
    """Return a node's solutions; it refuses a single column, and solves for two then."""
    recorder: Any = matrix.recorder
    coefficients, constants, unknowns = connectors
    single = right.tensor.shape[-1] == 1

    def one(a: Tensor, b: Tensor) -> Tensor:
        wide = recorder.compute((b.shape[0], 2), b.dtype, lambda i, j: b[i, 0]) if single else b
        found = recorder.call(node, {coefficients: a, constants: wide}, unknowns, wide.shape, b.dtype)
        return recorder.copy(found.slice(1, 0, 1)) if single else found

    return stacked(one, right.tensor.shape[-2:], matrix, right)


@rule(np.linalg.inv)
def inv(a: Any) -> Any:
    matrix = square(a)
    if matrix.tensor.shape[-1] == 0:
        return matrix
    if matrix.tensor.shape[-1] == 1:
        return apply(np.true_divide, [1, matrix])

    def invert(x: Tensor) -> Tensor:
        node = Inv("inv", overwrite_a=False, use_getri=True)
        return matrix.recorder.call(node, {"_ain": x}, "_aout", x.shape, x.dtype)

    found = stacked(invert, matrix.tensor.shape[-2:], matrix)
    ones = np.sum(matrix * matrix_transpose(found), axis=-1)  # the diagonal of their product
    pivots = diagonal(found, axis1=-2, axis2=-1)
    require(found, "Singular matrix", lambda: ~(np.abs(ones - 1.0) > 0.5).any() & _succeeded(pivots, matrix))
    return found


@rule(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    matrix = square(a)
    if upper:
        return adjoint(cholesky(adjoint(matrix)))
    if matrix.tensor.shape[-1] == 0:
        return matrix
    if matrix.tensor.shape[-1] == 1:
        return apply(np.sqrt, [matrix])

    def factorize(x: Tensor) -> Tensor:
        return matrix.recorder.call(Cholesky("cholesky", lower=True), {"_a": x}, "_b", x.shape, x.dtype)

    found = stacked(factorize, matrix.tensor.shape[-2:], matrix)
    pivots = diagonal(found, axis1=-2, axis2=-1)
    positive = "Matrix is not positive definite"
    require(found, positive, lambda: ~(np.real(pivots) <= 0.0).any() & _succeeded(pivots, matrix))
    return found


@rule(np.linalg.tensorinv)
def tensorinv(a: Any, ind: Any = 2) -> Any:
    x = array(a)
    rows, columns = x.shape[:ind], x.shape[ind:]
    return reshape(inv(reshape(x, (math.prod(rows), -1))), (*columns, *rows))


@rule(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    x, right = array(a), array(b)
    if axes is not None:
        x = transpose(x, [*(d for d in range(x.ndim) if d not in axes), *axes])
    rest = x.shape[right.ndim :]
    return reshape(solve(reshape(x, (-1, math.prod(rest))), reshape(right, -1)), rest)


# -- SciPy's
@rule(scipy.linalg.inv)
def scipy_inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return inv(a)


@rule(scipy.linalg.cholesky)
def scipy_cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return cholesky(a, upper=not lower)


@rule(scipy.linalg.solve_triangular)
def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    matrix, right = inexact(square(a), b)
    if right.ndim == 1:
        return solve_triangular(matrix, right[:, None], trans, lower, unit_diagonal)[..., 0]
    if unit_diagonal:
        matrix = choose_where(known(np.eye(matrix.shape[-1], dtype=bool)), matrix.dtype.type(1), matrix)
    if trans in (1, "T"):
        matrix, lower = matrix_transpose(matrix), not lower
    elif trans in (2, "C"):
        matrix, lower = adjoint(matrix), not lower
    if matrix.tensor.shape[-1] == 1:
        return apply(np.true_divide, [right, matrix])
    node = TriangularSolve("solve_triangular", adjoint=not lower)
    return _systems(matrix if lower else adjoint(matrix), right, node, ("_a", "_b", "_x"))


@rule(scipy.linalg.cho_factor)
def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the factor in one triangle; the other one holds the matrix still, as SciPy leaves it."""
    matrix = square(a)
    own = np.tri(matrix.shape[-1], k=0, dtype=bool)
    return choose_where(known(own if lower else own.T), cholesky(matrix, upper=not lower), matrix), lower


@rule(scipy.linalg.cho_solve)
def cho_solve(c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    factor, lower = c_and_lower
    factor = (np.tril if lower else np.triu)(factor)
    half = solve_triangular(factor, b, 0 if lower else 2, lower)
    return solve_triangular(factor, half, 2 if lower else 0, lower)
