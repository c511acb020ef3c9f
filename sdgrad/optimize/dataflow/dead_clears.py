"""Zeros that nobody reads: reversal clears each cotangent that it hands on, in case its element is added to again.

Most are not. A clear is left out where no later instance of anything reads its element, by integer relations between
the instances of the clear and those of each read, in the order of the loops around both. What lives within a trip of a
loop is read in no other one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import islpy as isl

from sdgrad.analysis.access_relations import access_relation, injective, loop_param
from sdgrad.analysis.loop_private import region_locals, users
from sdgrad.program.tree import (
    Block,
    Leaf,
    Load,
    Loop,
    Node,
    Param,
    Program,
    Scope,
    Store,
    SymbolAssign,
    children,
    own_reads,
    reads,
    walk,
    with_children,
)
from sdgrad.rewrite.fusion import drop_stores
from sdgrad.symbolic.expr import sym

ANY = "any_element"
Dimension = tuple[str, Param | None]


@dataclass(frozen=True)
class Access:
    """A read, or a clear: where it stands, and the loops around it, outermost first.

    :param place: its number in the order of the program's text.
    :param access: None for any element.
    """

    place: int
    loops: tuple[Loop | Scope, ...]
    leaf: Leaf | None
    access: Load | Store | None

    def relation(self, common: int, rank: int, unknown: frozenset[str]) -> isl.Map:
        """``{ [trips of the first common loops] -> [element] }``"""
        dims = [d for loop in self.loops for d in _dimensions(loop)]
        dims += [(p.name, p) for p in self.leaf.params] if self.leaf is not None else []
        local = self.leaf.defined if self.leaf is not None else frozenset()
        index = self.access.index if self.access is not None else (sym(ANY),) * rank
        found = access_relation(index, dims, unknown | local | {ANY}, rank).map
        first = sum(len(_dimensions(loop)) for loop in self.loops[:common])
        return found.project_out(isl.dim_type.in_, first, len(dims) - first)


def drop_clears(program: Program) -> Program:
    """The program without assignments of constants to temporaries that nobody reads before the next assignment."""
    assigned = frozenset(n.symbol for n in walk(program.body) if isinstance(n, SymbolAssign))
    found = list(_accesses(program.body, (), program, [0]))
    everywhere = users(program.body, program)
    own = {id(n): region_locals(n, everywhere, program) for n in walk(program.body) if isinstance(n, Loop)}
    readers: dict[str, list[Access]] = {}
    for name, access in found:
        if not isinstance(access.access, Store) or access.access.mode != "set" and not access.access.fresh:
            readers.setdefault(name, []).append(access)
    dead = {  # one object may stand in several places
        (a.place, id(a.access))
        for name, a in found
        if isinstance(a.access, Store) and _clears(a, name, program)
        if not any(
            _sees(r, a, len(program.containers[name].shape), assigned, _trips_of(name, a, own))
            for r in readers.get(name, ())
        )
    }

    return replace(program, body=_without(program.body, dead, [0])) if dead else program


def _without(block: Block, dead: set[tuple[int, int]], count: list[int]) -> Block:
    out: list[Node] = []
    for node in block:
        count[0] += 1
        place = count[0]
        if isinstance(node, Leaf) and any((place, id(s)) in dead for s in node.stores):
            left = drop_stores(node, lambda s, place=place: (place, id(s)) in dead)
            out += [left] if left.stores else []
        else:
            out.append(with_children(node, tuple(_without(b, dead, count) for b in children(node))))
    return tuple(out)


def _clears(access: Access, name: str, program: Program) -> bool:
    store, leaf, container = access.access, access.leaf, program.containers.get(name)
    if not isinstance(store, Store) or leaf is None or container is None or not container.desc.transient:
        return False
    if store.container != name or store.mode != "set" or name in program.arguments:
        return False
    if any(isinstance(x, Scope) for x in access.loops):
        return False
    return store.value == "0" or any(x.name == store.value and isinstance(x.expr, ast.Constant) for x in leaf.lets)


def _accesses(
    block: Block, loops: tuple[Loop | Scope, ...], program: Program, count: list[int]
) -> Iterator[tuple[str, Access]]:
    """Everything that touches a container, by the name of that which has the memory."""
    for node in block:
        count[0] += 1
        if isinstance(node, Leaf):
            touched: list[Load | Store] = [*node.loads, *node.stores]
            for i in touched:
                root = program.root(i.container)
                yield root, Access(count[0], loops, node, i if root == i.container else None)
        else:
            for name in own_reads(node) if children(node) else reads(node) | own_reads(node):
                yield program.root(name), Access(count[0], loops, None, None)  # a loop without trips reads, too
        for inner in children(node):
            around = (*loops, node) if isinstance(node, (Loop, Scope)) else loops
            yield from _accesses(inner, around, program, count)


def _dimensions(loop: Loop | Scope) -> list[Dimension]:
    if isinstance(loop, Scope):
        return [(p.name, p) for p in loop.params]
    return [(loop.symbol, loop_param(loop))]


def _trips_of(name: str, access: Access, own: Mapping[int, frozenset[str]]) -> int:
    """How many of the loops around an access have the same trip whenever a container holds the same."""
    return max((k for k, loop in enumerate(access.loops, 1) if name in own.get(id(loop), ())), default=0)


def _sees(read: Access, clear: Access, rank: int, unknown: frozenset[str], fixed: int) -> bool:
    """Whether a read may come behind a clear, at the same element, in the same trips of ``fixed`` outermost loops."""
    common = 0
    for one, other in zip(read.loops, clear.loops, strict=False):
        if one is not other:
            break
        common += 1
    own = read.place == clear.place and not _each_for_itself(clear, rank)
    after = own or read.place > clear.place or read.access is None
    if not after and (not common or fixed >= common):
        return False
    trips = [p for loop in clear.loops[:common] for _, p in _dimensions(loop) if p is not None and p.step.is_number]
    if len(trips) != common:
        return True
    cleared, seen = (x.relation(common, rank, unknown) for x in (clear, read))
    if cleared.is_empty() or seen.is_empty():
        return True  # what never runs is left as it is: it may be all that defines what is read
    pairs = cleared.apply_range(seen.reverse())
    if not common:
        return not pairs.is_empty()
    return not pairs.intersect(_later([bool(p.step > 0) for p in trips], after, fixed)).is_empty()


def _each_for_itself(clear: Access, rank: int) -> bool:
    """Whether no other instance of a clear's leaf touches the element."""
    leaf, store = clear.leaf, clear.access
    return leaf is not None and store is not None and not leaf.sequential and injective(store, leaf, rank)


def _later(up: list[bool], or_now: bool, fixed: int) -> isl.Map:
    """Pairs of trips of which the second comes later, or is the same one; the same in the ``fixed`` outermost loops."""
    ours, theirs = ([f"{x}{k}" for k in range(len(up))] for x in "ab")
    orders = []
    for k, rising in [*enumerate(up)][fixed:]:
        same = [f"{a} = {b}" for a, b in zip(ours[:k], theirs[:k], strict=True)]
        orders.append(" and ".join([*same, f"{ours[k]} {'<' if rising else '>'} {theirs[k]}"]))
    if or_now:
        orders.append(" and ".join(f"{a} = {b}" for a, b in zip(ours, theirs, strict=True)))
    return isl.Map(f"{{ [{', '.join(ours)}] -> [{', '.join(theirs)}] : {' or '.join(f'({o})' for o in orders)} }}")
