"""Measure the strides and the extents of accesses: unit stride, iteration counts, sizes in bytes."""

from __future__ import annotations

from functools import lru_cache

import sympy
from dace import data as dt

from sdgrad.program.tree import Container, Leaf, Load, Param, Program, Store
from sdgrad.program.turned import straight
from sdgrad.symbolic.expr import Expr, sym


def contiguous(leaf: Leaf, program: Program) -> Param | None:
    """Return the only parameter along which loads of a leaf have unit stride; None if there are several.

    Without any load of unit stride it is the first parameter.
    """
    count = {p: sum(steps(x, p, program) == 1 for x in leaf.loads) for p in leaf.params}
    best = max(count, key=lambda p: count[p], default=None)
    return best if best is not None and all(count[p] == 0 for p in leaf.params if p != best) else None


def steps(access: Load | Store, param: Param, program: Program) -> Expr | None:
    """Return the stride of an access along a parameter, in elements; None for scalars.

    The stride is the distance between the elements that two neighbouring iterations access, on a ring but once.
    """
    container = program.containers.get(access.container)
    if container is None or isinstance(container.desc, dt.Scalar):
        return None
    index = map(straight, access.index)
    return _coefficient(tuple(index), tuple(container.desc.strides), param.name)


@lru_cache(maxsize=1 << 14)
def _coefficient(index: tuple[Expr, ...], strides: tuple[Expr, ...], name: str) -> Expr:
    """Return how many elements one step of a symbol in an index is."""
    place = sum((i * n for i, n in zip(index, strides, strict=True)), sympy.Integer(0))
    return sympy.expand(place).coeff(sym(name))


def known_trips(param: Param) -> int:
    """Return the iteration count of a parameter; 0 if it is no number."""
    count = sympy.sympify(param.count)
    return int(count) if count.is_Integer else 0


def known_bytes(container: Container) -> int:
    """Return the size of an array in bytes; 0 if it is no number, or for scalars."""
    size = sympy.sympify(container.desc.total_size)
    return int(size) * container.dtype.bytes if size.is_Integer and isinstance(container.desc, dt.Array) else 0
