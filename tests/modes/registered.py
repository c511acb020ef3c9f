"""The names of all functions that have a rule, and which of them no line of a table calls."""

from __future__ import annotations

import cmath
import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.sparse.linalg
import scipy.spatial.distance
import scipy.special
import scipy.stats

import sdgrad
from sdgrad.record.functions import on_demand
from sdgrad.record.functions.matrix_calls import OF_RULES
from sdgrad.record.functions.table import FUNCTIONS, METHODS, full_name
from sdgrad.record.templates import INTEGER_UFUNCS, PAIR_UFUNCS, REAL_UFUNCS, UFUNCS

on_demand.load()
POLYNOMIALS = ("chebyshev", "legendre", "hermite", "hermite_e", "laguerre")
PLACES: dict[str, Any] = {
    "np": np, "np.linalg": np.linalg, "np.fft": np.fft, "np.polynomial.polynomial": np.polynomial.polynomial,
    **{f"np.polynomial.{n}": getattr(np.polynomial, n) for n in POLYNOMIALS},
    "np.lib.stride_tricks": np.lib.stride_tricks,
    "special": scipy.special, "linalg": scipy.linalg, "fft": scipy.fft, "math": math, "cmath": cmath, "sdgrad": sdgrad,
    "stats": scipy.stats, "interpolate": scipy.interpolate, "signal": scipy.signal, "ndimage": scipy.ndimage,
    "distance": scipy.spatial.distance, "integrate": scipy.integrate, "sparse": scipy.sparse,
    "sparse.linalg": scipy.sparse.linalg, "optimize": scipy.optimize,
}  # fmt: skip
"""Modules, by the names that lines call them."""

OF_TEMPLATES = {getattr(np, n) for n in (*UFUNCS, *REAL_UFUNCS, *INTEGER_UFUNCS, *PAIR_UFUNCS, "divmod")}
"""Universal functions with an expression in C++."""

OPTIMIZERS = (
    *("root", "fsolve", "root_scalar", "brentq", "brenth", "bisect", "ridder", "toms748", "newton", "fixed_point"),
    *("minimize", "minimize_scalar", "least_squares", "leastsq", "curve_fit", "Bounds", "nnls"),
)
INTEGRATORS = ("quad", "quad_vec", "fixed_quad", "dblquad", "tplquad", "nquad", "solve_ivp", "odeint")
TURNS = (".apply", ".magnitude", ".concatenate", ".align_vectors")
ROTATIONS = ("matrix", "quat", "rotvec", "euler", "mrp")
SHORT = {"polynomial": "poly", "chebyshev": "cheb", "legendre": "leg", "hermite": "herm", "hermite_e": "herme"}
SHORT["laguerre"] = "lag"
GRIDS = ("val2d", "val3d", "grid2d", "grid3d", "vander2d", "vander3d")
SERIES = [f"np.polynomial.{k}.{n}{of}" for k, n in SHORT.items() for of in GRIDS]
SERIES += [f"np.polynomial.{k}.{n}" for k, s in SHORT.items() if s != "poly" for n in (f"{s}2poly", f"poly2{s}")]
ARITHMETIC = [
    f"np.polynomial.{k}.{s}{n}"
    for k, s in SHORT.items()
    for n in ("add", "sub", "mul", "mulx", "div", "pow", "line", "fromroots", "companion", "roots", "fit", "der", "int")
]
ARITHMETIC += [f"np.polynomial.{k}.{s}weight" for k, s in SHORT.items() if s != "poly"]
ARITHMETIC += ["np.polynomial.polynomial.polyvalfromroots", "np.polynomial.chebyshev.chebinterpolate"]
FORMS = [f"linalg.{n}" for n in ("schur", "hessenberg", "ldl", "qz", "ordqz", "rsf2csf")]
ELSEWHERE = {
    **dict.fromkeys((f"integrate.{n}" for n in INTEGRATORS), "tests/solvers/test_scipy_integrate.py"),
    "np.ndenumerate": "tests/record/test_equal_places.py",
    "np.roots": "tests/record/test_counting.py", "np.frompyfunc": "tests/record/test_counting.py",
    "np.lib.stride_tricks.as_strided": "tests/record/test_memory_layout.py",
    "sdgrad.jvp": "the modes themselves", "sdgrad.linearize": "tests/api", "sdgrad.hvp": "tests/api",
    **dict.fromkeys(
        ("numpy.lib.poly1d.__call__", *(f"numpy.polynomial.ABCPolyBase.{n}" for n in ("__call__", "fit", "fromroots"))),
        "tests/record/test_polynomial_objects.py",
    ),
    ".__call__": "tests/record/test_interpolators.py", ".freeze": "tests/record/test_distributions.py",
    **dict.fromkeys(
        (f"optimize.{n}" for n in OPTIMIZERS),
        "tests/solvers/test_scipy_optimize.py",
    ),
    **dict.fromkeys(FORMS, "tests/record/test_matrix_functions.py"),
    **{f"special.hankel{kind}": "tests/record/test_further_distributions.py" for kind in ("1", "2", "1e", "2e")},
    **dict.fromkeys(("special.itairy", "special.stdtridf"), "tests/record/test_special_extremes.py"),
    **dict.fromkeys(("interpolate.sproot", ".solve"), "tests/record/test_spline_zeros.py"),
    "signal.tf2zpk": "tests/record/test_transfer_functions.py",
    "optimize.linear_sum_assignment": "tests/solvers/test_scipy_assignments.py",
    "sparse.linalg.expm_multiply": "tests/solvers/test_exponential_action.py",
    "sdgrad.vjp": "the modes themselves", "sdgrad.pure_callback": "tests/record/test_callbacks.py",
    **{f"sparse.{format}_{kind}": "tests/record/test_sparse_values.py" for format in ("csr", "csc", "coo", "dia")
       for kind in ("matrix", "array")},
    **{f"sparse.{format}_{kind}": "tests/record/test_sparse_formats.py" for format in ("lil", "dok")
       for kind in ("matrix", "array")},
    **{f"sparse.bsr_{kind}": "tests/record/test_sparse_formats.py" for kind in ("matrix", "array")},
    **dict.fromkeys(
        (*TURNS, *(f".{d}_{n}" for n in ROTATIONS for d in ("as", "from"))),
        "tests/record/test_rotations.py",
    ),
    **{f"scipy.spatial.transform.{n}": "tests/record/test_rotations.py" for n in ("Slerp", "RotationSpline")},
    **dict.fromkeys(SERIES, "tests/record/test_polynomial_series.py"),
    **dict.fromkeys(ARITHMETIC, "tests/record/test_polynomial_arithmetic.py"),
    "stats.kruskal": "tests/record/test_hypothesis_tests.py", "sdgrad.checkpoint_name": "tests/api/test_checkpoint.py",
    **{f"sparse.{name}": "tests/record/test_sparse_values.py" for name in (
        "diags", "diags_array", "spdiags", "hstack", "vstack", "bmat", "block_array", "block_diag", "kron", "kronsum",
        "triu", "tril", "find", "issparse", "isspmatrix", "isspmatrix_csr", "isspmatrix_csc", "isspmatrix_coo")},
    **{f"sparse.linalg.{name}": "tests/record/test_sparse_solves.py" for name in (
        "spsolve", "splu", "factorized", "spsolve_triangular", "cg", "gmres", "bicgstab", "minres", "norm")},
    **dict.fromkeys(("sparse.linalg.eigsh", "sparse.linalg.svds"), "tests/record/test_sparse_eigenvalues.py"),
}  # fmt: skip
"""Registered functions that are no functions of arrays, and where they are tested."""

WITHOUT_DERIVATIVES = {*FORMS}
"""Those of them whose values move with the arguments, and have no derivative here."""


def names_of(function: Any) -> list[str]:
    """The names by which lines can call a function."""
    found = [
        f"{place}.{name}"
        for place, module in PLACES.items()
        for name in (*dir(module), "row_stack")
        if getattr(module, name, None) is function
    ]
    owner, _, method = getattr(function, "__qualname__", "").rpartition(".")
    if owner and getattr(function, "__module__", "").startswith("scipy."):  # of objects, whatever their class is
        return [f".{method}"]
    return found or [full_name(function)]


def registered() -> dict[str, list[str]]:
    """All registered functions and methods, by their first name: the ways to call them.

    Those of mpi4py need several processes: ``tests/distributed``.
    """
    found = {names[0]: names for names in map(names_of, {*FUNCTIONS, *OF_TEMPLATES} - OF_RULES)}
    found = {name: ways for name, ways in found.items() if not name.startswith("mpi4py.")}
    return found | {f".{name}": [f".{name}"] for name in METHODS}


def missing(texts: Iterable[str]) -> list[str]:
    """What no text calls."""
    joined = "\n".join(texts)
    used = set(re.findall(r"[\w.]+", joined)) | {f".{m}" for m in re.findall(r"\.(\w+)\(", joined)}
    return sorted(n for n, ways in registered().items() if not used & set(ways) and n not in ELSEWHERE)
