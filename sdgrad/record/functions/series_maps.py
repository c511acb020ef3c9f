"""Matrices of what is linear in coefficients of series of ``numpy.polynomial``, by NumPy's results for unit series."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import numpy.polynomial as series

from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.table import array, known


@dataclass(frozen=True)
class Family:
    """Hold a module of ``numpy.polynomial``, and what the names of its functions begin with."""

    module: ModuleType
    short: str

    def of(self, name: str) -> Any:
        """Return NumPy's function: ``of("mul")`` is ``chebmul``, say."""
        return getattr(self.module, f"{self.short}{name}")

    def full(self, name: str) -> str:
        return f"{self.module.__name__}.{self.short}{name}"


POWERS = Family(series.polynomial, "poly")
FAMILIES_OF: dict[Any, Family] = {
    series.Polynomial: POWERS,
    series.Chebyshev: Family(series.chebyshev, "cheb"),
    series.Legendre: Family(series.legendre, "leg"),
    series.Hermite: Family(series.hermite, "herm"),
    series.HermiteE: Family(series.hermite_e, "herme"),
    series.Laguerre: Family(series.laguerre, "lag"),
}
"""The modules, by the classes of their series."""


def columns_of(parts: Iterable[np.ndarray]) -> np.ndarray:
    """Return coefficients of several series as columns, with zeros at their ends."""
    own = list(parts)
    found = np.zeros((max(map(len, own)), len(own)))
    for k, c in enumerate(own):
        found[: len(c), k] = c
    return found


def _units(n: int) -> list[np.ndarray]:
    return [row[: k + 1] for k, row in enumerate(np.eye(n))]


@functools.cache
def products(family: Family, n: int, m: int) -> np.ndarray:
    return columns_of(family.of("mul")(a, b) for a in _units(n) for b in _units(m))


@functools.cache
def shifts(family: Family, n: int) -> np.ndarray:
    """Return the matrix of the product with x."""
    return columns_of(map(family.of("mulx"), _units(n)))


@functools.cache
def slopes(family: Family, n: int) -> np.ndarray:
    return columns_of(map(family.of("der"), _units(n)))


@functools.cache
def areas(family: Family, n: int) -> np.ndarray:
    """Return the matrix of the integral that is zero at zero."""
    return columns_of(map(family.of("int"), _units(n)))


@functools.cache
def companions(family: Family, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the companion matrix of the last of n + 1 unit series, and the last columns that others add to it.

    A companion matrix is linear in the quotients of the coefficients and the last one, which its last column holds.
    """
    last = np.eye(n + 1)[n]
    own = family.of("companion")(last)
    more = [family.of("companion")(last + unit)[:, -1] - own[:, -1] for unit in np.eye(n + 1)[:n]]
    return own, np.stack(more, axis=1)


def in_precision(matrix: np.ndarray, dtype: Any) -> Any:
    """Return a known matrix in the precision of coefficients."""
    return known(matrix.astype(np.float32) if dtype in (np.float32, np.complex64) else matrix)


def times(matrix: np.ndarray, c: Any) -> Any:
    """Return a linear map of coefficients along their first axis."""
    own = in_precision(matrix, c.dtype)
    if np.ndim(c) == 1:
        return own @ c
    flat = array(own @ np.reshape(c, (np.shape(c)[0], -1)))
    return np.reshape(flat, (matrix.shape[0], *np.shape(c)[1:]))


def product(family: Family, a: Any, b: Any) -> Any:
    """Return the coefficients of a product of two series."""
    if family is POWERS:
        return np.convolve(a, b)
    outer = array(np.reshape(a[:, None] * b[None, :], -1))
    return times(products(family, np.shape(a)[0], np.shape(b)[0]), outer)


def of_type(c: Any, dtype: Any) -> Any:
    return c if c.dtype == dtype else array(astype(c, dtype))
