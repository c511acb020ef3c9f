"""How temporaries lie in memory: along the dimension in which the innermost loops walk through them.

``p[1:-1, j] = ..`` for one column after the other goes through a row-major array in steps of a row. Nobody but the
program sees a temporary, so it may lie the other way round.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import sympy
from dace import data as dt

from sdgrad.analysis.cost_model import trips
from sdgrad.analysis.loop_private import used
from sdgrad.config import config
from sdgrad.program.tree import Block, Container, Expr, Leaf, Load, Loop, Program, Store, children, local_names, walk
from sdgrad.symbolic.expr import free_names, sym


def arrange_temporaries(program: Program) -> Program:
    """The program with its temporaries as its nests walk through them."""
    arranger = Arranger.of(program)
    changed = arranger.choose()
    containers = {n: along(program.containers[n], d) for n, d in changed.items()}
    return replace(program, containers={**program.containers, **containers}) if containers else program


@dataclass(frozen=True)
class Nest:
    """For each parameter that can be innermost: of every access, its container and the dimension it moves along.

    None stands for no dimension, or for steps of more than one.
    """

    weight: int
    options: tuple[tuple[tuple[str, int | None], ...], ...]

    def cost(self, last: dict[str, int]) -> int:
        """The accesses' cost by the best order, if containers lie along these dimensions."""
        each = (
            sum(1 if last.get(name) == d else config.machine.cache_line_cost for name, d in option)
            for option in self.options
        )
        return self.weight * min(each, default=0)


@dataclass
class Arranger:
    program: Program
    last: dict[str, int]  # the dimension along which each array lies
    free: set[str]
    nests: dict[str, list[Nest]] = field(default_factory=lambda: defaultdict(list))

    @staticmethod
    def of(program: Program) -> Arranger:
        last = {n: d for n, c in program.containers.items() if (d := _contiguous(c)) is not None}
        found = Arranger(program, last, _free(program))
        if found.free:
            found.gather(program.body, 1)
        return found

    def gather(self, block: Block, weight: int) -> None:
        for node in block:
            if isinstance(node, Leaf):
                self.leaf(node, weight)
            else:
                for inner in children(node):
                    self.gather(inner, weight * config.machine.layout_trips if isinstance(node, Loop) else weight)

    def leaf(self, leaf: Leaf, weight: int) -> None:
        mine = [i for i in leaf.body if isinstance(i, (Load, Store)) and len(i.index) > 1]
        concerned = {i.container for i in mine} & self.free
        if not concerned or not leaf.params:
            return
        inner = leaf.params[-1:] if leaf.sequential else leaf.params
        bounds = free_names(*(b for p in leaf.params for b in (p.start, p.stop)))
        names = [p.name for p in inner if p.name not in bounds]
        nest = Nest(weight * trips(leaf.params), tuple(tuple(_moves(mine, n)) for n in names))
        for name in concerned:
            self.nests[name].append(nest)

    def choose(self) -> dict[str, int]:
        """By container, the dimension that it is to lie along, where that is another one."""
        found: dict[str, int] = {}
        for name in sorted(self.nests):
            costs = {d: self.cost(name, d) for d in range(len(self.program.containers[name].shape))}
            best = min(costs, key=lambda d: (costs[d], d != self.last[name]))
            if costs[best] * config.machine.layout_gain < costs[self.last[name]]:
                found[name] = self.last[name] = best
        return found

    def cost(self, name: str, dimension: int) -> int:
        last = {**self.last, name: dimension}
        return sum(nest.cost(last) for nest in self.nests[name])


def _moves(accesses: list[Load | Store], name: str) -> Iterator[tuple[str, int | None]]:
    for access in accesses:
        dims = [d for d, e in enumerate(access.index) if name in free_names(e)]
        if dims:
            alone = len(dims) == 1 and abs(_slope(access.index[dims[0]], name)) == 1
            yield access.container, dims[0] if alone else None


def _slope(expr: Expr, name: str) -> Expr:
    slope = sympy.expand(expr).coeff(sym(name))
    return slope if slope.is_number else sympy.Integer(0)


def _contiguous(container: Container) -> int | None:
    """The dimension of unit stride."""
    desc = container.desc
    if not isinstance(desc, dt.Array) or len(desc.shape) < 2:
        return None
    return next((d for d in reversed(range(len(desc.shape))) if desc.strides[d] == 1), None)


def _free(program: Program) -> set[str]:
    """Temporaries that only the elements of nests are taken from."""
    return only_elements(program, (n for n, c in program.containers.items() if c.transient))


def only_elements(program: Program, names: Iterable[str]) -> set[str]:
    """Those of some containers, in the usual order, that only the elements of nests are taken from."""
    viewed = {c.view_of for c in program.containers.values() if c.view_of is not None}
    own = {n: c for n in names if (c := program.containers[n]).view_of is None and n not in viewed}
    found = {
        n
        for n, c in own.items()
        if type(c.desc) is dt.Array and len(c.shape) > 1
        if sum(size != 1 for size in c.shape) > 1 and _contiguous(c) == len(c.shape) - 1
    }
    for node in walk(program.body):
        if not isinstance(node, Leaf):
            found -= used(node, program) | local_names(node)
    return found


def along(container: Container, last: int) -> Container:
    """The container with another dimension contiguous; the order of the others stays."""
    shape = container.desc.shape
    strides = [0] * len(shape)
    size = 1
    for d in [last, *(d for d in reversed(range(len(shape))) if d != last)]:
        strides[d] = size
        size = size * shape[d]
    desc = dt.Array(container.dtype, list(shape), strides=strides, transient=True, storage=container.desc.storage)
    return replace(container, desc=desc)
