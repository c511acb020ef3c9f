"""How loops walk through memory, and for how long."""

from __future__ import annotations

import sympy
from dace import data as dt

from sdgrad.program.tree import Container, Leaf, Load, Param, Program, Store
from sdgrad.symbolic.expr import Expr, sym


def contiguous(leaf: Leaf, program: Program) -> Param | None:
    """The parameter along which most of what a leaf reads, and nothing else does, lies side by side in memory."""
    count = {p: sum(steps(x, p, program) == 1 for x in leaf.loads) for p in leaf.params}
    best = max(count, key=lambda p: count[p], default=None)
    return best if best is not None and all(count[p] == 0 for p in leaf.params if p != best) else None


def steps(access: Load | Store, param: Param, program: Program) -> Expr | None:
    """How far apart in memory the elements are that two neighbouring instances use."""
    container = program.containers.get(access.container)
    if container is None or isinstance(container.desc, dt.Scalar):
        return None
    place = sum((i * n for i, n in zip(access.index, container.desc.strides, strict=True)), sympy.Integer(0))
    return sympy.expand(place).coeff(sym(param.name))


def known_trips(param: Param) -> int:
    """The number of values of a parameter; 0 where it is no number."""
    count = sympy.sympify(param.count)
    return int(count) if count.is_Integer else 0


def known_bytes(container: Container) -> int:
    """The size of an array; 0 where it is no number."""
    size = sympy.sympify(container.desc.total_size)
    return int(size) * container.dtype.bytes if size.is_Integer and isinstance(container.desc, dt.Array) else 0
