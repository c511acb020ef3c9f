"""Fold an initialization into the reduction that follows it: ``x = 0`` and ``x += ..`` become one fresh reduction.

The reduction may consist of several stores that partition the elements, and stand in loops whose iterations reach
disjoint elements. A store that reaches each element once becomes an assignment. Declines where the container is read in
between, where the constant is not the identity of the reduction, or where some used element gets no term.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import islpy as isl
import sympy

from sdgrad.analysis.access_relations import covers, injective, leaf_relation, loop_param, partition
from sdgrad.analysis.uses import users
from sdgrad.program.reductions import is_identity
from sdgrad.program.tree import (
    Block,
    Leaf,
    Let,
    Load,
    Loop,
    Node,
    Param,
    Program,
    Store,
    SymbolAssign,
    map_blocks,
    reads,
    rewritten,
    walk,
    writes,
)
from sdgrad.rewrite.dead_code import drop_stores
from sdgrad.rewrite.fusion import injective_by_position
from sdgrad.symbolic.expr import free_names


def start_fresh(program: Program) -> Program:
    """Fold the initializations of a program into the reductions they start."""
    return replace(program, body=fold(program.body, program, users(program.body, program)))


def fold(block: Block, program: Program, everywhere: Counter[str]) -> Block:
    """Fold the initializations of a block into the reductions that follow them.

    :param everywhere: the number of users of each container in the whole program.
    """
    out: list[Node | None] = [map_blocks(n, lambda b: fold(b, program, everywhere)) for n in block]
    inside = users(block, program)
    own = {n for n, count in inside.items() if count == everywhere[n] and program.containers[n].transient}
    users_at = _positions(out, program)
    for k, node in enumerate(out):
        if isinstance(node, Leaf):
            _fold_leaf(out, k, node, program, own, users_at)
    return tuple(n for n in out if n is not None)


def _positions(block: Sequence[Node | None], program: Program) -> dict[str, list[int]]:
    """Return where in a block the memory of each container is used, in order. Folding adds no user."""
    found: dict[str, list[int]] = {}
    for k, node in enumerate(block):
        for name in {program.root(c) for c in reads(node) | writes(node)} if node is not None else ():
            found.setdefault(name, []).append(k)
    return found


def _fold_leaf(
    out: list[Node | None], k: int, leaf: Leaf, program: Program, own: set[str], users_at: Mapping[str, list[int]]
) -> None:
    """Drop the initializing stores of the leaf at position ``k`` that the next use makes redundant."""
    for store in leaf.stores:
        at = users_at.get(store.container, [])
        found = next_use(out, k, store, leaf, program, own, at) if starts(store, leaf, program) else None
        if found is not None:
            out[found.at] = found.done
            leaf = drop_stores(leaf, lambda s, dead=store: s is dead)
            out[k] = leaf if leaf.stores else None
            if not leaf.stores:
                return


def starts(store: Store, leaf: Leaf, program: Program) -> bool:
    """True if a store sets a container, or an exactly known part of it, to a constant."""
    if store.mode != "set" or number(store, leaf) is None or program.root(store.container) != store.container:
        return False
    shape = program.containers[store.container].shape
    return covers(store, leaf, shape) or store.guard is None and leaf_relation(store, leaf, len(shape)).exact


def number(store: Store, leaf: Leaf) -> object:
    """Return the constant that a store writes. None if it is no constant."""
    for let in leaf.lets:
        if let.name == store.value:
            try:
                return ast.literal_eval(_bare(let))
            except (ValueError, SyntaxError):
                return None
    return None


def _bare(let: Let) -> ast.expr:
    """Return the literal in ``dace.float64(0)``."""
    expr = let.expr
    return expr.args[0] if isinstance(expr, ast.Call) and len(expr.args) == 1 else expr


@dataclass(frozen=True)
class Use:
    """The next use of a container: its position, and its node without need for an initialization."""

    at: int
    done: Node


@dataclass(frozen=True)
class Initialization:
    """A store of a constant that may be the start of a reduction.

    :param part: the elements that it sets. None if it sets the whole container.
    """

    store: Store
    leaf: Leaf
    part: isl.Set | None

    @property
    def name(self) -> str:
        return self.store.container

    @cached_property
    def symbols(self) -> frozenset[str]:
        """Return the symbols that determine the set elements."""
        bounds = (free_names(p.start, p.stop) for p in self.leaf.params)
        return self.store.index_names.union(*bounds)


def next_use(
    block: Sequence[Node | None],
    k: int,
    store: Store,
    leaf: Leaf,
    program: Program,
    own: set[str],
    users_at: Sequence[int],
) -> Use | None:
    """Find the next use of an initialized container, as a reduction that starts from its identity.

    None unless the next user only accumulates into the container, the constant is the identity of its mode, and the
    accumulation reaches all elements, or all that are used later.

    :param own: containers that nothing but the block uses.
    :param users_at: where in the block the container was used when folding began.
    """
    shape = program.containers[store.container].shape
    part = None if covers(store, leaf, shape) else leaf_relation(store, leaf, len(shape)).elements
    start = Initialization(store, leaf, part)
    for j in users_at[bisect_right(users_at, k) :]:
        node = block[j]
        if node is None or not uses(node, start.name, program):
            continue
        if part is not None and start.symbols & _assigned(block[k + 1 : j + 1]):
            return None
        done = _absorbed(start, block, k, j, program, own)
        return Use(j, done) if done is not None else None
    return None


def _assigned(block: Sequence[Node | None]) -> set[str]:
    """Return the symbols that get a value in some nodes."""
    inside = walk(tuple(n for n in block if n is not None and not isinstance(n, Leaf)))
    return {n.symbol for n in inside if isinstance(n, (SymbolAssign, Loop))}


def _absorbed(
    start: Initialization, block: Sequence[Node | None], k: int, j: int, program: Program, own: set[str]
) -> Node | None:
    """Return the node at position ``j`` with its reduction fresh.

    None if it needs the initialization at position ``k``.
    """
    node = block[j]
    found = only_user(node, start.name, program) if node is not None else None
    mine = _neutral_updates(found[0], start, program) if found is not None else []
    if node is None or found is None or not mine:
        return None
    user, around = found
    if start.part is not None:
        fresh = started_part(user, around, mine, start.part, True)
    else:
        fresh = started(user, around, mine, program)
        if fresh is None and start.name in own and not _is_used(block[:k], start.name, program):
            later = used_later(block, j, user, start.name, program)
            fresh = started_part(user, around, mine, later, False) if later is not None else None
    return exchanged(node, user, fresh) if fresh is not None else None


def _neutral_updates(user: Leaf, start: Initialization, program: Program) -> list[Store]:
    """Return the updates whose identity is the initial constant.

    Empty if the leaf accesses the container in another way.
    """
    if any(program.root(x.container) == start.name for x in user.loads):
        return []
    mine = [s for s in user.stores if program.root(s.container) == start.name]
    dtype = program.containers[start.name].dtype
    neutral = is_identity(mine[0].mode, number(start.store, start.leaf), dtype)
    return mine if neutral and not any(s.fresh for s in mine) else []


def _is_used(block: Sequence[Node | None], name: str, program: Program) -> bool:
    """True if a node of the block accesses the memory of a container."""
    return any(n is not None and uses(n, name, program) for n in block)


def exchanged(node: Node, old: Leaf, new: Leaf) -> Node:
    """Replace a leaf by another one in a node."""
    (done,) = rewritten((node,), lambda n: (new if n is old else n,))
    return done


def uses(node: Node, name: str, program: Program) -> bool:
    """True if a node accesses the memory of a container."""
    return name in {program.root(c) for c in reads(node) | writes(node)}


def only_user(node: Node, name: str, program: Program) -> tuple[Leaf, tuple[Param, ...]] | None:
    """Return the single leaf of a node that uses a container, and the loops around it. None if there are several."""
    around: list[Param] = []
    while isinstance(node, Loop):
        trips = loop_param(node) if node.also is None else None
        users = [n for n in node.body if uses(n, name, program)]
        if trips is None or len(users) != 1 or any(isinstance(n, SymbolAssign) for n in walk(node.body)):
            return None
        around.append(trips)
        (node,) = users
    return (node, tuple(around)) if isinstance(node, Leaf) else None


def started(leaf: Leaf, around: tuple[Param, ...], mine: Sequence[Store], program: Program) -> Leaf | None:
    """Return the leaf with its updates of a container as the first. None if they do not reach all elements.

    Updates that reach each element once become assignments, others fresh reductions.
    """
    if len({(s.container, s.mode) for s in mine}) > 1 or mine[0].mode == "set":
        return None
    shape = program.containers[mine[0].container].shape
    if not is_whole(mine[0].container, program):
        return None
    if len(mine) == 1 and not around and not injective_by_position(mine[0], leaf):
        return changed(leaf, mine, "fresh") if covers(mine[0], leaf, shape) else None
    return changed(leaf, mine, "set") if partition(mine, replace(leaf, params=(*around, *leaf.params)), shape) else None


def used_later(block: Sequence[Node | None], j: int, user: Leaf, name: str, program: Program) -> isl.Set | None:
    """Return the elements of a container that the leaves of a block access from position ``j`` on.

    None if not known.
    """
    found: isl.Set | None = None
    changed: set[str] = set()
    for node in block[j:]:
        if node is None:
            continue
        if not uses(node, name, program):
            changed |= _assigned((node,))
            continue
        if not isinstance(node, Leaf) or node is block[j] and node is not user:
            return None
        part = _elements(node, name, changed, program)
        if part is None:
            return None
        found = part if found is None else found.union(part)
    return found


def _elements(leaf: Leaf, name: str, changed: set[str], program: Program) -> isl.Set | None:
    """Return the elements of a container that a leaf accesses.

    None if they are not known exactly, or depend on a symbol that has ``changed``.
    """
    found: isl.Set | None = None
    accesses: list[Load | Store] = [*leaf.loads, *leaf.stores]
    for access in (x for x in accesses if program.root(x.container) == name):
        rank = len(program.containers[name].shape)
        rel = leaf_relation(access, leaf, rank) if access.container == name else None
        if rel is None or not rel.exact:
            return None
        if set(rel.map.get_var_names(isl.dim_type.param)) & {f"v_{s}" for s in changed}:
            return None
        found = rel.elements if found is None else found.union(rel.elements)
    return found


def started_part(
    leaf: Leaf, around: tuple[Param, ...], mine: Sequence[Store], part: isl.Set, exactly: bool
) -> Leaf | None:
    """Return the leaf with its update as the first, if it reaches a part of the elements. None if it does not.

    :param exactly: it may reach no other elements.
    """
    if len(mine) != 1 or around or mine[0].mode == "set":
        return None
    found = leaf_relation(mine[0], leaf, len(mine[0].index))
    if not found.exact or not part.is_subset(found.elements) or exactly and not found.elements.is_subset(part):
        return None
    return changed(leaf, mine, "set" if injective(mine[0], leaf, len(mine[0].index)) else "fresh")


def changed(leaf: Leaf, mine: Sequence[Store], what: str) -> Leaf:
    """Turn some updates of a leaf into assignments (``set``) or fresh reductions."""
    own = {id(s) for s in mine}

    def first(store: Store) -> Store:
        return replace(store, mode="set") if what == "set" else replace(store, fresh=True)

    return replace(leaf, body=tuple(first(i) if isinstance(i, Store) and id(i) in own else i for i in leaf.body))


def is_whole(name: str, program: Program) -> bool:
    """True if a container has memory of its own, or shows all of such a container in another shape."""
    own, root = program.containers[name], program.containers[program.root(name)]
    packed = [sympy.Mul(*own.shape[d + 1 :]) for d in range(len(own.shape))]
    same_size = sympy.Mul(*own.shape) == sympy.Mul(*root.shape)
    return own is root or same_size and packed == [sympy.sympify(s) for s in own.desc.strides]
