"""Apply functions of Hankel, and scaled ones of Airy, of real numbers: in terms of Bessel's (DLMF 9.6, 10.4)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as special

from sdgrad.errors import ParseError
from sdgrad.record.elementwise import kind
from sdgrad.record.functions.table import operand, rule
from sdgrad.record.functions.undefined import undefined_where

THIRD = math.sqrt(1 / 3)


def _real(z: Any, name: str) -> Any:
    x = operand(z)
    if np.dtype(kind(x)).kind == "c":
        raise ParseError(f"scipy.special.{name} of complex numbers is not recorded")
    return x


def _hankel(name: str, sign: int, scaled: bool) -> None:
    def function(v: Any, z: Any) -> Any:
        order, x = operand(v), _real(z, name)
        at = np.abs(x)
        first, second = special.jv(order, at), 1j * special.yv(order, at)
        turned = np.exp(-1j * math.pi * order) * (first - second)  # DLMF 10.11, on the upper side of the cut
        beyond = -turned if sign > 0 else 2.0 * np.exp(1j * math.pi * order) * first + turned
        found = np.where(x < 0, beyond, first + sign * second)
        found = found * np.exp(-sign * 1j * x) if scaled else found
        return undefined_where(x == 0, found, x)

    rule(getattr(special, name))(function)


for _sign, _kind in ((1, "1"), (-1, "2")):
    _hankel(f"hankel{_kind}", _sign, False)
    _hankel(f"hankel{_kind}e", _sign, True)


def _beyond_one(x: Any) -> tuple[Any, Any, Any, Any]:
    """Return the four scaled functions where what they are scaled by would overflow."""
    s = 2.0 / 3.0 * x * np.sqrt(x)

    def rising(order: float) -> Any:
        more = 2.0 / math.pi * math.sin(order * math.pi) * np.exp(-2.0 * s) * special.kve(order, s)
        return 2.0 * special.ive(order, s) + more

    root = np.sqrt(x) * THIRD
    first, second = 1 / 3, 2 / 3
    return (
        root / math.pi * special.kve(first, s), -x * THIRD / math.pi * special.kve(second, s), root * rising(first),
        x * THIRD * rising(second),
    )  # fmt: skip


@rule(special.airye)
def airye(z: Any) -> tuple[Any, ...]:
    x = _real(z, "airye")
    positive, large = x > 0, x > 1
    inner = np.where(positive & ~large, x, 1.0)
    scale = np.where(positive, np.exp(2.0 / 3.0 * inner * np.sqrt(inner)), 1.0)
    near = special.airy(np.where(large, 1.0, x))
    own = (near[0] * scale, near[1] * scale, near[2] / scale, near[3] / scale)
    found = [np.where(large, b, a) for a, b in zip(own, _beyond_one(np.where(large, x, 1.0)), strict=True)]
    return *(undefined_where(x < 0, f, x) for f in found[:2]), *found[2:]
