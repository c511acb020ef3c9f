"""Compute with complex numbers as Python's ``cmath`` does."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np

from sdgrad.record.functions.table import rule

INVERSE = ("acos", "asin", "atan", "acosh", "asinh", "atanh")
SAME = ("exp", "sqrt", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh")


def _register(name: str, ufunc: Callable) -> None:
    def function(z: Any, /) -> Any:
        return ufunc(z + 0j)

    rule(getattr(cmath, name))(function)


for _name in SAME:
    _register(_name, getattr(np, _name))
for _name in INVERSE:
    _register(_name, getattr(np, f"arc{_name[1:]}"))


@rule(cmath.log)
def log(z: Any, *base: Any) -> Any:
    return np.log(z + 0j) / np.log(base[0] + 0j) if base else np.log(z + 0j)


@rule(cmath.phase)
def phase(z: Any, /) -> Any:
    return np.angle(z + 0j)


@rule(cmath.polar)
def polar(z: Any, /) -> Any:
    return abs(z), np.angle(z + 0j)


@rule(cmath.rect)
def rect(r: Any, phi: Any, /) -> Any:
    return r * np.cos(phi) + 1j * (r * np.sin(phi))
