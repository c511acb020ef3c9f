"""Expand temporaries of an iteration to an element for each iteration (scalar expansion, Allen & Kennedy 2001, ch. 5).

A scalar ``t[0]`` in a loop over ``i`` becomes ``t_0[i]``, an array ``t[j]`` becomes ``t_0[i, j]``. Leaves then share no
memory between iterations, and may run over all of them at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import sympy
from dace import data as dt

from sdgrad.config import config
from sdgrad.program.leaves import rename_instr
from sdgrad.program.names import Names
from sdgrad.program.tree import Container, Expr, Leaf, Let, Load, Param, Program, Store
from sdgrad.symbolic.expr import substitute, sym


def share_of(program: Program) -> int:
    """Return the number of elements that expansion may use: as many as the arguments have, and a minimum."""
    arguments = [program.containers[n].shape for n in program.arguments]
    sizes = [int(sympy.prod(s)) for s in arguments if all(n.is_number for n in s)]
    return max(config.machine.expanded_elements, sum(sizes))


def wider(container: Container, count: Expr, share: int, names: Names) -> Container | None:
    """Expand a container by a leading dimension. None if its extent is unknown or the result too large."""
    shape: Sequence[Expr] = [count, *(() if _is_number(container) else container.shape)]
    if not all(n.is_number for n in shape) or math.prod(int(n) for n in shape) > share:
        return None
    least = [max(n, sympy.Integer(1)) for n in shape]
    return Container(names.fresh(container.name), dt.Array(container.dtype, least, transient=True))


def indexed(leaf: Leaf, container: Container, wide: str, trips: Param) -> Leaf:
    """Redirect the accesses of a leaf to its slice of the expanded container."""
    first = sym(trips.name) - (trips.start if trips.step > 0 else trips.stop)

    def changed(access: Load | Store) -> Load | Store:
        """Return an access of the expanded container; any other access unchanged."""
        if access.container != container.name:
            return access
        return replace(access, container=wide, index=(first, *(() if _is_number(container) else access.index)))

    return replace(leaf, body=tuple(i if isinstance(i, Let) else changed(i) for i in leaf.body))


def over_trips(leaf: Leaf, trips: Param, name: str) -> Leaf:
    """Run a leaf over all iterations of a loop, under a new parameter in increasing order."""
    low, high = (trips.start, trips.stop) if trips.step > 0 else (trips.stop, trips.start)
    env = {trips.name: sym(name)}
    params = (replace(p, **{n: substitute(getattr(p, n), env) for n in ("start", "stop", "step")}) for p in leaf.params)
    body = tuple(rename_instr(i, {}, env) for i in leaf.body)
    return replace(leaf, params=(Param(name, low, high, sympy.Integer(1)), *params), body=body)


def _is_number(container: Container) -> bool:
    """True if a container holds one element."""
    return isinstance(container.desc, dt.Scalar) or container.shape == (1,)
