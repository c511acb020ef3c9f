"""See a part of a container under another shape: with offsets and steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import sympy
from dace import data as dt
from dace import subsets

from sdgrad.program.tree import Expr


@dataclass(frozen=True)
class Axis:
    """One dimension of a window: the container's axis it runs along, and its step in elements."""

    axis: int
    step: Expr


class FromEnd(sympy.Function):
    """``FromEnd(k, n)``: subscript ``k`` among ``n`` elements, counted from the end if ``k`` is negative."""

    nargs = 2

    @classmethod
    def eval(cls, place: Expr, size: Expr) -> Expr | None:
        if isinstance(place, sympy.Integer):
            return place if place >= 0 else place + size
        return place if isinstance(place, FromEnd) else None


def counted(expr: Expr, count: Callable[[Expr, Expr], Expr]) -> Expr:
    """Return an expression with ``count(subscript, size)`` for every :class:`FromEnd` in it, inner ones first."""
    expr = sympy.sympify(expr)
    if not expr.has(FromEnd):
        return expr
    args = [counted(a, count) for a in expr.args]
    return count(*args) if isinstance(expr, FromEnd) else expr.func(*args)


def remainder(place: Expr, size: Expr) -> Expr:
    """Return a subscript counted from the end, whatever is known of it."""
    return sympy.Mod(place + size, size)


@dataclass(frozen=True)
class Window:
    """A name as a window on a container: element ``k`` is ``container[base + k * step]``.

    ``axes[j]`` is the container's axis that dimension ``j`` of the window follows; None for a dimension of one element.
    A window with a ``shape`` is a slice as in Python: negative subscripts count from its end.
    """

    container: str
    base: tuple[Expr, ...]
    axes: tuple[Axis | None, ...]
    shape: tuple[Expr, ...] | None = None

    @property
    def extents(self) -> tuple[Expr, ...]:
        """Return all expressions that say where it is."""
        return (*self.base, *(a.step for a in self.axes if a is not None), *(self.shape or ()))

    def index(self, given: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return the container's subscript for a subscript of the window."""
        result = list(self.base)
        if self.shape is not None:
            given = tuple(FromEnd(sympy.sympify(k), n) for k, n in zip(given, self.shape, strict=False))
        for axis, k in zip(self.axes, given, strict=False):
            if axis is not None:
                result[axis.axis] = result[axis.axis] + k * axis.step
        return tuple(result)

    def subset(self, given: subsets.Range) -> subsets.Range:
        """Return the container's subset for a subset of the window."""
        result = [(b, b, sympy.Integer(1)) for b in self.base]
        for j, (axis, (b, e, s)) in enumerate(zip(self.axes, given.ranges, strict=False)):
            if axis is not None:
                if self.shape is not None and b == e:
                    b = e = FromEnd(sympy.sympify(b), self.shape[j])
                start = self.base[axis.axis]
                result[axis.axis] = (start + b * axis.step, start + e * axis.step, s * axis.step)
        return subsets.Range(result)

    @property
    def whole(self) -> bool:
        """True if the window is the container itself."""
        return (
            all(b == 0 for b in self.base)
            and len(self.axes) == len(self.base)
            and all(a is not None and a.axis == j and a.step == 1 for j, a in enumerate(self.axes))
        )


def whole_window(container: str, desc: dt.Data) -> Window:
    """Return the window that is a whole container."""
    one, zero = sympy.Integer(1), sympy.Integer(0)
    rank = len(desc.shape)
    return Window(container, (zero,) * rank, tuple(Axis(j, one) for j in range(rank)))
