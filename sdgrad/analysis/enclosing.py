"""Locate a node in a program: the control nodes around it, and the dimensions of its iteration space."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import sympy

from sdgrad.analysis.access_relations import loop_param, value_expr
from sdgrad.analysis.paths import Path
from sdgrad.analysis.value_ranges import extreme
from sdgrad.program.tree import Block, Loop, Node, Param, Scope, children, local_names


@dataclass(frozen=True)
class Dim:
    """Describe one dimension of an iteration space: a map's parameter or a loop's variable.

    ``param`` is None if the range is known only at run time. ``direction`` is the sign of a loop's step, 0 for a map,
    which has no order, and None if the sign is known only at run time.
    """

    name: str
    param: Param | None
    direction: int | None


@dataclass(frozen=True)
class Place:
    """Hold the path of a node and the enclosing control nodes, outermost first."""

    path: Path
    outer: tuple[tuple[Path, Node], ...]

    @cached_property
    def dims(self) -> tuple[Dim, ...]:
        """Dimensions of the enclosing maps and loops, outermost first."""
        return tuple(d for _, node in self.outer for d in dims_of(node))

    @property
    def loops(self) -> tuple[Path, ...]:
        """Paths of the enclosing loops."""
        return tuple(path for path, node in self.outer if isinstance(node, Loop))

    def owner(self, container: str) -> Path | None:
        """Return the enclosing map that a container is local to; None if there is none."""
        return next((path for path, node in self.outer if container in local_names(node)), None)


def dims_of(node: Node) -> tuple[Dim, ...]:
    """Return the dimensions that a control node adds to the iteration space of its body."""
    if isinstance(node, Scope):
        return tuple(Dim(p.name, p, 0) for p in node.params)
    if isinstance(node, Loop):
        param = loop_param(node)
        return (Dim(node.symbol, param, _sign(param.step) if param is not None else _sign_of_value(node)),)
    return ()


def _sign(step: sympy.Expr) -> int | None:
    """Return the sign of a step; None if the step is no number."""
    return None if not step.is_number else 1 if step > 0 else -1


def _sign_of_value(loop: Loop) -> int | None:
    """Return the sign of a loop's step, if its other bounds come from data; None if the step does."""
    step = None if loop.step.loads else value_expr(loop.step)
    return None if step is None else _sign(step)


def places(block: Block, path: Path = (), outer: tuple[tuple[Path, Node], ...] = ()) -> Iterator[tuple[Place, Node]]:
    """Yield every node of a block with its place, in program order, parents first."""
    for k, node in enumerate(block):
        here = (*path, k)
        yield Place(here, outer), node
        for arm, inner in enumerate(children(node)):
            yield from places(inner, (*here, arm), (*outer, (here, node)))


def extent(params: tuple[Param, ...], k: int) -> tuple[sympy.Expr, sympy.Expr]:
    """Bound parameter ``k`` over all values of the parameters before it.

    :raises Unbounded: its range has a function of these without known bounds.
    """
    p = params[k]
    low, high = (p.start, p.stop) if p.step > 0 else (p.stop, p.start)
    for j in range(k - 1, -1, -1):
        q_low, q_high = extent(params, j)
        low, high = (
            extreme(low, params[j].name, q_low, q_high, False),
            extreme(high, params[j].name, q_low, q_high, True),
        )
    return low, high
