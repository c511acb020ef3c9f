"""Find a few eigenvalues or singular values of sparse matrices.

SciPy finds them at run time. With ``A v = w v``: ``dw = v^H dA v``, and ``dv = (w - A)^+ dA v``, of a Hermitian dA. The
cotangent g of v needs ``u = (w - A)^+ g``, which solves ``(A - w) u + v m = -g``, ``v^H u = 0``: this matrix has an
inverse where w is a simple eigenvalue. The systems of all pairs are blocks of one sparse system.

Singular values of A are the positive eigenvalues of ``[[0, A], [A^H, 0]]``, whose vectors are pairs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse.linalg as solvers

from sdgrad.errors import ParseError
from sdgrad.program.custom_rule import COTANGENT
from sdgrad.record.calls import WorksInside
from sdgrad.record.elements import Element, element
from sdgrad.record.functions.matrix_calls import as_rule, conjugate_transpose, real_type
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.table import active, array, rule
from sdgrad.record.sparse.arithmetic import of_type
from sdgrad.record.sparse.matrix import Kind, Sparse, is_sparse
from sdgrad.record.sparse.places import each_place
from sdgrad.record.sparse.solves import How, called, elements, in_one_type, known_number, solution

ANY_SIGN = 1e9  # what SciPy begins with by chance has vectors of any sign: they are not compared with its own


@dataclass(frozen=True, eq=False)
class Rule(WorksInside):
    """The adjoint of a search: what it begins with decides nothing.

    :param names: the operands; ``reads``: further values that the function takes; ``of``: results with a cotangent.
    """

    function: Callable
    names: tuple[str, ...]
    reads: tuple[str, ...]
    of: tuple[str, ...]
    how: How

    @property
    def __name__(self) -> str:
        return "eigenvalues"

    @property
    def __signature__(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        given = (*self.names, *self.reads, *(COTANGENT + n for n in self.of))
        return inspect.Signature([inspect.Parameter(n, kind) for n in given])

    def __call__(self, *values: Any) -> Any:
        """Record the cotangents of the operands that have one."""
        given = dict(zip(self.__signature__.parameters, values, strict=True))
        matrix = (given[n] for n in ("data", "first", "second"))
        start = given.get("x0")
        more = (given[n] for n in (*self.reads, *(COTANGENT + n for n in self.of)))
        found = self.function(*matrix, *more, self.how, start)
        return found if start is None else (found, np.zeros_like(start))


# -- eigenvalues
def _pairs(data: Any, first: Any, second: Any, start: Any, how: How) -> list[Any]:
    """Record the search for eigenvalues, and perhaps their vectors."""
    k, n = how["options"]["k"], how["shape"][0]
    operands = {"data": array(data), "first": array(first), "second": array(second)}
    operands |= {} if start is None else {"x0": array(start)}
    parts: dict[str, Any] = {"w": ((k,), real_type(operands["data"].dtype))}
    names = tuple(operands)
    if not how["vectors"]:
        return called(operands, parts, how, Rule(_values_alone, names, ("w",), ("w",), how), {})
    parts["v"] = ((n, k), operands["data"].dtype)
    of_values = Rule(_values, names, ("v",), ("w",), how)
    return called(
        operands, parts, how, Rule(_vectors, names, ("w", "v"), ("w", "v"), how), {frozenset({"w"}): of_values}
    )


@as_rule
def _values(data: Any, first: Any, second: Any, v: Any, grad_w: Any, how: How, start: Any) -> Any:
    return elements(how, first, second, v * grad_w, np.conj(v), data)


@as_rule
def _values_alone(data: Any, first: Any, second: Any, w: Any, grad_w: Any, how: How, start: Any) -> Any:
    """Find the vectors, which SciPy gives in another order than values alone."""
    own, v = _pairs(data, first, second, start, {**how, "vectors": True})
    sorted_of, own_of = np.argsort(w), np.argsort(own)
    ascending = np.take_along_axis(grad_w, sorted_of, axis=0)
    grad = np.take_along_axis(ascending, np.argsort(own_of), axis=0)
    return _values(data, first, second, v, grad, how, start)


@as_rule
def _vectors(data: Any, first: Any, second: Any, w: Any, v: Any, grad_w: Any, grad_v: Any, how: How, start: Any) -> Any:
    """Return half the sum of a matrix and its adjoint: a Hermitian matrix stays one."""
    places = each_place(Sparse(data, first, second, Kind(how["format"], True, how["shape"])))
    left = v * grad_w + _shifted(data, *places, w, v, grad_v)
    return elements(how, first, second, np.hstack([left, v]) / 2, np.conj(np.hstack([v, left])), data)


@as_rule
def _shifted(data: Any, rows: Any, columns: Any, w: Any, v: Any, g: Any) -> Any:
    """Return ``(w - A)^+ g``, of a Hermitian matrix of elements at places, for each of some eigenvalues."""
    (n, k), turned = v.shape, np.reshape(np.transpose(v), (-1,))
    parts = [np.tile(data, k), np.repeat(-w, n).astype(data.dtype), turned, np.conj(turned)]
    at_rows, at_columns = tensor_of(rows), tensor_of(columns)
    inner, last = (lambda i: i), (lambda i: n)
    places = [
        np.concatenate([_in_blocks(v, k, size, n, at) for size, at in lists])
        for lists in (
            ((data.shape[0], lambda i: at_rows[i]), (n, inner), (n, inner), (n, last)),
            ((data.shape[0], lambda i: at_columns[i]), (n, inner), (n, last), (n, inner)),
        )
    ]
    own_rows, own_columns = places
    system = Sparse(np.concatenate(parts), own_rows, own_columns, Kind("coo", True, (k * (n + 1), k * (n + 1))))
    zeros = v.recorder.array(v.recorder.compute((1, k), data.dtype, lambda i, j: element(0, data.dtype)))
    right = np.reshape(np.transpose(np.concatenate([-g, zeros])), (-1,))
    found = solution(system, right, {"method": "direct", "order": None, "strict": False})[0]
    return np.transpose(np.reshape(found, (k, n + 1))[:, :n])


def _in_blocks(v: Any, k: int, size: int, n: int, at: Callable) -> Any:
    """Return places in each of some blocks on the diagonal of a matrix."""

    def place(j: Any, i: Any) -> Any:
        own = at(i)
        return element(j, np.int64) * (n + 1) + (own.astype(np.int64) if isinstance(own, Element) else own)

    found = v.recorder.compute((k, size), np.dtype(np.int64), place)
    return np.reshape(v.recorder.array(found), (-1,))


@rule(solvers.eigsh)
def eigsh(A: Any, k: Any = 6, M: Any = None, sigma: Any = None, which: Any = "LM", v0: Any = None, ncv: Any = None,
          maxiter: Any = None, tol: Any = 0, return_eigenvectors: Any = True, Minv: Any = None, OPinv: Any = None,
          mode: Any = "normal", rng: Any = None) -> Any:  # noqa: N803  # fmt: skip
    if not is_sparse(A):
        raise ParseError("scipy.sparse.linalg.eigsh of something else than a sparse matrix is not recorded: "
                         "use np.linalg.eigh of a dense one")  # fmt: skip
    if M is not None or Minv is not None or OPinv is not None or mode != "normal":
        raise ParseError("scipy.sparse.linalg.eigsh: M=, Minv=, OPinv= and mode= are not recorded: "
                         "use scipy.linalg.eigh(A.toarray(), M.toarray())")  # fmt: skip
    (rows, columns), count = A.shape, int(known_number(k, "k"))
    if rows != columns:
        raise ValueError(f"expected square matrix (shape={A.shape})")
    if count <= 0:
        raise ValueError("k must be greater than 0.")
    if count >= rows:
        raise TypeError("Cannot use scipy.linalg.eigh for sparse A with k >= N. Use scipy.linalg.eigh(A.toarray()) or "
                        "reduce k.")  # fmt: skip
    options = {"sigma": sigma, "ncv": ncv, "maxiter": maxiter, "tol": tol}
    how, start, data = _search(A, "eigsh", options, count, which, v0, rng, rows, bool(return_eigenvectors))
    how["vectors"] = bool(return_eigenvectors)
    found = _pairs(data, A.first, A.second, start, how)
    return tuple(found) if return_eigenvectors else found[0]


def _search(
    a: Sparse, method: str, options: dict[str, Any], k: int, which: Any, v0: Any, rng: Any, n: int, signed: bool
) -> tuple[How, Any, Any]:
    """Return what a search is and begins with, and the data of its matrix in a type that it has.

    :param n: elements that the vector has which it begins with.
    :param signed: the signs of results depend on that.
    """
    if not isinstance(which, str):
        raise ParseError(f"scipy.sparse.linalg.{method}: which= is a text that is known when recording")
    own = {name: known_number(v, name) for name, v in options.items()}
    own = {"k": k, "which": which, **{name: v for name, v in own.items() if v is not None}}
    data, _ = in_one_type(a, array(a.data))
    if rng is None and v0 is None and signed:
        active().hints.rough = ANY_SIGN
    if v0 is None:
        own["rng"] = 0 if rng is None else _seed(rng, method)
    start = None if v0 is None else of_type(np.reshape(array(v0), (-1,)), data.dtype)
    if start is not None and start.shape != (n,):
        raise ValueError(f"v0 must have shape ({n},), and has {start.shape}")
    return {"method": method, "format": a.kind.format, "shape": a.shape, "options": own}, start, data


def _seed(rng: Any, method: str) -> int:
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool):
        return int(rng)
    raise ParseError(f"scipy.sparse.linalg.{method}: rng= is recorded as an integer; or give v0=")


# -- singular values
@as_rule
def _singular_values(data: Any, first: Any, second: Any, u: Any, vh: Any, grad_s: Any, how: How, start: Any) -> Any:
    return elements(how, first, second, u * grad_s, np.transpose(vh), data)


@as_rule
def _singular_vectors(
    data: Any,
    first: Any,
    second: Any,
    u: Any,
    s: Any,
    vh: Any,
    grad_u: Any,
    grad_s: Any,
    grad_vh: Any,
    how: How,
    start: Any,
) -> Any:
    rows, columns = each_place(Sparse(data, first, second, Kind(how["format"], True, how["shape"])))
    m, v = how["shape"][0], conjugate_transpose(vh)
    pairs = np.concatenate([u, v]), np.concatenate([grad_u, conjugate_transpose(grad_vh)])
    whole = np.concatenate([data, np.conj(data)])
    places = np.concatenate([rows, columns + m]), np.concatenate([columns + m, rows])
    found = _shifted(whole, *places, s, *pairs)
    left = np.hstack([u * grad_s + found[:m], u])
    return elements(how, first, second, left, np.conj(np.hstack([v, found[m:]])), data)


@rule(solvers.svds)
def svds(A: Any, k: Any = 6, ncv: Any = None, tol: Any = 0, which: Any = "LM", v0: Any = None, maxiter: Any = None,
         return_singular_vectors: Any = True, solver: Any = "arpack", rng: Any = None, options: Any = None) -> Any:  # noqa: N803  # fmt: skip
    if not is_sparse(A):
        raise ParseError("scipy.sparse.linalg.svds of something else than a sparse matrix is not recorded: "
                         "use np.linalg.svd of a dense one")  # fmt: skip
    if options is not None or solver not in ("arpack", "propack", "lobpcg"):
        raise ParseError("scipy.sparse.linalg.svds: options= is not recorded, and solver= is 'arpack', 'propack' or "
                         "'lobpcg'")  # fmt: skip
    count, short = int(known_number(k, "k")), min(A.shape)
    if not 0 < count < short + (solver == "propack"):
        raise ValueError("`k` must be an integer satisfying `0 < k < min(A.shape)`.")
    if return_singular_vectors not in (True, False, "vh", "u"):
        raise ValueError("`return_singular_vectors` must be in {True, False, 'u', 'vh'}.")
    more = {"ncv": ncv, "tol": tol, "maxiter": maxiter}
    long = A.shape[0] if solver == "propack" else short
    how, start, data = _search(A, "svds", more, count, which, v0, rng, long, bool(return_singular_vectors))
    how["options"]["solver"] = solver
    u, s, vh = _triples(data, A.first, A.second, start, how)
    if not return_singular_vectors:
        return s
    return (u if return_singular_vectors != "vh" else None), s, (vh if return_singular_vectors != "u" else None)


def _triples(data: Any, first: Any, second: Any, start: Any, how: How) -> Sequence[Any]:
    """Record the search for singular values and their vectors."""
    k, (m, n) = how["options"]["k"], how["shape"]
    operands = {"data": array(data), "first": array(first), "second": array(second)}
    operands |= {} if start is None else {"x0": array(start)}
    dtype, names = operands["data"].dtype, tuple(operands)
    parts = {"u": ((m, k), dtype), "s": ((k,), real_type(dtype)), "vh": ((k, n), dtype)}
    every = ("u", "s", "vh")
    of_values = Rule(_singular_values, names, ("u", "vh"), ("s",), how)
    return called(
        operands, parts, how, Rule(_singular_vectors, names, every, every, how), {frozenset({"s"}): of_values}
    )
