"""Describe contractions in the terms of BLAS: roles of parameters, dimensions of a call, strides of its operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import sympy
from dace import data as dt
from dace import subsets

from sdgrad.optimize.contractions.recognition import Contraction
from sdgrad.program.tree import Container, Expr, Load, Param, Store
from sdgrad.symbolic.expr import free_names, sym

Line = tuple[Param, ...]
"""Nested parameters that a call sees as one dimension: the stride of each is the extent times stride of the next."""

_ROLES = {
    (True, True, True): "batch",
    (True, True, False): "rows",
    (True, False, True): "columns",
    (False, True, True): "summed",
}
"""Role of a parameter, by whether the result, the left and the right operand use it in their subscripts."""


@dataclass(frozen=True)
class Roles:
    """Group the parameters of a contraction by role."""

    batch: Line
    rows: Line
    columns: Line
    summed: Line

    @staticmethod
    def of(c: Contraction) -> Roles | None:
        """Return the roles; None if a parameter has none, or if nothing is summed.

        A parameter with a step, or with bounds that depend on other parameters, has no role.
        """
        used = [x.index_names for x in (c.store, c.a, c.b)]
        names = {p.name for p in c.leaf.params}
        found: dict[str, list[Param]] = {role: [] for role in _ROLES.values()}
        for p in c.leaf.params:
            role = _ROLES.get((p.name in used[0], p.name in used[1], p.name in used[2]))
            if role is None or p.step != 1 or free_names(p.start, p.stop) & names:
                return None
            found[role].append(p)
        return Roles(**{role: tuple(params) for role, params in found.items()}) if found["summed"] else None

    def dimensions(self) -> Dimensions:
        """Return the dimensions of a call, each role as one line."""
        lines = ((line,) if line else () for line in (self.batch, self.rows, self.columns, self.summed))
        return Dimensions(*lines)


@dataclass(frozen=True)
class Dimensions:
    """Hold the dimensions of a call by role: one line of parameters each, or none."""

    batch: tuple[Line, ...]
    rows: tuple[Line, ...]
    columns: tuple[Line, ...]
    summed: tuple[Line, ...]

    @property
    def left(self) -> tuple[Line, ...]:
        """Dimensions of the left operand."""
        return (*self.batch, *self.rows, *self.summed)

    @property
    def right(self) -> tuple[Line, ...]:
        """Dimensions of the right operand."""
        return (*self.batch, *self.summed, *self.columns)

    @property
    def result(self) -> tuple[Line, ...]:
        """Dimensions of the result."""
        return (*self.batch, *self.rows, *self.columns)

    def transposed(self) -> Dimensions:
        """Return the dimensions of the transposed product, in which the operands swap places."""
        return replace(self, rows=self.columns, columns=self.rows)


def strides_of(container: Container) -> list[Expr]:
    """Return the strides of a container in elements; a scalar has one of 1."""
    return list(container.desc.strides) if isinstance(container.desc, dt.Array) else [1]


def is_affine(place: Expr, params: Sequence[Param]) -> bool:
    """True if a position is affine in all parameters, with coefficients that are free of them."""
    own = [sym(p.name) for p in params]
    return not own or not sympy.expand(place - sum(place.coeff(x) * x for x in own)).has(*own)


def are_blas_strides(strides: Sequence[Expr]) -> bool:
    """True if all strides are positive, and one of the last two dimensions of several has unit stride."""
    return not any(n.is_nonpositive for n in strides) and (len(strides) < 2 or 1 in strides[-2:])


def rows_may_overlap(
    access: Load | Store, lines: Sequence[Line], shape: Sequence[Expr], strides: Sequence[Expr]
) -> bool:
    """True if only a run knows whether the lines of a matrix overlap, which BLAS refuses: ``x[i + j]``.

    Lines along different dimensions of an array do not. Otherwise, the leading dimension is compared with their length.
    """
    if len(lines) < 2:
        return False
    rows, columns = ({p.name for p in line} for line in lines[-2:])
    if not any(rows & free_names(i) and columns & free_names(i) for i in access.index):
        return False
    leading, length = (strides[-2], shape[-1]) if strides[-1] == 1 else (strides[-1], shape[-2])
    return sympy.sympify(leading - length).is_nonnegative is None


def bounding_box(access: Load | Store, params: Sequence[Param]) -> tuple[list[Expr], subsets.Range]:
    """Return the first element of an access, and the range of its elements.

    If a subscript uses several parameters, the range is the first element only.
    """
    first, last = {sym(p.name): p.start for p in params}, {sym(p.name): p.stop for p in params}
    start = [sympy.expand(i.subs(first)) for i in access.index]
    stop = [sympy.expand(i.subs(last)) for i in access.index]
    names = {p.name for p in params}
    slanted = any(len(free_names(i) & names) > 1 for i in access.index)
    return start, subsets.Range([(b, b if slanted else e, 1) for b, e in zip(start, stop, strict=True)])


def position(line: Line) -> Expr:
    """Return the position of an iteration in the dimension that a line of parameters makes up."""
    place: Expr = sympy.Integer(0)
    for p in line:
        place = place * p.count + sym(p.name) - p.start
    return place
