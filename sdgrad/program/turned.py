"""Subscripts on a ring: ``Mod(i + shift, size)``, as of ``u[(i + 1) % n]`` and of ``np.roll``."""

from __future__ import annotations

from typing import NamedTuple

import sympy

from sdgrad.program.tree import Param
from sdgrad.symbolic.expr import Expr


class Turned(NamedTuple):
    """The subscript ``Mod(inner + shift, size)``, with ``0 <= shift < size``."""

    inner: Expr
    shift: int
    size: int


def turned(expr: Expr) -> Turned | None:
    """Return the parts of a subscript on a ring; None if it is no such one."""
    if not isinstance(expr, sympy.Mod) or not expr.args[1].is_Integer or expr.args[1] <= 0:
        return None
    shift, inner = expr.args[0].as_coeff_Add()
    size = int(expr.args[1])
    return Turned(inner, int(shift) % size, size) if shift.is_Integer else None


def straight(expr: Expr) -> Expr:
    """Return a subscript as if its ring were a line: the same but for one step."""
    found = turned(expr)
    return expr if found is None else found.inner + found.shift


def turn(expr: Expr, by: int, size: int, params: tuple[Param, ...]) -> Expr:
    """Return a subscript that is ``by`` further on a ring: without a modulus if none is needed.

    :param params: in whose ranges the subscript is from 0 to ``size - 1``.
    """
    found = turned(expr)
    inner, before = (found.inner, found.shift) if found is not None and found.size == size else (expr, 0)
    total = (before + by) % size
    if inner.is_Integer:
        return sympy.Integer((int(inner) + total) % size)
    if total == 0 and stays_within(inner, size, params):
        return inner
    return sympy.Mod(inner + total, size)


def unturned(expr: Expr, params: tuple[Param, ...]) -> Expr:
    """Return a subscript without a modulus that changes nothing."""
    found = turned(expr)
    return expr if found is None else turn(expr, 0, found.size, params)


def stays_within(expr: Expr, size: int, params: tuple[Param, ...]) -> bool:
    """True of a parameter, or of one and a number, whose values are from 0 to ``size - 1``."""
    number, name = expr.as_coeff_Add()
    own = next((p for p in params if p.name == str(name)), None)
    if own is None or not number.is_Integer or own.step != 1:
        return False
    return (own.start + number).is_nonnegative is True and (size - 1 - own.stop - number).is_nonnegative is True
