"""Compute the footprint of a block: boxes of elements that its accesses read and write.

::

    map i=0:n:                      reads   A[0:n + 1], not exact: two accesses
      B[i] = A[i] + A[i + 1]        writes  B[0:n], exact

A subscript gives a range if it is a parameter plus a constant. Any other varying subscript gives the whole extent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import sympy
from dace import subsets

from sdgrad.analysis.access_relations import loop_param
from sdgrad.program.symbols import assigned_symbols
from sdgrad.program.tree import (
    Block,
    Container,
    Expr,
    Leaf,
    Load,
    Loop,
    Node,
    NodeCall,
    Param,
    Program,
    Region,
    Scope,
    Store,
    children,
    own_reads,
    walk,
    whole_region,
)
from sdgrad.symbolic.expr import free_names, same, sym

Range = tuple[Expr, Expr, Expr]
"""First element, last element and step."""


@dataclass(frozen=True)
class Touch:
    """Describe one access: a box of a container; ``exact`` if each run of the block touches all elements of the box."""

    container: str
    ranges: tuple[Range, ...]
    exact: bool


def reads_of(block: Block, program: Program) -> list[Touch]:
    """List the boxes that a block reads, one for each access."""
    return [t for t, written in _Walk(program, _unknown(block)).touches(block) if not written]


def writes_of(block: Block, program: Program) -> list[Touch]:
    """List the boxes that a block writes, one for each access."""
    return [t for t, written in _Walk(program, _unknown(block)).touches(block) if written]


def box(touches: Iterable[Touch], container: Container) -> tuple[Region, bool]:
    """Join all accesses of a container in one region; True beside it if every access touches all of the region."""
    found = list(touches)
    ranges, exact = [], all(t.exact for t in found)
    for axis, everything in enumerate(whole_region(container.name, container.shape).subset.ranges):
        seen = [t.ranges[axis] for t in found]
        alike = all(same(r, seen[0]) for r in seen)
        ranges.append(seen[0] if alike else everything)
        exact = exact and alike
    return Region(container.name, subsets.Range(ranges)), exact


def _unknown(block: Block) -> frozenset[str]:
    """Collect the symbols without one known value in a block: those it assigns, and variables of uncounted loops."""
    loops = {n.symbol for n in walk(block) if isinstance(n, Loop) and loop_param(n) is None}
    return frozenset(loops | assigned_symbols(block))


@dataclass(frozen=True)
class _Walk:
    """Walk a block and list its accesses, given the nest around it."""

    program: Program
    unknown: frozenset[str]  # symbols without one known value
    params: tuple[Param, ...] = ()  # of the enclosing loops and maps
    maybe: bool = False  # True: the block need not run

    def touches(self, block: Block) -> Iterator[tuple[Touch, bool]]:
        """Yield the accesses of a block; True beside a write."""
        for node in block:
            for name in own_reads(node):
                yield _everything(name, self.program), False
            if isinstance(node, Leaf):
                yield from self.of_leaf(node)
            elif isinstance(node, NodeCall):
                yield from self.of_call(node)
            else:
                inner = self.inside(node)
                for body in children(node):
                    yield from inner.touches(body)

    def inside(self, node: Node) -> _Walk:
        """Enter the bodies of a control node."""
        if isinstance(node, Scope):
            return replace(self, params=(*self.params, *node.params))
        param = loop_param(node) if isinstance(node, Loop) else None
        if param is None:
            return replace(self, maybe=True)
        return replace(self, params=(*self.params, param))

    def of_leaf(self, leaf: Leaf) -> Iterator[tuple[Touch, bool]]:
        """Yield the accesses of a leaf; an accumulation that is not fresh also reads its whole container."""
        local = self.unknown | {i.name for i in leaf.body if hasattr(i, "name")}
        inner = (*self.params, *leaf.params)
        accesses: tuple[Load | Store, ...] = (*leaf.loads, *leaf.stores)
        for access in accesses:
            certain = access.guard is None and not self.maybe
            touch = _touch(access.container, [(i, i) for i in access.index], self.program, inner, local, certain)
            yield touch, access in leaf.stores
        for store in leaf.stores:
            if store.mode != "set" and not store.fresh:
                yield _everything(store.container, self.program), False

    def of_call(self, call: NodeCall) -> Iterator[tuple[Touch, bool]]:
        """Yield the operands and results of a call."""
        for regions, written in ((call.inputs, False), (call.outputs, True)):
            for r in regions.values():
                pairs = [(b, e) for b, e, _ in r.subset.ranges]
                yield _touch(r.container, pairs, self.program, self.params, self.unknown, not self.maybe), written


def _everything(name: str, program: Program) -> Touch:
    """Describe an access to all of a container's memory, of which nothing more is known."""
    root = program.root(name)
    return Touch(root, tuple(whole_region(root, program.containers[root].shape).subset.ranges), False)


def _touch(
    name: str,
    pairs: list[tuple[Expr, Expr]],
    program: Program,
    params: tuple[Param, ...],
    unknown: frozenset[str],
    certain: bool,
) -> Touch:
    """Bound an access by a box.

    :param pairs: the first and the last subscript in each dimension.
    :param certain: True if the access happens in each run of the block.
    """
    whole = _everything(name, program)
    if whole.container != name:
        return whole
    known = {p.name: p for p in params}
    varying = [free_names(b, e) & (known.keys() | unknown) for b, e in pairs]
    ranges, exact = [], certain
    for axis, ((b, e), names) in enumerate(zip(pairs, varying, strict=True)):
        others = set[str]().union(*(v for k, v in enumerate(varying) if k != axis))
        found = _along(b, known) if b == e and not names & (others | unknown) else None
        if not names:
            ranges.append((b, e, sympy.Integer(1)))
        elif found is not None:
            ranges.append(found)
        else:
            ranges.append(whole.ranges[axis])
            exact = False
    return Touch(name, tuple(ranges), exact)


def _along(index: Expr, params: dict[str, Param]) -> Range | None:
    """Return the range of a subscript that is a parameter plus a constant; None for any other subscript."""
    names = free_names(index) & params.keys()
    if len(names) != 1:
        return None
    p = params[names.pop()]
    offset = sympy.expand(index - sym(p.name))
    if p.step != 1 or p.name in free_names(offset) or free_names(p.start, p.stop) & params.keys():
        return None
    return (p.start + offset, p.stop + offset, sympy.Integer(1))
