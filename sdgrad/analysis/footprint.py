"""What part of its containers a block of nodes touches: the smallest boxes that can be said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import sympy
from dace import subsets

from sdgrad.analysis.access_relations import loop_param
from sdgrad.program.tree import (
    Block,
    Container,
    Expr,
    Leaf,
    Load,
    Loop,
    NodeCall,
    Param,
    Program,
    Region,
    Scope,
    Store,
    SymbolAssign,
    children,
    own_reads,
    walk,
    whole_region,
)
from sdgrad.symbolic.expr import free_names, same, sym

Range = tuple[Expr, Expr, Expr]


@dataclass(frozen=True)
class Touch:
    """One access: ranges of a container, and whether all of them are touched whenever the block runs."""

    container: str
    ranges: tuple[Range, ...]
    exact: bool


def reads_of(block: Block, program: Program) -> list[Touch]:
    """What a block reads, access by access."""
    return [t for t, written in _touches(block, program, (), _unknown(block), False) if not written]


def writes_of(block: Block, program: Program) -> list[Touch]:
    """What a block writes, access by access."""
    return [t for t, written in _touches(block, program, (), _unknown(block), False) if written]


def box(touches: Iterable[Touch], container: Container) -> tuple[Region, bool]:
    """One region that holds all accesses of a container, and whether every access touches all of it."""
    found = list(touches)
    ranges, exact = [], all(t.exact for t in found)
    for axis, everything in enumerate(whole_region(container.name, container.shape).subset.ranges):
        seen = [t.ranges[axis] for t in found]
        alike = all(same(r, seen[0]) for r in seen)
        ranges.append(seen[0] if alike else everything)
        exact = exact and alike
    return Region(container.name, subsets.Range(ranges)), exact


def _unknown(block: Block) -> frozenset[str]:
    """Symbols that have several values, or none that is known, while a block runs."""
    loops = {n.symbol for n in walk(block) if isinstance(n, Loop) and loop_param(n) is None}
    return frozenset(loops | {n.symbol for n in walk(block) if isinstance(n, SymbolAssign)})


def _touches(
    block: Block, program: Program, params: tuple[Param, ...], unknown: frozenset[str], maybe: bool
) -> Iterator[tuple[Touch, bool]]:
    """Accesses of a block and whether they write; ``maybe``: it does not always run."""
    for node in block:
        for name in own_reads(node):
            yield _everything(name, program), False
        if isinstance(node, Leaf):
            local = unknown | {i.name for i in node.body if hasattr(i, "name")}
            inner = (*params, *node.params)
            accesses: tuple[Load | Store, ...] = (*node.loads, *node.stores)
            for access in accesses:
                certain = access.guard is None and not maybe
                touch = _touch(access.container, [(i, i) for i in access.index], program, inner, local, certain)
                yield touch, access in node.stores
            for store in node.stores:
                if store.mode != "set" and not store.fresh:
                    yield _everything(store.container, program), False
        elif isinstance(node, NodeCall):
            for regions, written in ((node.inputs, False), (node.outputs, True)):
                for r in regions.values():
                    pairs = [(b, e) for b, e, _ in r.subset.ranges]
                    yield _touch(r.container, pairs, program, params, unknown, not maybe), written
        elif isinstance(node, Loop):
            p = loop_param(node)
            yield from _touches(node.body, program, (*params, p) if p else params, unknown, maybe or p is None)
        elif isinstance(node, Scope):
            yield from _touches(node.body, program, (*params, *node.params), unknown, maybe)
        else:
            for arm in children(node):
                yield from _touches(arm, program, params, unknown, True)


def _everything(name: str, program: Program) -> Touch:
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
    """The range of an index that is a parameter, up to a constant."""
    names = free_names(index) & params.keys()
    if len(names) != 1:
        return None
    p = params[names.pop()]
    offset = sympy.expand(index - sym(p.name))
    if p.step != 1 or p.name in free_names(offset) or free_names(p.start, p.stop) & params.keys():
        return None
    return (p.start + offset, p.stop + offset, sympy.Integer(1))
