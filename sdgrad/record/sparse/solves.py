"""Solve systems with sparse matrices.

SciPy solves them at run time. Of ``x = A^-1 b`` the cotangent of b is ``u = A^-H g``, and that of an element of A is
``-u[row] conj(x[column])``: of iterative methods too, as if they had gone on to the solution.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse.linalg as solvers

from sdgrad.errors import ParseError
from sdgrad.program.custom_rule import COTANGENT
from sdgrad.record.calls import WorksInside
from sdgrad.record.compound import Compound
from sdgrad.record.functions.matrix_calls import Parts, Some, as_rule, with_rule
from sdgrad.record.functions.parts import tensor_of
from sdgrad.record.functions.table import array, content, known, operand, rule
from sdgrad.record.methods import BoundRule
from sdgrad.record.sparse.arithmetic import of_type, total
from sdgrad.record.sparse.matrix import Kind, Sparse, is_sparse
from sdgrad.record.sparse.places import each_place
from sdgrad.record.sparse.products import sampled, sampled_listed
from sdgrad.record.sparse.repeats import single
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import Array, Number
from sdgrad.runtime.libraries.sparse_solve import CONNECTORS, SparseCall

How = dict[str, Any]
PRECISE = ("f4", "f8", "c8", "c16")


# -- one system
def solution(a: Sparse, b: Any, how: How, more: Mapping[str, Any] | None = None) -> list[Any]:
    """Return what a method gives: the solution, and perhaps how it went.

    :param how: the method and its options, as JSON has them.
    :param more: further operands, without a derivative.
    """
    data, right = in_one_type(a, array(b))
    if right.shape[0] != a.shape[0]:
        raise ValueError(f"matrix - rhs dimension mismatch ({a.shape} - {right.shape[0]})")
    if a.shape[0] != a.shape[1]:
        raise ValueError(f"matrix must be square (has shape {a.shape})")
    own = {"format": a.kind.format, "shape": a.shape, "adjoint": False, **how}
    operands = {"data": data, "first": array(a.first), "second": array(a.second), "b": right}
    operands |= {n: array(x) for n, x in (more or {}).items()}
    return _solved(operands, own)


def in_one_type(a: Sparse, b: Array) -> tuple[Array, Array]:
    dtype = np.result_type(array(a.data).dtype, b.dtype)
    dtype = dtype if dtype.str[1:] in PRECISE else np.result_type(dtype, np.float64)
    if dtype.str[1:] not in PRECISE:
        raise ParseError(f"a sparse system of {dtype} is not recorded: convert it to float64 or complex128")
    return of_type(a.data, dtype), of_type(b, dtype)


def _solved(operands: Mapping[str, Array], how: How) -> list[Any]:
    """Record a call of the node with a rule."""
    right = operands["b"]
    parts: dict[str, tuple[tuple, Any]] = {"x": (right.shape, right.dtype)}
    if how.get("options") is not None:
        parts["info"] = ((), np.int64)
    return called(operands, parts, how, SolveRule(tuple(operands), how), {})


def called(operands: Mapping[str, Array], parts: Parts, how: How, vjp: Any, some: Some) -> list[Any]:
    """Record a call of the node with a rule, and return its results, which are ``parts`` by name."""
    recorder: Any = next(iter(operands.values())).recorder

    def make(own: Mapping[str, Tensor], made: Mapping[str, Tensor]) -> None:
        takes = {f"_{n}": own[n] for n in CONNECTORS if n in own}
        told = [(n[1:], t.shape, str(t.dtype)) for n, t in takes.items()]
        text = json.dumps({**how, "takes": told, "gives": [(t.shape, str(t.dtype)) for t in made.values()]})
        gives = {f"_{n}": t for n, t in made.items()}
        recorder.call_into(SparseCall(text, [*takes], [*gives]), takes, gives)

    tensors = {n: tensor_of(x) for n, x in operands.items()}
    found = with_rule(how["method"], tensors, parts, vjp, make, some, recorder)
    return [recorder.array(t) if t.rank else recorder.read(t, ()) for t in found]


@dataclass(frozen=True, eq=False)
class SolveRule(WorksInside):
    """The adjoint of a solution: where iterations begin and what preconditions them decide nothing.

    :param names: the operands.
    """

    names: tuple[str, ...]
    how: How

    @property
    def __name__(self) -> str:
        return "solve"

    @property
    def __signature__(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(n, kind) for n in (*self.names, "x", COTANGENT + "x")])

    def __call__(self, *values: Any) -> tuple:
        """Record the cotangents of the operands that have one."""
        given = dict(zip(self.__signature__.parameters, values, strict=True))
        more = tuple(given[n] for n in CONNECTORS[5:] if n in given)
        taken = (given[n] for n in ("data", "first", "second", "x", COTANGENT + "x"))
        found = cotangents(*taken, self.how, more)
        idle = (array(given[n]) for n in self.names if n in ("x0", "m_data"))
        return (*found, *(known(np.zeros(x.shape, x.dtype)) for x in idle))


@as_rule
def cotangents(data: Any, first: Any, second: Any, x: Any, g: Any, how: How, more: Any) -> Any:
    """Return the cotangents of the data of a matrix and of the right side."""
    names = dict(zip(CONNECTORS[5:], more, strict=False))
    operands = {"data": data, "first": first, "second": second, "b": g, **names}
    u = _solved({n: array(v) for n, v in operands.items()}, {**how, "adjoint": not how["adjoint"]})[0]
    left, right = (x, np.conj(u)) if how["adjoint"] else (u, np.conj(x))
    return -elements(how, first, second, left, right, data), u


def elements(how: How, first: Any, second: Any, left: Any, right: Any, data: Any) -> Any:
    """Return ``left[row] right[column]`` for each element of a matrix, summed over columns of both."""
    if how["format"] == "coo":
        found = sampled_listed(first, second, left, right)
    else:
        pair = (left, right) if how["format"] == "csr" else (right, left)
        found = sampled(second, first, *pair, data.shape[0])
    if not how.get("unit"):
        return found
    rows, columns = each_place(Sparse(found, first, second, Kind(how["format"], True, how["shape"])))
    return np.where(rows == columns, 0, found)


# -- direct
def _direct(a: Any, b: Any, order: Any, strict: bool) -> Any:
    if not isinstance(order, str | None):
        raise ParseError("permc_spec is a text that is known when recording")
    return solution(_sparse(a), _dense(b), {"method": "direct", "order": order, "strict": strict})[0]


def _sparse(a: Any) -> Sparse:
    if not is_sparse(a):
        raise ParseError("a dense matrix among sparse solvers is not recorded: use np.linalg.solve")
    return a


def _dense(b: Any) -> Array:
    if is_sparse(b):
        raise ParseError("a sparse right side is not recorded: write b.toarray()")
    found = array(b)
    if found.ndim not in (1, 2):
        raise ValueError(f"b must have 1 or 2 dimensions, and has {found.ndim}")
    return found


@rule(solvers.spsolve)
def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:  # noqa: N803 (SciPy's names)
    right = _dense(b)
    found = _direct(A, np.reshape(right, (-1,)) if right.shape[1:] == (1,) else right, permc_spec, False)
    return found


@dataclass(frozen=True, eq=False)
class Factors(Compound):
    """A matrix that is factorized: solutions keep the factorization."""

    matrix: Sparse
    order: Any

    @property
    def parts(self) -> tuple[Any, ...]:
        return self.matrix.parts

    def with_parts(self, parts: Iterable[Any]) -> Factors:
        return Factors(self.matrix.with_parts(parts), self.order)

    def plain(self, parts: Iterable[Any]) -> Any:
        return solvers.splu(self.matrix.plain(parts), permc_spec=self.order)

    def __getattr__(self, name: str) -> Any:
        if name == "shape":
            return self.matrix.shape
        if name == "solve":
            return BoundRule(_solve, self)
        if name.startswith("__"):
            raise AttributeError(name)
        raise ParseError(f"'{name}' of factors of a sparse matrix is not recorded: only solve()")

    def record_call(self, recorder: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        return _solve(self, *args, **kwargs)


def _solve(factors: Factors, rhs: Any, trans: str = "N") -> Any:
    a = factors.matrix
    if trans not in ("N", "T", "H"):
        raise ValueError("trans must be N, T, or H")
    if trans != "N":
        a = a.T if trans == "T" else a.T.conj()
    return _direct(a, rhs, factors.order, True)


@rule(solvers.splu)
def splu(
    A: Any,  # noqa: N803 (SciPy's name)
    permc_spec: Any = None,
    diag_pivot_thresh: Any = None,
    relax: Any = None,
    panel_size: Any = None,
    options: Any = None,
) -> Any:
    if diag_pivot_thresh is not None or options:
        raise ParseError("scipy.sparse.linalg.splu: diag_pivot_thresh= and options= are not recorded")
    return Factors(_sparse(A), permc_spec)


@rule(solvers.factorized)
def factorized(A: Any) -> Any:  # noqa: N803 (SciPy's name)
    return Factors(_sparse(A), None)


@rule(solvers.spsolve_triangular)
def spsolve_triangular(
    A: Any,  # noqa: N803 (SciPy's name)
    b: Any,
    lower: bool = True,
    overwrite_A: bool = False,  # noqa: N803 (SciPy's name)
    overwrite_b: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    how = {"method": "triangular", "lower": bool(lower), "unit": bool(unit_diagonal)}
    return solution(_sparse(A), _dense(b), how)[0]


# -- iterative
def known_number(value: Any, name: str) -> Any:
    """Return an option as a number of Python's."""
    found = content(operand(value)) if value is not None else None
    if value is not None and (found is None or isinstance(found, Number)):
        raise ParseError(f"{name}= of a sparse solver is a number that is known when recording")
    return None if found is None else np.asarray(found).item()


def _iterative(method: str, A: Any, b: Any, x0: Any, M: Any, callback: Any, **options: Any) -> tuple[Any, Any]:  # noqa: N803
    if not is_sparse(A):
        raise ParseError(
            f"scipy.sparse.linalg.{method} of something else than a sparse matrix is not recorded: use "
            "sdgrad.linear_solve, which takes functions, or np.linalg.solve"
        )
    if callback is not None:
        raise ParseError(f"scipy.sparse.linalg.{method}(callback=) is not recorded")
    right = _dense(b)
    own = {n: known_number(v, n) for n, v in options.items()}
    how: How = {"method": method, "options": {n: v for n, v in own.items() if v is not None or n == "maxiter"}}
    more: dict[str, Any] = {}
    vector = array(np.reshape(right, (-1,)))
    if x0 is not None:
        more["x0"] = of_type(np.reshape(array(x0), (-1,)), in_one_type(A, vector)[1].dtype)
    if M is not None:
        if not is_sparse(M):
            raise ParseError(f"scipy.sparse.linalg.{method}: M= is recorded as a sparse matrix only")
        more |= dict(zip(CONNECTORS[5:], map(array, M.parts), strict=True))
        how["m_format"] = M.kind.format
    found, info = solution(A, vector, how, more)
    return found, info


@rule(solvers.cg)
def cg(A: Any, b: Any, x0: Any = None, *, rtol: Any = 1e-05, atol: Any = 0.0, maxiter: Any = None, M: Any = None,
       callback: Any = None) -> Any:  # noqa: N803  # fmt: skip
    return _iterative("cg", A, b, x0, M, callback, rtol=rtol, atol=atol, maxiter=maxiter)


@rule(solvers.bicgstab)
def bicgstab(A: Any, b: Any, x0: Any = None, *, rtol: Any = 1e-05, atol: Any = 0.0, maxiter: Any = None, M: Any = None,
             callback: Any = None) -> Any:  # noqa: N803  # fmt: skip
    return _iterative("bicgstab", A, b, x0, M, callback, rtol=rtol, atol=atol, maxiter=maxiter)


@rule(solvers.gmres)
def gmres(A: Any, b: Any, x0: Any = None, *, rtol: Any = 1e-05, atol: Any = 0.0, restart: Any = None,
          maxiter: Any = None, M: Any = None, callback: Any = None, callback_type: Any = None) -> Any:  # noqa: N803  # fmt: skip
    return _iterative("gmres", A, b, x0, M, callback, rtol=rtol, atol=atol, restart=restart, maxiter=maxiter)


@rule(solvers.minres)
def minres(A: Any, b: Any, x0: Any = None, *, rtol: Any = 1e-05, shift: Any = 0.0, maxiter: Any = None, M: Any = None,
           callback: Any = None, show: bool = False, check: bool = False) -> Any:  # noqa: N803  # fmt: skip
    if known_number(shift, "shift"):
        raise ParseError("scipy.sparse.linalg.minres(shift=) is not recorded: subtract shift * eye(n) from A")
    return _iterative("minres", A, b, x0, M, callback, rtol=rtol, maxiter=maxiter)


# -- norms
@rule(solvers.norm)
def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    a = _sparse(x)
    if axis is not None and axis not in ((0, 1), (1, 0)):
        raise ParseError("scipy.sparse.linalg.norm(axis=) is not recorded: write np.sqrt(A.power(2).sum(axis=..))")
    if ord in (None, "f", "fro"):
        return np.linalg.norm(single(a, "a norm").data)
    if ord in (1, -1, np.inf, -np.inf):
        sums = total(abs(a), 0 if abs(ord) == 1 else 1)
        return np.max(sums) if ord > 0 else np.min(sums)
    raise ParseError(f"scipy.sparse.linalg.norm(ord={ord!r}) is not recorded: use 'fro', 1 or np.inf")
