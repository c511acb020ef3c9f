"""What the page has rows for: modules, and their public functions; and what needs no rule."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Hashable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import scipy.stats as stats

from sdgrad.record.functions import on_demand
from sdgrad.record.functions.table import FUNCTIONS

on_demand.load()

MODULES = (
    "numpy", "numpy.linalg", "numpy.fft", "scipy.special", "scipy.linalg", "scipy.fft", "scipy.stats", "scipy.signal",
    "scipy.ndimage", "scipy.interpolate", "scipy.integrate", "scipy.optimize", "scipy.spatial.distance",
    "scipy.spatial", "scipy.sparse", "scipy.sparse.linalg",
)  # fmt: skip
POLYNOMIALS = ("polynomial", "chebyshev", "legendre", "hermite", "hermite_e", "laguerre")
REGISTERED_ONLY = (*(f"numpy.polynomial.{n}" for n in POLYNOMIALS), "numpy.lib.stride_tricks")
"""Modules of which only functions with a rule have a row."""
UFUNC_METHODS = ("reduce", "accumulate", "reduceat", "outer", "at")

NO_RULE_NEEDED = {
    "types and their names": "can_cast common_type isdtype issubdtype min_scalar_type mintypecode promote_types "
    "typename",
    "files, texts and memory": "array2string array_repr array_str base_repr binary_repr format_float_positional "
    "format_float_scientific from_dlpack frombuffer fromfile fromregex fromstring genfromtxt get_include "
    "get_printoptions info load loadtxt may_share_memory nested_iters printoptions save savetxt savez "
    "savez_compressed set_printoptions shares_memory show_config show_runtime test",
    "settings": "getbufsize geterr geterrcall setbufsize seterr seterrcall",
    "calendars": "busday_count busday_offset datetime_as_string datetime_data is_busday isnat",
    "known sizes, from which NumPy makes known arrays": "bartlett blackman broadcast_shapes diag_indices fromfunction "
    "fromiter hamming hanning indices isfortran iterable mask_indices tril_indices triu_indices",
    "the class of matrices": "asmatrix bmat",
}
"""Functions of NumPy that have no derivative to miss, by what they are about."""
_APART = {name for names in NO_RULE_NEEDED.values() for name in names.split()}
CALLED_OTHERWISE = ("vectorize", "r_", "c_")
"""What is neither a function nor a type of numbers, and is there all the same."""
NOT_A_FUNCTION = ("Error", "Warning", "Result", "Results", "Method")
MULTIVARIATE: type = next(k for k in type(stats.dirichlet).__mro__ if k.__name__ == "multi_rv_generic")


@dataclass(frozen=True)
class Section:
    """A heading, the name of its module (that of other libraries' lists too), and functions by their name."""

    title: str
    module: str
    members: dict[str, Any]


def module_of(name: str) -> ModuleType:
    return importlib.import_module(name)


def without_rule() -> dict[str, list[str]]:
    """The groups of functions that need no rule, without those that have one all the same."""
    groups = {about: names.split() for about, names in NO_RULE_NEEDED.items()}
    found = {about: [n for n in names if not has_rule(getattr(np, n))] for about, names in groups.items()}
    return found | {"types, called to convert a value": [n for n in dir(np) if is_type(getattr(np, n))]}


def is_type(value: Any) -> bool:
    """True of a type of numbers that converts recorded values."""
    return isinstance(value, type) and issubclass(value, np.generic) and has_rule(value)


def is_distribution(value: Any) -> bool:
    return isinstance(value, (stats.rv_continuous, stats.rv_discrete, MULTIVARIATE))


def has_rule(value: Any) -> bool:
    """True of what is registered."""
    return isinstance(value, Hashable) and value in FUNCTIONS


def _is_function(name: str, value: Any) -> bool:
    """True of what a program calls with numbers: no error, no module, no class of results."""
    if inspect.ismodule(value) or not callable(value) or is_distribution(value) or name.startswith("_"):
        return False
    return not (isinstance(value, type) and (issubclass(value, BaseException) or name.endswith(NOT_A_FUNCTION)))


def _of_numpy(name: str, value: Any) -> bool:
    if isinstance(value, type):
        return name in CALLED_OTHERWISE
    return has_rule(value) or name in CALLED_OTHERWISE or callable(value) and name not in _APART


def public(module: str) -> dict[str, Any]:
    """The public functions of a module."""
    own = module_of(module)
    names = dir(own) if module.startswith("numpy") else own.__all__
    found = {n: getattr(own, n) for n in sorted(set(names)) if not n.startswith("_")}
    if module.startswith("numpy"):
        return {n: f for n, f in found.items() if not inspect.ismodule(f) and _of_numpy(n, f)}
    return {n: f for n, f in found.items() if _is_function(n, f) or has_rule(f)}


def _distributions() -> dict[str, Any]:
    return {n: d for n in sorted(dir(stats)) if is_distribution(d := getattr(stats, n))}


def _methods() -> dict[str, Any]:
    return {n: f for n in sorted(dir(np.ndarray)) if callable(f := getattr(np.ndarray, n)) and not n.startswith("_")}


def sections() -> list[Section]:
    """All sections of the page, in its order."""
    found = [Section(m, m, public(m)) for m in MODULES]
    found[1:1] = [
        Section("methods of universal functions", "numpy.ufunc", {n: getattr(np.ufunc, n) for n in UFUNC_METHODS}),
        Section("methods of arrays", "numpy.ndarray", _methods()),
    ]
    at = [s.title for s in found].index("scipy.stats") + 1
    found.insert(at, Section("scipy.stats: distributions", "scipy.stats", _distributions()))
    for name in REGISTERED_ONLY:
        found.append(Section(name, name, {n: f for n, f in public(name).items() if has_rule(f)}))
    return [s for s in found if s.members]
