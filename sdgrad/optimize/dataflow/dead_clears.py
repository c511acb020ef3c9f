"""Remove clears that no later instance reads (dead store elimination, instance by instance).

Reversal clears each cotangent that it hands on, in case its element is added to again::

    loop t:                                       loop t:
      do:                                           do:
        g = gradient_y[t]                             g = gradient_y[t]
        gradient_y[t] = 0                             gradient_x[t] += g
        gradient_x[t] += g

A clear is dead if no read follows it at its element. Integer relations between the instances of the clear and those of
each read decide it, in the lexicographic order of the loops around both (Feautrier 1991; Verdoolaege 2010). Iterations
of a loop do not share what the loop privatizes.

The pass keeps clears in scopes, clears of views and arguments, and clears in loops of unknown direction.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from sdgrad.analysis.access_relations import access_relation, injective, loop_param
from sdgrad.analysis.loop_private import region_locals
from sdgrad.analysis.uses import users
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
    map_blocks,
    own_reads,
    reads,
    walk,
)
from sdgrad.rewrite.dead_code import drop_stores
from sdgrad.symbolic.expr import sym

ANY = "any_element"
Dimension = tuple[str, Param | None]


@dataclass(frozen=True)
class Access:
    """A read or a clear in its context.

    :param position: its position in the program's text.
    :param loops: the loops around it, outermost first.
    :param access: None if it may touch any element.
    """

    position: int
    loops: tuple[Loop | Scope, ...]
    leaf: Leaf | None
    access: Load | Store | None

    def relation(self, common: int, rank: int, unknown: frozenset[str]) -> isl.Map:
        """Return the relation ``{ [iterations of the first common loops] -> [element] }``."""
        dims = [d for loop in self.loops for d in _dimensions(loop)]
        dims += [(p.name, p) for p in self.leaf.params] if self.leaf is not None else []
        local = self.leaf.defined if self.leaf is not None else frozenset()
        index = self.access.index if self.access is not None else (sym(ANY),) * rank
        found = access_relation(index, dims, unknown | local | {ANY}, rank).map
        first = sum(len(_dimensions(loop)) for loop in self.loops[:common])
        return found.project_out(isl.dim_type.in_, first, len(dims) - first)


def drop_clears(program: Program) -> Program:
    """Remove assignments of constants to temporaries that no read follows."""
    assigned = frozenset(n.symbol for n in walk(program.body) if isinstance(n, SymbolAssign))
    found = list(_accesses(program.body, (), program, [0]))
    everywhere = users(program.body, program)
    private = {id(n): region_locals(n, everywhere, program) for n in walk(program.body) if isinstance(n, Loop)}
    readers = _readers(found)

    def is_dead(name: str, clear: Access) -> bool:
        rank, fixed = len(program.containers[name].shape), _privatizing_loops(name, clear, private)
        return not any(_reads_after(r, clear, rank, assigned, fixed) for r in readers.get(name, ()))

    dead = {(a.position, id(a.access)) for name, a in found if _clears(a, name, program) and is_dead(name, a)}
    return replace(program, body=_without(program.body, dead, [0])) if dead else program


def _readers(accesses: Iterable[tuple[str, Access]]) -> dict[str, list[Access]]:
    """Return by container the accesses that read it: all but assignments and sums that start from zero."""
    found: dict[str, list[Access]] = {}
    for name, a in accesses:
        if not isinstance(a.access, Store) or a.access.mode != "set" and not a.access.fresh:
            found.setdefault(name, []).append(a)
    return found


def _without(block: Block, dead: set[tuple[int, int]], count: list[int]) -> Block:
    """Drop dead stores from a block, and leaves without stores.

    :param dead: stores by position and identity, since one object may stand in several places.
    :param count: the position of the last node.
    """
    out: list[Node] = []
    for node in block:
        count[0] += 1
        position = count[0]
        if isinstance(node, Leaf) and any((position, id(s)) in dead for s in node.stores):
            left = drop_stores(node, lambda s, position=position: (position, id(s)) in dead)
            out += [left] if left.stores else []
        else:
            out.append(map_blocks(node, lambda b: _without(b, dead, count)))
    return tuple(out)


def _clears(access: Access, name: str, program: Program) -> bool:
    """True if an access assigns a constant to a temporary that is no view, outside of scopes."""
    store, leaf = access.access, access.leaf
    if not isinstance(store, Store) or leaf is None or not _is_temporary(name, program):
        return False
    if store.container != name or store.mode != "set" or any(isinstance(x, Scope) for x in access.loops):
        return False
    return store.value == "0" or any(x.name == store.value and isinstance(x.expr, ast.Constant) for x in leaf.lets)


def _is_temporary(name: str, program: Program) -> bool:
    container = program.containers.get(name)
    return container is not None and container.desc.transient and name not in program.arguments


def _accesses(
    block: Block, loops: tuple[Loop | Scope, ...], program: Program, count: list[int]
) -> Iterator[tuple[str, Access]]:
    """Yield the accesses of a block, each with the container that has the memory.

    :param count: the position of the last node.
    """
    for node in block:
        count[0] += 1
        if isinstance(node, Leaf):
            touched: list[Load | Store] = [*node.loads, *node.stores]
            for i in touched:
                root = program.root(i.container)
                yield root, Access(count[0], loops, node, i if root == i.container else None)
        else:
            for name in own_reads(node) if children(node) else reads(node) | own_reads(node):
                yield program.root(name), Access(count[0], loops, None, None)  # bounds are read without iterations, too
        for inner in children(node):
            around = (*loops, node) if isinstance(node, (Loop, Scope)) else loops
            yield from _accesses(inner, around, program, count)


def _dimensions(loop: Loop | Scope) -> list[Dimension]:
    """Return the symbols that a loop or scope runs through, each with its range if that is known."""
    if isinstance(loop, Scope):
        return [(p.name, p) for p in loop.params]
    return [(loop.symbol, loop_param(loop))]


def _privatizing_loops(name: str, access: Access, private: Mapping[int, frozenset[str]]) -> int:
    """Return how many of the outermost loops have one iteration for each content of a container.

    :param private: the containers that each loop privatizes, by the loop's identity.
    """
    return max((k for k, loop in enumerate(access.loops, 1) if name in private.get(id(loop), ())), default=0)


def _reads_after(read: Access, clear: Access, rank: int, unknown: frozenset[str], fixed: int) -> bool:
    """True if a read may follow a clear at its element.

    :param rank: the number of dimensions of the container.
    :param unknown: symbols without a known range.
    :param fixed: the number of outermost loops that have the same iteration in both.
    """
    common = _common_loops(read, clear)
    or_now = _follows_in_text(read, clear, rank)
    if not or_now and fixed >= common:
        return False
    rising = _directions(clear.loops[:common])
    if rising is None:
        return True
    cleared, seen = (x.relation(common, rank, unknown) for x in (clear, read))
    if cleared.is_empty() or seen.is_empty():
        return True  # what never runs is left as it is: it may be all that defines what is read
    pairs = cleared.apply_range(seen.reverse())
    if common:
        pairs = pairs.intersect(_later(rising, or_now, fixed))
    return not pairs.is_empty()


def _common_loops(one: Access, other: Access) -> int:
    """Return how many loops are around both accesses."""
    pairs = enumerate(zip(one.loops, other.loops, strict=False))
    return next((k for k, (a, b) in pairs if a is not b), min(len(one.loops), len(other.loops)))


def _follows_in_text(read: Access, clear: Access, rank: int) -> bool:
    """True if a read may follow a clear within one iteration of the loops around both."""
    if read.position == clear.position and not _is_injective(clear, rank):
        return True
    return read.position > clear.position or read.access is None


def _directions(loops: Sequence[Loop | Scope]) -> list[bool] | None:
    """Return for each loop True if its symbol increases; None if that is unknown for one."""
    params = [p for loop in loops for _, p in _dimensions(loop)]
    rising = [bool(p.step > 0) for p in params if p is not None and p.step.is_number]
    return rising if len(rising) == len(loops) else None


def _is_injective(clear: Access, rank: int) -> bool:
    """True if each instance of a clear's leaf clears an element of its own."""
    leaf, store = clear.leaf, clear.access
    return leaf is not None and store is not None and not leaf.sequential and injective(store, leaf, rank)


def _later(rising: list[bool], or_now: bool, fixed: int) -> isl.Map:
    """Return the pairs of iterations of which the second is lexicographically later.

    :param rising: for each loop, True if its symbol increases.
    :param or_now: True to include pairs of equal iterations.
    :param fixed: the number of outermost loops that have the same iteration in both.
    """
    ours, theirs = ([f"{x}{k}" for k in range(len(rising))] for x in "ab")
    equal = [f"{a} = {b}" for a, b in zip(ours, theirs, strict=True)]
    orders = []
    for k, up in [*enumerate(rising)][fixed:]:
        orders.append(" and ".join([*equal[:k], f"{ours[k]} {'<' if up else '>'} {theirs[k]}"]))
    if or_now:
        orders.append(" and ".join(equal))
    return isl.Map(f"{{ [{', '.join(ours)}] -> [{', '.join(theirs)}] : {' or '.join(f'({o})' for o in orders)} }}")
