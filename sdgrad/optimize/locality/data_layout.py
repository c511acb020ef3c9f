"""Choose the contiguous dimension of temporaries by the loops that access them (data layout transformation).

Only the program sees a temporary, so its layout is free. A loop over columns gives ``p`` a column-major layout::

    loop j = 1 .. 6: map i=0:9: p[i, j] = x[i, j] + p[i, j - 1]      (p: strides [7, 1] -> [1, 9])

Each nest votes with the cost of its accesses under its best loop order: 1 for unit stride, ``cache_line_cost``
otherwise. Declines for arrays with views, operands of calls, and gains below ``layout_gain``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import sympy
from dace import data as dt

from sdgrad.analysis.cost_model import trips
from sdgrad.analysis.uses import only_in_leaves
from sdgrad.config import config
from sdgrad.program.tree import Block, Container, Expr, Leaf, Load, Loop, Program, Store, children
from sdgrad.program.turned import straight
from sdgrad.symbolic.expr import free_names, sym


def arrange_temporaries(program: Program) -> Program:
    """Give temporaries the layout of least cost; the program is unchanged if none gains."""
    arranger = Arranger.of(program)
    changed = arranger.choose()
    containers = {n: along(program.containers[n], d) for n, d in changed.items()}
    return replace(program, containers={**program.containers, **containers}) if containers else program


@dataclass(frozen=True)
class Nest:
    """The cost model of one nest, for each choice of the innermost parameter.

    An option lists, for every access that moves, its container and the dimension along which it advances by one
    element; the dimension is None if it advances in several, or by larger steps.
    """

    weight: int
    options: tuple[tuple[tuple[str, int | None], ...], ...]

    def cost(self, last: dict[str, int]) -> int:
        """Return the cost of the accesses under the best loop order, if these dimensions are contiguous."""
        each = (
            sum(1 if last.get(name) == d else config.machine.cache_line_cost for name, d in option)
            for option in self.options
        )
        return self.weight * min(each, default=0)


@dataclass
class Arranger:
    """The search for layouts: all nests that access a temporary whose layout is free.

    ``last`` has the contiguous dimension of each array; ``free`` has the arrays whose layout may change.
    """

    program: Program
    last: dict[str, int]
    free: set[str]
    nests: dict[str, list[Nest]] = field(default_factory=lambda: defaultdict(list))

    @staticmethod
    def of(program: Program) -> Arranger:
        """Collect the nests of a program."""
        last = {n: d for n, c in program.containers.items() if (d := _contiguous(c)) is not None}
        found = Arranger(program, last, _free(program))
        if found.free:
            found.gather(program.body, 1)
        return found

    def gather(self, block: Block, weight: int) -> None:
        """Collect the nests of a block; ``weight`` estimates how often the block runs."""
        for node in block:
            if isinstance(node, Leaf):
                self.leaf(node, weight)
            else:
                for inner in children(node):
                    self.gather(inner, weight * config.machine.layout_trips if isinstance(node, Loop) else weight)

    def leaf(self, leaf: Leaf, weight: int) -> None:
        """Add a leaf to the nests of every free array that it accesses."""
        accesses = [i for i in leaf.accesses if len(i.index) > 1]
        concerned = {i.container for i in accesses} & self.free
        if not concerned or not leaf.params:
            return
        options = tuple(tuple(_moves(accesses, n)) for n in _possible_innermost(leaf))
        nest = Nest(weight * trips(leaf.params), options)
        for name in concerned:
            self.nests[name].append(nest)

    def choose(self) -> dict[str, int]:
        """Return the arrays whose contiguous dimension changes, each with its new one (greedy, in order of names)."""
        found: dict[str, int] = {}
        for name in sorted(self.nests):
            costs = {d: self.cost(name, d) for d in range(len(self.program.containers[name].shape))}
            best = min(costs, key=lambda d: (costs[d], d != self.last[name]))
            if costs[best] * config.machine.layout_gain < costs[self.last[name]]:
                found[name] = self.last[name] = best
        return found

    def cost(self, name: str, dimension: int) -> int:
        """Return the cost of all nests that access an array, if a dimension of it is contiguous."""
        last = {**self.last, name: dimension}
        return sum(nest.cost(last) for nest in self.nests[name])


def _possible_innermost(leaf: Leaf) -> list[str]:
    """Return the parameters that may be innermost: no bound depends on them, and dependences allow it."""
    inner = leaf.params[-1:] if leaf.sequential else leaf.params
    bounds = free_names(*(b for p in leaf.params for b in (p.start, p.stop)))
    return [p.name for p in inner if p.name not in bounds]


def _moves(accesses: list[Load | Store], name: str) -> Iterator[tuple[str, int | None]]:
    """List the accesses that a parameter moves, each with the dimension of its unit steps (None if there is none)."""
    for access in accesses:
        dims = [d for d, e in enumerate(access.index) if name in free_names(e)]
        if dims:
            alone = len(dims) == 1 and abs(_slope(access.index[dims[0]], name)) == 1
            yield access.container, dims[0] if alone else None


def _slope(expr: Expr, name: str) -> Expr:
    """Return the coefficient of a name in an affine expression; 0 if it is no number."""
    slope = sympy.expand(straight(expr)).coeff(sym(name))
    return slope if slope.is_number else sympy.Integer(0)


def _contiguous(container: Container) -> int | None:
    """Return the dimension of unit stride; None if there is none, or for arrays of one dimension."""
    desc = container.desc
    if not isinstance(desc, dt.Array) or len(desc.shape) < 2:
        return None
    return next((d for d in reversed(range(len(desc.shape))) if desc.strides[d] == 1), None)


def _free(program: Program) -> set[str]:
    """Return the temporaries whose layout may change."""
    return only_elements(program, (n for n, c in program.containers.items() if c.transient))


def only_elements(program: Program, names: Iterable[str]) -> set[str]:
    """Return those of some row-major arrays that only leaves access, by elements."""
    return only_in_leaves(program, (n for n in names if _is_row_major(program.containers[n])))


def _is_row_major(container: Container) -> bool:
    """True if a container is a row-major array (no view) with more than one dimension of more than one element."""
    shape = container.shape
    if container.view_of is not None or type(container.desc) is not dt.Array or len(shape) < 2:
        return False
    return sum(size != 1 for size in shape) > 1 and _contiguous(container) == len(shape) - 1


def along(container: Container, last: int) -> Container:
    """Return the container with another contiguous dimension; the order of the others stays."""
    shape = container.desc.shape
    strides = [0] * len(shape)
    size = 1
    for d in [last, *(d for d in reversed(range(len(shape))) if d != last)]:
        strides[d] = size
        size = size * shape[d]
    desc = dt.Array(container.dtype, list(shape), strides=strides, transient=True, storage=container.desc.storage)
    return replace(container, desc=desc)
