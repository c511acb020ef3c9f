"""A part of a container seen under another shape: offsets and steps."""

from __future__ import annotations

from dataclasses import dataclass

import sympy
from dace import data as dt
from dace import subsets

from sdgrad.program.tree import Expr


@dataclass(frozen=True)
class Axis:
    """One dimension of a window: which axis of the container it runs along, and by how many elements."""

    axis: int
    step: Expr


@dataclass(frozen=True)
class Window:
    """A name as a window on a container: element ``k`` is ``container[base + k * step]``.

    ``axes[j]`` is the axis the window's dimension ``j`` follows; None for a dimension of one element.
    """

    container: str
    base: tuple[Expr, ...]
    axes: tuple[Axis | None, ...]

    def index(self, given: tuple[Expr, ...]) -> tuple[Expr, ...]:
        result = list(self.base)
        for axis, k in zip(self.axes, given, strict=False):
            if axis is not None:
                result[axis.axis] = result[axis.axis] + k * axis.step
        return tuple(result)

    def subset(self, given: subsets.Range) -> subsets.Range:
        """The container's subset for a subset of the window."""
        result = [(b, b, sympy.Integer(1)) for b in self.base]
        for axis, (b, e, s) in zip(self.axes, given.ranges, strict=False):
            if axis is not None:
                start = self.base[axis.axis]
                result[axis.axis] = (start + b * axis.step, start + e * axis.step, s * axis.step)
        return subsets.Range(result)

    @property
    def whole(self) -> bool:
        """Whether the window is the container itself."""
        return (
            all(b == 0 for b in self.base)
            and len(self.axes) == len(self.base)
            and all(a is not None and a.axis == j and a.step == 1 for j, a in enumerate(self.axes))
        )


def whole_window(container: str, desc: dt.Data) -> Window:
    one, zero = sympy.Integer(1), sympy.Integer(0)
    rank = len(desc.shape)
    return Window(container, (zero,) * rank, tuple(Axis(j, one) for j in range(rank)))
