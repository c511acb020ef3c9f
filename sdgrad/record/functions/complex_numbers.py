"""Compute with complex numbers as Python's ``cmath`` does."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np

from sdgrad.record.functions.python import number
from sdgrad.record.functions.table import rule

INVERSE = ("acos", "asin", "atan", "acosh", "asinh", "atanh")
SAME = ("exp", "sqrt", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh")


def _register(name: str, ufunc: Callable) -> None:
    def function(z: Any, /) -> Any:
        return ufunc(number(z, complex))

    rule(getattr(cmath, name))(function)


for _name in SAME:
    _register(_name, getattr(np, _name))
for _name in INVERSE:
    _register(_name, getattr(np, f"arc{_name[1:]}"))


@rule(cmath.log)
def log(z: Any, *base: Any) -> Any:
    found = np.log(number(z, complex))
    return found / np.log(number(base[0], complex)) if base else found


@rule(cmath.phase)
def phase(z: Any, /) -> Any:
    return np.angle(number(z, complex))


@rule(cmath.polar)
def polar(z: Any, /) -> Any:
    return abs(number(z, complex)), phase(z)


@rule(cmath.rect)
def rect(r: Any, phi: Any, /) -> Any:
    length, angle = number(r, float), number(phi, float)
    return length * np.cos(angle) + 1j * (length * np.sin(angle))
