"""Define the library node that solves sparse systems, and finds eigenvalues: SciPy does so, called at run time.

A direct solution keeps its factorization, for the adjoint system and for further right sides.
"""

from __future__ import annotations

import json
import threading
import warnings
import zlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import dace
import dace.library
import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as solvers
from dace import nodes as nd
from dace import properties
from dace.transformation.transformation import ExpandTransformation

from sdgrad.runtime.compile.python_call import array_at, calling, failed
from sdgrad.runtime.libraries import sparse_eigen

CONNECTORS = ("data", "first", "second", "b", "x0", "m_data", "m_first", "m_second")
RESULTS = ("x", "info", "w", "v", "u", "s", "vh")
CLASSES = {"csr": sp.csr_array, "csc": sp.csc_array, "coo": sp.coo_array}
MOST_NUMBERS = 1 << 24  # in the factors that are kept
ITERATIVE: dict[str, Callable] = {n: getattr(solvers, n) for n in ("cg", "gmres", "bicgstab", "minres")}


class Factorizations:
    """Keep the latest factorizations, by what was factorized."""

    def __init__(self) -> None:
        self.kept: OrderedDict[tuple, tuple[list[np.ndarray], Any]] = OrderedDict()
        self.lock = threading.Lock()

    def of(self, matrix: Any, parts: Sequence[np.ndarray], order: str | None) -> Any:
        """Return the factorization of a matrix that is made of these arrays.

        :raises RuntimeError: it is singular.
        """
        sums = tuple(zlib.crc32(np.ascontiguousarray(p).tobytes()) for p in parts)
        key = (matrix.format, matrix.shape, order, *((p.dtype.str, p.shape) for p in parts), *sums)
        with self.lock:
            found = self.kept.get(key)
            if found is not None and all(map(_same, found[0], parts)):
                self.kept.move_to_end(key)
                return found[1]
        made = solvers.splu(_compressed(matrix), permc_spec=order)
        with self.lock:
            self.kept[key] = ([p.copy() for p in parts], made)
            while len(self.kept) > 1 and sum(f.nnz for _, f in self.kept.values()) > MOST_NUMBERS:
                self.kept.popitem(last=False)
        return made


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    """True if two arrays hold the same bytes: what is not a number is equal to itself."""
    return bool(np.array_equal(a.view(np.uint8), np.ascontiguousarray(b).view(np.uint8)))


def _compressed(matrix: Any) -> Any:
    """Return a matrix in the form that SuperLU takes."""
    made = matrix.tocsc()
    if made is matrix:
        made = matrix.copy()
    made.sum_duplicates()
    return made


FACTORIZATIONS = Factorizations()


# -- what a node computes
def direct(matrix: Any, parts: Sequence[np.ndarray], given: Mapping[str, np.ndarray], how: Mapping[str, Any]) -> list:
    """Solve by factors; a singular matrix has a warning and NaN, as of ``spsolve``, or an error, as of ``splu``."""
    b = given["b"]
    try:
        factors = FACTORIZATIONS.of(matrix, parts, how["order"])
    except RuntimeError as error:
        if how["strict"] or "singular" not in str(error):
            raise
        warnings.warn("Matrix is exactly singular", solvers.MatrixRankWarning, stacklevel=2)
        return [np.full(b.shape, np.nan, b.dtype)]
    return [factors.solve(b, "H" if how["adjoint"] else "N")]


def triangular(
    matrix: Any, parts: Sequence[np.ndarray], given: Mapping[str, np.ndarray], how: Mapping[str, Any]
) -> list:
    """Solve by substitution.

    :raises ValueError: the matrix has elements beside the triangle.
    """
    lower = how["lower"]
    if (sp.triu(matrix, 1) if lower else sp.tril(matrix, -1)).nnz:
        raise ValueError("spsolve_triangular: A has elements beside the triangle that it is said to be")
    if how["adjoint"]:
        matrix, lower = matrix.conj().T, not lower
    return [solvers.spsolve_triangular(matrix.tocsr(), given["b"], lower, unit_diagonal=how["unit"])]


def iterative(
    matrix: Any, parts: Sequence[np.ndarray], given: Mapping[str, np.ndarray], how: Mapping[str, Any]
) -> list:
    """Solve step by step.

    :raises RuntimeError: the adjoint system is not solved: there is no gradient.
    """
    preconditioner = None
    if "m_data" in given:
        preconditioner = _matrix(how["m_format"], matrix.shape, *(given[f"m_{n}"] for n in CONNECTORS[:3]))
    options = dict(how["options"])
    if how["adjoint"]:
        matrix = matrix.conj().T
        preconditioner = None if preconditioner is None else preconditioner.conj().T
        if "atol" in options:  # of another right side
            options["atol"] = 0.0
        options["rtol"] = options["rtol"] or (1e-8 if given["b"].real.dtype.itemsize == 8 else 1e-5)
    method = ITERATIVE[how["method"]]
    found, info = method(matrix, given["b"], given.get("x0"), M=preconditioner, **options)
    if how["adjoint"] and info:
        raise RuntimeError(
            f"{how['method']} does not solve the adjoint system (info={info}), which the gradient needs: give it more "
            "steps by maxiter=, or a larger rtol="
        )
    return [found, np.int64(info)]


METHODS: dict[str, Callable] = {
    "direct": direct,
    "triangular": triangular,
    **dict.fromkeys(ITERATIVE, iterative),
    **sparse_eigen.METHODS,
}


def _matrix(format: str, shape: Sequence[int], data: np.ndarray, first: np.ndarray, second: np.ndarray) -> Any:
    given = (data, (first, second)) if format == "coo" else (data, first, second)
    return CLASSES[format](given, shape=tuple(shape))


def run(text: str, inputs: Sequence[int], outputs: Sequence[int]) -> bool:
    """Call a method with arrays at these addresses: generated code calls this."""
    how = json.loads(text)
    targets = [array_at(a, s, d) for a, (s, d) in zip(outputs, how["gives"], strict=True)]
    try:
        given = {n: array_at(a, s, d) for a, (n, s, d) in zip(inputs, how["takes"], strict=True)}
        parts = [given[n] for n in CONNECTORS[:3]]
        found = METHODS[how["method"]](_matrix(how["format"], how["shape"], *parts), parts, given, how)
        for target, value in zip(targets, found, strict=True):
            target[...] = value
    except BaseException as error:  # noqa: BLE001 (it must not pass through C)
        failed(error, targets)
    return True


# -- the node
@dace.library.expansion
class ExpandSparseCall(ExpandTransformation):
    """Expand to the tasklet that calls."""

    environments: ClassVar[list] = []

    @staticmethod
    def expansion(node: SparseCall, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> dace.SDFG:
        inputs = {e.dst_conn: sdfg.arrays[e.data.data] for e in state.in_edges(node)}
        outputs = {e.src_conn: sdfg.arrays[e.data.data] for e in state.out_edges(node)}
        takes = {f"_{n}": inputs[f"_{n}"] for n in CONNECTORS if f"_{n}" in inputs}
        gives = {f"_{n}": outputs[f"_{n}"] for n in RESULTS if f"_{n}" in outputs}
        return calling(node.label, __name__, node.text.replace('"', r"\""), takes, gives)


@dace.library.node
class SparseCall(nd.LibraryNode):
    """Call SciPy with the sparse matrix of ``_data``, ``_first`` and ``_second``, and perhaps a right side ``_b``."""

    implementations: ClassVar[dict[str, type]] = {"python": ExpandSparseCall}
    default_implementation: ClassVar[str] = "python"

    text = properties.Property(dtype=str, default="", desc="What is called and how, as JSON")

    def __init__(self, text: str = "", takes: Sequence[str] = (), gives: Sequence[str] = ("_x",)) -> None:
        super().__init__("sparse_call", inputs=set(takes), outputs=set(gives))
        self.text = text
