"""Checks of what passes leave: above all races, instances of a parallel map that touch one element that one changes.

Races are looked for by integer relations on the program that a pass left. The check asks nothing of the pass.
Subscripts that are data are left out, so nobody is accused without an example.
"""

from collections.abc import Iterator
from itertools import combinations_with_replacement

import islpy as isl
import sympy
from dace import ScheduleType

from sdgrad.analysis.access_relations import access_relation
from sdgrad.analysis.enclosing import dims_of
from sdgrad.program import passes
from sdgrad.program.tree import (
    Leaf,
    Let,
    Load,
    Loop,
    NodeCall,
    Param,
    Scope,
    Store,
    SymbolAssign,
    children,
    local_names,
    reads,
    walk,
    writes,
)
from sdgrad.rewrite.reduction_init import number
from sdgrad.symbolic.expr import sym


class Race(Exception):
    """An optimised program whose result depends on the order of what has none."""


_held: list = [None, False]  # the program that was checked last, and whether for races


class Broken(Exception):
    """A pass left a program that does not keep its phase's promise."""


def watch() -> None:
    """Hold every pass that this process runs from now on to its phase."""
    if hold not in passes.observers:
        passes.observers.append(hold)


def hold(step: passes.Pass, program) -> None:
    """Check what a pass left: names and containers in every phase, and from ``SCHEDULED`` on no race.

    :raises Broken: a name or a container is used that is not there.
    :raises Race: instances of a parallel map meet.
    """
    scheduled = step.phase >= passes.Phase.SCHEDULED
    if _held[0] is program and _held[1] == scheduled:  # this pass left it as the one before did
        return
    _held[:] = [program, scheduled]
    if missing := undefined(program):
        raise Broken(f"{step.name}: {missing[0]}")
    if not scheduled:
        return
    if found := races(program):
        raise Race("\n".join((f"after {step.name}:", *found)))
    if fresh := [s for n in walk(program.body) if isinstance(n, Leaf) for s in n.stores if s.fresh]:
        raise Broken(f"{step.name}: {fresh[0]} has no order")


def undefined(program) -> list[str]:
    """A line for each container that is used and not declared, and each value that no load or let before it defines."""
    known = set(program.containers) | {name for n in walk(program.body) for name in local_names(n)}
    found = [f"no container {c}" for n in program.body for c in sorted((reads(n) | writes(n)) - known)]
    symbols = set(program.symbols) | {n.symbol for n in walk(program.body) if isinstance(n, (Loop, SymbolAssign))}
    symbols |= {p.name for n in walk(program.body) if isinstance(n, (Leaf, Scope)) for p in n.params}
    for leaf in (n for n in walk(program.body) if isinstance(n, Leaf)):
        found += [line for name, line in _from_outside(leaf) if name not in symbols]
    return found


def _from_outside(leaf: Leaf) -> list[tuple[str, str]]:
    """What the stores and guards of a leaf use that no load or let before them defines: names, and lines of errors."""
    if id(leaf) not in _outside:
        if len(_outside) >= MOST_LEAVES:
            _outside.clear()
        seen: set[str] = set()
        found: list[tuple[str, str]] = []
        for instr in leaf.body:
            if isinstance(instr, Store) and instr.value not in seen:
                found.append((instr.value, f"no value {instr.value} in {instr}"))
            if not isinstance(instr, Let) and instr.guard is not None and instr.guard not in seen:
                found.append((instr.guard, f"no guard {instr.guard} in {instr}"))
            if not isinstance(instr, Store):
                seen.add(instr.name)
        _outside[id(leaf)] = (leaf, found)  # the leaf, so that its id stays its own
    return _outside[id(leaf)][1]


def races(program) -> list[str]:
    """A line for each pair of accesses that may meet in two instances of a map that have no order."""
    return [line for node, outer in _nodes(program.body, ()) for line in _known(node, outer, program)]


_leaves: dict[tuple, tuple[Leaf, list[str]]] = {}  # passes hand most leaves on as they are
_outside: dict[int, tuple[Leaf, list[tuple[str, str]]]] = {}
MOST_LEAVES = 4096


def _known(node, outer, program) -> list[str]:
    """What :func:`_of` says of a node, once for each leaf and the loops around it."""
    if not isinstance(node, Leaf):
        return list(_of(node, outer, program))
    key = (id(node), outer)
    if key not in _leaves:
        if len(_leaves) >= MOST_LEAVES:
            _leaves.clear()
        _leaves[key] = (node, list(_of(node, outer, program)))  # the node, so that its id stays its own
    return _leaves[key][1]


def _nodes(block, outer) -> Iterator:
    for node in block:
        yield node, outer
        for inner in children(node):
            yield from _nodes(inner, (*outer, *((d.name, d.param) for d in dims_of(node))))


def _of(node, outer, program) -> Iterator[str]:
    ordered = not isinstance(node, (Leaf, Scope)) or node.sequential or node.schedule == ScheduleType.Sequential
    if ordered or not node.params:
        return
    changing = {n.symbol for n in walk((node,)) if isinstance(n, SymbolAssign)}
    own = {name for n in walk((node,)) for name in local_names(n)}
    params = tuple((p.name, p) for p in node.params)
    leaves = [n for n in walk((node,)) if isinstance(n, Leaf)]
    constant = {id(s) for n in leaves for s in n.stores if s.mode == "set" and number(s, n) is not None}
    found = [
        (access, _map(access, (*outer, *params), inner, changing | unknown, len(outer)))
        for access, inner, unknown in _accesses(node, program)
        if access.container not in own
    ]
    found = [(a, m) for a, m in found if m is not None]
    for (a, ours), (b, theirs) in combinations_with_replacement(found, 2):
        if isinstance(a, Load) and isinstance(b, Load) or a.container != b.container:
            continue
        if a is b and id(a) in constant:  # the same number, whoever comes last
            continue
        met = ours.apply_range(theirs.reverse())
        different = met.subtract(_same(met, range(met.dim(isl.dim_type.in_))))
        # of the same trips of the loops around: those of others have an order
        here = different.intersect(_same(met, range(len(outer))))
        if not here.is_empty():
            yield f"{node.source}: {a} and {b}, {here}"


def _accesses(node, program) -> Iterator:
    """What a node does to elements, the dimensions of its instances besides the node's own, and names of data."""
    if isinstance(node, Leaf):
        yield from ((x, (), node.defined) for x in _of_leaf(node))
        return
    for inner, dims in _nodes(node.body, ()):
        if isinstance(inner, Leaf):
            params = (*dims, *((p.name, p) for p in inner.params))
            yield from ((x, params, inner.defined) for x in _of_leaf(inner))
        elif isinstance(inner, NodeCall):
            for made, regions in ((Load, inner.inputs), (Store, inner.outputs)):
                for region in regions.values():
                    access, ranges = _of_region(made, region, program)
                    yield access, (*dims, *ranges), frozenset()


def _of_leaf(leaf: Leaf) -> list:
    return [i for i in leaf.body if isinstance(i, (Load, Store)) and i.guard is None]


def _of_region(made, region, program):
    """All elements of an operand, or of what it is a view of, as an access with a dimension for each of the array's."""
    container, subset = program.containers[region.container], region.subset
    name = container.name
    if container.view_of is not None and program.root(name) == container.view_of:
        name, subset = container.view_of, container.view_subset
    one = sympy.Integer(1)
    ranges = [Param(f"r{d}", first, last, one) for d, (first, last, _) in enumerate(subset.ranges)]
    index = tuple(sym(p.name) for p in ranges)
    access = Load("x", name, index) if made is Load else Store(name, index, "x")
    return access, tuple((p.name, p) for p in ranges)


def _map(access, dims, inner, unknown, given):
    """``{ [instance] -> [element] }``; None where it is not known exactly."""
    found = access_relation(access.index, (*dims, *inner), unknown, len(access.index), given)
    if not found.exact:
        return None
    return found.map.project_out(isl.dim_type.in_, len(dims), len(inner))


def _same(of: isl.Map, dims) -> isl.Map:
    """Pairs of instances that are equal in some dimensions."""
    found = isl.Map.universe(of.get_space())
    for d in dims:
        found = found.equate(isl.dim_type.in_, d, isl.dim_type.out, d)
    return found
