"""Polynomials of several variables of ``numpy.polynomial``, and series as factors of powers and back."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.functions.polynomial_series import inexact, vander_of
from sdgrad.record.functions.polynomials import FAMILIES
from sdgrad.record.functions.table import FUNCTIONS, array, known, rule
from sdgrad.record.values import RULES, is_recorded


# -- values of several variables
def _at_points(value: Callable, places: tuple, c: Any) -> Any:
    given = [array(p) for p in places]
    if any(g.shape != given[0].shape for g in given):
        raise ValueError("x, y, z are incompatible" if len(given) == 3 else "x, y are incompatible")
    found = FUNCTIONS[value](given[0], c)
    for place in given[1:]:
        found = FUNCTIONS[value](place, found, tensor=False)
    return found


def _on_grid(value: Callable, places: tuple, c: Any) -> Any:
    for place in places:
        c = FUNCTIONS[value](array(place), c)
    return c


def _matrix(value: Callable, places: tuple, degrees: Any) -> Any:
    """Return products of the polynomials of each variable, one row for a place."""
    if len(degrees) != len(places):
        raise ValueError(f"Expected {len(places)} dimensions of degrees, got {len(degrees)}")
    factors = [vander_of(value, p, d) for p, d in zip(places, degrees, strict=True)]
    found = factors[0]
    for factor in factors[1:]:
        found = found[..., None] * factor[..., None, :]
        found = np.reshape(found, (*np.shape(found)[:-2], -1))
    return found


# -- factors of powers
def _conversion(function: Callable, name: str) -> Callable:
    """Return the rule of a linear map of factors: its matrix has NumPy's own results as columns."""

    def convert(series: Any) -> Any:
        c: Any = inexact(series)
        if c.ndim != 1:
            raise ValueError("Coefficient array is not 1-d")
        n = c.shape[0]
        if is_recorded(c) and n > 1:
            told = f"{name}: the last factor is zero, which NumPy would leave out"
            RULES.require(array(c).recorder, c[-1] != 0, ValueError(told))
        if c.dtype.kind == "c":
            raise ParseError(f"{name} of complex numbers is not recorded: convert their real and imaginary parts")
        columns = np.zeros((n, n))
        for k, unit in enumerate(np.eye(n)):
            column = function(unit[: k + 1])
            columns[: len(column), k] = column
        return known(columns.astype(c.dtype)) @ c

    return convert


def _register(value: Callable) -> None:
    short = value.__name__.removesuffix("val")
    module = __import__(value.__module__, fromlist=["polynomial"])
    for form, count in itertools.product((_at_points, _on_grid), (2, 3)):
        name = f"{short}{'val' if form is _at_points else 'grid'}{count}d"
        if count == 2:
            rule(getattr(module, name))(lambda x, y, c, form=form: form(value, (x, y), c))
        else:
            rule(getattr(module, name))(lambda x, y, z, c, form=form: form(value, (x, y, z), c))
    rule(getattr(module, f"{short}vander2d"))(lambda x, y, deg: _matrix(value, (x, y), deg))
    rule(getattr(module, f"{short}vander3d"))(lambda x, y, z, deg: _matrix(value, (x, y, z), deg))
    for name in (f"{short}2poly", f"poly2{short}"):
        if hasattr(module, name):
            function = getattr(module, name)
            rule(function)(_conversion(function, f"{module.__name__}.{name}"))


for _value in FAMILIES:
    _register(_value)
