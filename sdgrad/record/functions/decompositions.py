"""Decompose matrices: eigenvalues, singular values, orthogonal factors, and what is made of them.

Each is a call of LAPACK with a rule in NumPy's terms, so that derivatives of every order follow. Sources: Giles 2008
(eigenvalues), Townsend 2016 (singular values), Walter and Lehmann 2012 (QR).

Where eigenvalues or singular values are equal, their vectors are not unique. What depends on the values alone has its
derivative there; what depends on such vectors has NaN, not a number that is plausible and wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.linalg

from sdgrad.errors import ParseError
from sdgrad.program.custom_rule import CustomRule
from sdgrad.record.custom import Variables
from sdgrad.record.elements import Element, element, where
from sdgrad.record.functions.linalg import cholesky, inexact, solve_triangular, square
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.shapes import matrix_transpose, reshape
from sdgrad.record.functions.table import rule
from sdgrad.record.recorder import Recorder
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import Array
from sdgrad.runtime.libraries.decompositions import Decomposition

Parts = Mapping[str, tuple[Sequence[Any], Any]]  # results by name: shape and type


def as_rule(f: Callable) -> Callable:
    """Register a function that rules call as its own rule."""
    return rule(f)(f)


# -- rules: parameters are results, and their cotangents. What they call is computed by element: a constant matrix, as a
# mask, would be an argument of theirs.
def _by_element(g: Any, at: Callable) -> Any:
    """Return a square matrix by element, from whether an element lies on the diagonal, above it, and its place."""
    matrix, recorder = tensor_of(g), g.recorder

    def value(i: Any, j: Any) -> Element:
        row, column = element(i, np.int64), element(j, np.int64)
        return at(row.equals(column), row < column, i, j)

    return recorder.array(recorder.compute(matrix.shape, matrix.dtype, value))


@as_rule
def _over_differences(w: Any, inner: Any) -> Any:
    """Return ``(inner - inner.T)[i, j] / (w[j] - w[i])``, zero on the diagonal; where values are equal, no number."""
    m, values = tensor_of(inner), tensor_of(w)
    return _by_element(
        inner, lambda here, above, i, j: where(here, 0, (m[i, j] - m[j, i]) / where(here, 1, values[j] - values[i]))
    )


@as_rule
def _with_diagonal(matrix: Any, diagonal: Any) -> Any:
    """Return a matrix with more on its diagonal."""
    m, d = tensor_of(matrix), tensor_of(diagonal)
    return _by_element(matrix, lambda here, above, i, j: where(here, m[i, j] + d[i], m[i, j]))


@as_rule
def _of_lower(g: Any) -> Any:
    """Return the gradient of a function that reads the lower triangle of a symmetric matrix."""
    m = tensor_of(g)
    return _by_element(g, lambda here, above, i, j: where(here, m[i, j], where(above, 0, m[i, j] + m[j, i])))


@as_rule
def _copied_below(g: Any) -> Any:
    """Return the symmetric matrix with this lower triangle."""
    m = tensor_of(g)
    return _by_element(g, lambda here, above, i, j: where(above, m[j, i], m[i, j]))


def _eigh_vjp(w: Any, v: Any, grad_w: Any, grad_v: Any) -> Any:
    inner = v.T @ grad_v
    middle = _with_diagonal(0.5 * _over_differences(w, inner), grad_w)
    return _of_lower(v @ middle @ v.T)


def _eigenvalues_vjp(v: Any, grad_w: Any) -> Any:
    return _of_lower((v * grad_w) @ v.T)


def _svd_vjp(u: Any, s: Any, v: Any, grad_u: Any, grad_s: Any, grad_v: Any) -> Any:
    left, right = u.T @ grad_u, v @ grad_v.T
    squares = s * s
    across = _over_differences(squares, left) * s[None, :]
    along = s[:, None] * _over_differences(squares, right)
    found = u @ _with_diagonal(across + along, grad_s) @ v
    if u.shape[0] > s.shape[0]:
        found = found + ((grad_u - u @ left) / s[None, :]) @ v
    if v.shape[1] > s.shape[0]:
        found = found + u @ ((grad_v - right.T @ v) / s[:, None])
    return found


def _singular_values_vjp(u: Any, v: Any, grad_s: Any) -> Any:
    return (u * grad_s) @ v


def _qr_vjp(q: Any, r: Any, grad_q: Any, grad_r: Any) -> Any:
    """For at least as many rows as columns."""
    inner = r @ grad_r.T - grad_q.T @ q
    right = grad_q + q @ _copied_below(inner)
    return scipy.linalg.solve_triangular(r, right.T).T


def _pinv_vjp(a: Any, p: Any, grad_p: Any) -> Any:
    """Of matrices whose rank does not change (Golub and Pereyra 1973)."""
    g = grad_p.T
    beside = (g - a @ (p @ g)) @ (p @ p.T) + (p.T @ p) @ (g - (g @ p) @ a)
    return beside - p.T @ grad_p @ p.T


OF_SOME: dict[str, dict[frozenset[str], Callable]] = {
    "eigh": {frozenset({"w"}): _eigenvalues_vjp},
    "svd": {frozenset({"s"}): _singular_values_vjp},
}
"""Rules where the program reads the values alone, which need no differences of them."""


# -- calls
def _with_rule(recorder: Recorder, a: Tensor, name: str, parts: Parts, vjp: Callable, make: Callable) -> list[Tensor]:
    """Record a function of a matrix with a rule.

    :param make: records what computes the results.
    """
    made = {n: recorder.declare(n, shape, dtype) for n, (shape, dtype) in parts.items()}
    block: list[Any] = []
    variables = Variables(recorder)
    own = recorder.copy(a)
    with recorder.inside(block):
        make(own, made)
    for n, tensor in {"a": own, **made}.items():
        variables.operands[n] = variables.operand(tensor, False)
    custom = CustomRule(name, ("a",), vjp=vjp, results=(*made,), of_some=OF_SOME.get(name, {}))
    recorder.append(variables.call(custom, block))
    return [*made.values()]


def _decomposed(matrix: Array, kind: str, parts: Parts, vjp: Callable) -> list[Array]:
    """Return the results of a decomposition, of each of a stack of matrices."""
    recorder: Any = matrix.recorder
    if matrix.dtype.kind == "c":
        raise ParseError(f"numpy.linalg.{kind} of complex matrices is not recorded")

    def make(a: Tensor, made: Mapping[str, Tensor]) -> None:
        recorder.call_into(Decomposition(kind), {"_a": a}, {f"_{n}": x for n, x in made.items()})

    def one(a: Tensor) -> list[Tensor]:
        return _with_rule(recorder, a, kind, parts, vjp, make)

    if matrix.ndim == 2:
        return [recorder.array(x) for x in one(tensor_of(matrix))]
    batch = matrix.tensor.shape[:-2]
    count = math.prod(batch)
    wide = tensor_of(reshape(matrix, (count, *matrix.tensor.shape[-2:])))
    found = [recorder.declare("t", (count, *shape), dtype) for shape, dtype in parts.values()]
    with recorder.loop(count) as k:
        for into, x in zip(found, one(wide.select(0, k)), strict=True):
            recorder.copy(x, into.select(0, k))
    return [reshape(recorder.array(x), (*batch, *x.shape[1:])) for x in found]


def _named(function: Callable, *values: Array) -> Any:
    """Return results in the named tuple that NumPy's function returns."""
    kind: Any = type(function(np.eye(1)))
    return values if kind is tuple else kind(*values)


@rule(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> Any:  # noqa: N803 (NumPy's name)
    matrix = square(a)
    if UPLO.upper() == "U":
        matrix = matrix_transpose(matrix)
    n, dtype = matrix.tensor.shape[-1], matrix.dtype
    w, v = _decomposed(matrix, "eigh", {"w": ((n,), dtype), "v": ((n, n), dtype)}, _eigh_vjp)
    return _named(np.linalg.eigh, w, v)


@rule(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:  # noqa: N803 (NumPy's name)
    return eigh(a, UPLO)[0]


def _thin(a: Any) -> tuple[Any, Any, Any]:
    (matrix,) = inexact(a)
    m, n = matrix.tensor.shape[-2:]
    k, dtype = min(m, n), matrix.dtype
    parts = {"u": ((m, k), dtype), "s": ((k,), dtype), "v": ((k, n), dtype)}
    u, s, v = _decomposed(matrix, "svd", parts, _svd_vjp)
    return u, s, v


@rule(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    (matrix,) = inexact(a)
    u, s, v = _thin(matrix)
    if not compute_uv:
        return s
    if full_matrices and matrix.shape[-2] != matrix.shape[-1]:
        raise ParseError(
            "numpy.linalg.svd: vectors beside those of singular values have no derivative: pass full_matrices=False"
        )
    return _named(np.linalg.svd, u, s, v)


@rule(np.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    return _thin(x)[1]


@rule(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    matrix: Any = inexact(a)[0]
    m, n = matrix.tensor.shape[-2:]
    if mode not in ("reduced", "r") and not (mode == "complete" and m <= n):
        raise ParseError(f"numpy.linalg.qr: mode='{mode}' has no derivative: use 'reduced', or 'r'")
    dtype, square_ = matrix.dtype, min(m, n)
    left = matrix if m >= n else matrix[..., :m]
    q: Any
    r: Any
    q, r = _decomposed(left, "qr", {"q": ((m, square_), dtype), "r": ((square_, square_), dtype)}, _qr_vjp)
    if m < n:
        r = np.concatenate([r, matrix_transpose(q) @ matrix[..., m:]], axis=-1)
    return r if mode == "r" else _named(np.linalg.qr, q, r)


@rule(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    (matrix,) = inexact(a)
    recorder: Any = matrix.recorder
    if matrix.ndim != 2:
        raise ParseError("numpy.linalg.pinv of a stack of matrices is not recorded: write a loop")
    m, n = matrix.tensor.shape
    given = rcond if rcond is not None else rtol
    least = float(given) if given is not None else 1e-15

    def make(a: Tensor, made: Mapping[str, Tensor]) -> None:
        u, s, v = _thin(recorder.array(a))
        kept = s > least * np.max(s)
        inverse = np.where(kept, 1.0 / np.where(kept, s, 1.0), 0.0)
        found = matrix_transpose(v) @ (inverse[:, None] * matrix_transpose(u))
        recorder.copy(tensor_of(found), made["p"])

    (found,) = _with_rule(recorder, tensor_of(matrix), "pinv", {"p": ((n, m), matrix.dtype)}, _pinv_vjp, make)
    return recorder.array(found)


@rule(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:  # noqa: N803
    (matrix,) = inexact(A)
    if matrix.ndim < 2:
        return (np.abs(matrix) > 0.0).any() * 1
    s = _thin(matrix)[1]
    relative = max(matrix.shape[-2:]) * np.finfo(matrix.dtype).eps if rtol is None else rtol
    limit = np.max(s, axis=-1, keepdims=True) * relative if tol is None else tol
    return np.sum(s > limit, axis=-1)


@rule(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    (matrix,) = inexact(x)
    if p in (None, 2, -2):
        s = _thin(matrix)[1]
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return np.linalg.norm(matrix, p, axis=(-2, -1)) * np.linalg.norm(np.linalg.inv(matrix), p, axis=(-2, -1))


@rule(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    matrix, right = inexact(a, b)
    m, n = matrix.shape
    least = np.finfo(matrix.dtype).eps * max(m, n) if rcond is None else rcond
    found = pinv(matrix, least) @ right
    rest = right - matrix @ found
    squares = np.sum(rest * rest, axis=0)
    if m <= n:
        squares = np.zeros(0, matrix.dtype)
    elif right.ndim == 1:
        squares = np.reshape(squares, 1)
    s = _thin(matrix)[1]
    return found, squares, np.sum(s > least * np.max(s)), s


# -- SciPy's
@rule(scipy.linalg.eigh)
def scipy_eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    side = "L" if lower else "U"
    if b is None:
        w, v = eigh(a, side)
        return w if eigvals_only else (w, v)
    matrix = square(a)
    whole = _copied_below(matrix if lower else matrix_transpose(matrix))
    factor = cholesky(b if lower else matrix_transpose(square(b)))
    half = solve_triangular(factor, whole, lower=True)
    w, y = eigh(matrix_transpose(solve_triangular(factor, matrix_transpose(half), lower=True)))
    return w if eigvals_only else (w, solve_triangular(factor, y, trans=1, lower=True))


@rule(scipy.linalg.eigvalsh)
def scipy_eigvalsh(a: Any, b: Any = None, *, lower: bool = True, **more: Any) -> Any:
    return scipy_eigh(a, b, lower=lower, eigvals_only=True, **more)


@rule(scipy.linalg.svd)
def scipy_svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    found = svd(a, full_matrices, compute_uv)
    return tuple(found) if compute_uv else found


@rule(scipy.linalg.svdvals)
def scipy_svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return _thin(a)[1]


@rule(scipy.linalg.qr)
def scipy_qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    if pivoting:
        raise ParseError("scipy.linalg.qr: pivoting=True is not recorded")
    if mode == "r" and inexact(a)[0].shape[-2] > inexact(a)[0].shape[-1]:
        raise ParseError("scipy.linalg.qr: mode='r' returns rows of zeros: use mode='economic'")
    found = qr(a, {"full": "complete", "economic": "reduced"}.get(mode, mode))
    return (found,) if mode == "r" else tuple(found)


@rule(scipy.linalg.pinv)
def scipy_pinv(
    a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False, check_finite: bool = True
) -> Any:
    if atol is not None or return_rank:
        raise ParseError("scipy.linalg.pinv: atol and return_rank are not recorded; use rtol")
    (matrix,) = inexact(a)
    return pinv(matrix, max(matrix.shape) * np.finfo(matrix.dtype).eps if rtol is None else rtol)


@rule(scipy.linalg.polar)
def polar(a: Any, side: str = "right") -> Any:
    u, s, v = _thin(a)
    middle = (matrix_transpose(v) * s) @ v if side == "right" else (u * s) @ matrix_transpose(u)
    return u @ v, middle
