"""Turn the scatter of an adjoint stencil into a gather: each element is written once, by one iteration.

The adjoint of ``b[i] = a[i - 1] + a[i] + a[i + 1]`` adds to three elements of ``a'``. That takes three passes over
memory, or one without parallelism. In gather form each term is shifted by its offset, to the element it goes to. ::

    map i=1:n - 1:                 map i=2:n - 2:
      g = b'[i]                      g = b'[i + 1]
      a'[i - 1] += g                 h = b'[i]
      a'[i] += g                     k = b'[i - 1]
      a'[i + 1] += g                 v = g + h + k
                                     a'[i] += v

In the interior all terms exist. The halo around it is split into slabs, whose terms are guarded. If the elements were
just set to zero, the gather form assigns instead. Costly values that several terms share are stored in a temporary
first. (Hueckelheim et al., Automatic Differentiation for Adjoint Stencil Loops, ICPP 2019.) On a ring, as of a periodic
grid, every element has all terms, and there is no halo. Unchanged are leaves that the recognition declines, and the
bodies of parallel maps.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from dace import data as dt

from sdgrad.optimize.reductions.gather_body import GatherBody
from sdgrad.optimize.reductions.index_boxes import (
    Box,
    Range,
    contains,
    disjoint,
    frame,
    halo,
    hull,
    intersection,
    is_large,
)
from sdgrad.optimize.reductions.stencil_recognition import stencils
from sdgrad.optimize.reductions.stencil_terms import Group, Term, shared_parts, with_part
from sdgrad.optimize.reductions.zero_absorption import absorb_zeros
from sdgrad.program.leaves import slice_for
from sdgrad.program.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.tree import (
    Block,
    Branch,
    Container,
    Leaf,
    Load,
    Loop,
    Node,
    Program,
    Store,
    map_blocks,
)
from sdgrad.rewrite.fusion import fusable
from sdgrad.rewrite.merging import merge
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import sym

MOST_LOADS = 16
"""Loads of a nest of two stencils: with more, two nests are faster (measured: 12 take 0.7 of the time, 18 take 1.1)."""


def gather_neighbours(program: Program) -> Program:
    """Turn the stencil sums of a program into gather form."""
    pass_ = Gatherer(program, all_names(program))
    body = pass_.block(program.body)
    return replace(program, body=body, containers={**program.containers, **pass_.made})


@dataclass
class Gatherer:
    """Gather the stencils of one program.

    :param made: temporaries for costly values, by name.
    :param computed: by the name of a costly value in its leaf, its temporary.
    """

    program: Program
    names: Names
    made: dict[str, Container] = field(default_factory=dict)
    computed: dict[str, str] = field(default_factory=dict)

    def block(self, block: Block) -> Block:
        """Gather the stencils of a block."""
        out: list[Node] = []
        for node in block:
            if isinstance(node, Leaf):
                self.leaf(node, out)
            elif isinstance(node, (Loop, Branch)):
                out.append(map_blocks(node, self.block))
            else:
                out.append(node)
        return tuple(out)

    def leaf(self, leaf: Leaf, out: list[Node]) -> None:
        """Append a leaf, with its stencils gathered, to the nodes before it; these may lose assignments of zeros."""
        groups, rest = stencils(leaf, self.program)
        parts = [s for group in groups for s in self.prepared(leaf, group)]
        groups = [self.light(leaf, group) for group in groups]
        at_once = bool(parts) and self.is_independent(rest, groups)
        first = (*parts, *rest.stores) if at_once else tuple(parts)
        if first:
            needed = {name for s in first for name in s.names}
            out.append(replace(leaf, body=(*slice_for(leaf.body, needed), *first)))
        for group in groups:
            self.append(self.gathered(leaf, group, out), group, out)
        if rest.stores and not at_once:
            out.append(rest)

    def append(self, nests: list[Leaf], group: Group, out: list[Node]) -> None:
        """Append nests to others; the one of a ring joins that of another stencil, with which it shares loads."""
        program = replace(self.program, containers={**self.program.containers, **self.made})
        for nest in nests:
            before = out[-1] if out and group.rings else None
            if isinstance(before, Leaf) and fusable(before, nest, program):
                both = merge(before, nest, program)
                if len(both.loads) <= MOST_LOADS:
                    out[-1] = both
                    continue
            out.append(nest)

    def is_independent(self, rest: Leaf, groups: list[Group]) -> bool:
        """True if the other stores of a leaf change no container that its stencils access."""
        root = self.program.root
        used = {root(i.container) for g in groups for t in g.terms for i in t.body if isinstance(i, Load)}
        used |= {root(g.container) for g in groups}
        return not used & {root(s.container) for s in rest.stores}

    # -- values that are stored instead of recomputed for each neighbour
    def prepared(self, leaf: Leaf, group: Group) -> list[Store]:
        """Make temporaries for the costly values of a stencil, and return the stores into them."""
        dtype = self.program.containers[group.container].dtype
        stores = []
        for value in dict.fromkeys(shared_parts(group).values()):
            name = self.names.fresh(f"part_{group.container}")
            self.made[name] = Container(name, dt.Array(dtype, [p.count for p in leaf.params], transient=True))
            self.computed[value] = name
            stores.append(Store(name, tuple(sym(p.name) - p.start for p in leaf.params), value))
        return stores

    def light(self, leaf: Leaf, group: Group) -> Group:
        """Let a stencil load its costly values from their temporaries."""
        parts = shared_parts(group)

        def term(t: Term) -> Term:
            if t.value not in parts:
                return t
            part = parts[t.value]
            index = tuple(sym(p.name) - p.start for p in leaf.params)
            return replace(t, body=with_part(t, Load(part, self.computed[part], index)))

        return replace(group, terms=tuple(term(t) for t in group.terms))

    # -- the nests
    def gathered(self, leaf: Leaf, group: Group, before: list[Node]) -> list[Leaf]:
        """Build the gather nests of a stencil, for the interior and for the slabs of the halo."""
        interior: list[Range] = []
        whole: list[Range] = []
        for p in leaf.params:
            least, most = group.reach(p.name)
            interior.append((p.start + most, p.stop + least))
            whole.append((p.start + least, p.stop + most))
        zero = absorb_zeros(leaf, group, interior, before, self.program)
        if zero is not None:
            whole = hull(whole, zero)
        slabs = halo(interior, whole, innermost(leaf, group))
        boxes = (interior, *(part for slab in slabs for part in parts_of(leaf, group, slab, zero)))
        nests = (self.nest(leaf, group, box, zero) for box in boxes)
        return [n for n in nests if n is not None]

    def nest(self, leaf: Leaf, group: Group, box: list[Range], zero: Box | None) -> Leaf | None:
        """Build the nest that computes the elements of a box; None if the box is empty or nothing is added to it.

        :param zero: the box of the elements that are assigned, as their old value is zero.
        """
        params = tuple(replace(p, start=b, stop=e) for p, (b, e) in zip(leaf.params, box, strict=True))
        if any(p.count.is_nonpositive for p in params):
            return None
        body = GatherBody(self.names, params, group)
        owners = [(t, group.receivers(t, leaf.params)) for t in group.terms]
        added = [body.term(t, body.inside(own)) for t, own in owners if not disjoint(box, own)]
        if zero is None and not added:
            return None
        if zero is not None and not contains(zero, box):
            added.insert(0, body.old_value(body.inside(zero)))
        name = body.let(_sum_of(added))
        mode = "sum" if zero is None else "set"
        return replace(leaf, params=params, body=(*body.body, Store(group.container, group.index, name, mode)))


def parts_of(leaf: Leaf, group: Group, slab: list[Range], zero: Box | None) -> Iterator[list[Range]]:
    """Split a slab into a core in which no term needs a guard, and strips; yield it whole if the core is small."""
    core = slab
    receivers = [group.receivers(t, leaf.params) for t in group.terms]
    for box in (*receivers, *([zero] if zero is not None else [])):
        if not disjoint(slab, box):
            core = intersection(core, box)
    if core == slab or not is_large(core):
        yield slab
        return
    yield core
    yield from frame(slab, core)


def innermost(leaf: Leaf, group: Group) -> int:
    """Return the position of the parameter that subscripts the last dimension."""
    return max(range(len(leaf.params)), key=lambda k: group.position[leaf.params[k].name])


def _sum_of(terms: list[ast.expr]) -> ast.expr:
    """Return the sum of some terms from left to right; zero if there are none."""
    total: ast.expr = terms[0] if terms else code.constant(0)
    for value in terms[1:]:
        total = code.binary(ast.Add, total, value)
    return total
