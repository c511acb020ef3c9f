"""Where a node stands in a program: the control nodes around it, and the iterations they count."""

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
    """One dimension of an instance: a map's parameter or a loop's variable.

    ``param`` is None where the range is known only at run time. ``direction`` is the sign of a loop's step, 0 where
    instances have no order (maps), None where the sign is known only at run time.
    """

    name: str
    param: Param | None
    direction: int | None


@dataclass(frozen=True)
class Place:
    """Where a node stands: its path and the enclosing control nodes, outermost first."""

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
        """The enclosing map that a container is local to."""
        return next((path for path, node in self.outer if container in local_names(node)), None)


def dims_of(node: Node) -> tuple[Dim, ...]:
    """The dimensions a control node adds to the instances of what it holds."""
    if isinstance(node, Scope):
        return tuple(Dim(p.name, p, 0) for p in node.params)
    if isinstance(node, Loop):
        param = loop_param(node)
        return (Dim(node.symbol, param, _sign(param.step) if param is not None else _sign_of_value(node)),)
    return ()


def _sign(step: sympy.Expr) -> int | None:
    return None if not step.is_number else 1 if step > 0 else -1


def _sign_of_value(loop: Loop) -> int | None:
    step = None if loop.step.loads else value_expr(loop.step)
    return None if step is None else _sign(step)


def places(block: Block, path: Path = (), outer: tuple[tuple[Path, Node], ...] = ()) -> Iterator[tuple[Place, Node]]:
    """Every node of a block with its place, in program order, parents first."""
    for k, node in enumerate(block):
        here = (*path, k)
        yield Place(here, outer), node
        for arm, inner in enumerate(children(node)):
            yield from places(inner, (*here, arm), (*outer, (here, node)))


def extent(params: tuple[Param, ...], k: int) -> tuple[sympy.Expr, sympy.Expr]:
    """The least and greatest value parameter ``k`` takes over all values of the parameters before it.

    :raises Unbounded: its range holds a function of these that may have any value.
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
