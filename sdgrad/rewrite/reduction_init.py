"""``x = 0`` followed by ``x += ...`` is a sum that defines ``x``: one fresh reduction.

The sums may be several that share the elements, as the parts of something joined do, and in loops, each trip with
elements of its own.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import islpy as isl
import sympy

from sdgrad.analysis.access_relations import covers, injective, leaf_relation, loop_param, partition
from sdgrad.analysis.loop_private import users
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
    children,
    reads,
    rewritten,
    walk,
    with_children,
    writes,
)
from sdgrad.rewrite.fusion import drop_stores, injective_by_position
from sdgrad.symbolic.expr import free_names


def start_fresh(program: Program) -> Program:
    """The program with initialisations folded into the reductions they start."""
    return replace(program, body=fold(program.body, program, users(program.body, program)))


def fold(block: Block, program: Program, everywhere: Counter[str]) -> Block:
    """
    :param everywhere: users of each container in the whole program.
    """
    out: list[Node | None] = [with_children(n, tuple(fold(b, program, everywhere) for b in children(n))) for n in block]
    inside = users(block, program)
    own = {n for n, count in inside.items() if count == everywhere[n] and program.containers[n].transient}
    for k, node in enumerate(out):
        if isinstance(node, Leaf):
            for store in node.stores:
                found = next_use(out, k, store, node, program, own) if starts(store, node, program) else None
                if found is not None:
                    out[found.at] = found.done
                    rest = drop_stores(node, lambda s, dead=store: s is dead)
                    node = out[k] = rest if rest.stores else None
                    if node is None:
                        break
    return tuple(n for n in out if n is not None)


def starts(store: Store, leaf: Leaf, program: Program) -> bool:
    """Whether a store fills a container, or the elements of it that integer sets can name, with a constant."""
    if store.mode != "set" or number(store, leaf) is None or program.root(store.container) != store.container:
        return False
    shape = program.containers[store.container].shape
    return covers(store, leaf, shape) or store.guard is None and leaf_relation(store, leaf, len(shape)).exact


def number(store: Store, leaf: Leaf) -> object:
    for let in leaf.lets:
        if let.name == store.value:
            try:
                return ast.literal_eval(_bare(let))
            except (ValueError, SyntaxError):
                return None
    return None


def _bare(let: Let) -> ast.expr:
    """The literal in ``dace.float64(0)``."""
    expr = let.expr
    return expr.args[0] if isinstance(expr, ast.Call) and len(expr.args) == 1 else expr


@dataclass(frozen=True)
class Use:
    """Where in its block a container is used next, and the node there without need for a start."""

    at: int
    done: Node


def next_use(
    block: Sequence[Node | None], k: int, store: Store, leaf: Leaf, program: Program, own: set[str]
) -> Use | None:
    """The next use of a container, if all that is done with it there are reductions that the constant is neutral for.

    They must reach all its elements, or all that are used later.

    :param own: containers that nothing but the block uses.
    """
    name = store.container
    shape = program.containers[name].shape
    part = None if covers(store, leaf, shape) else leaf_relation(store, leaf, len(shape)).elements
    bounds = {n for p in leaf.params for n in free_names(p.start, p.stop)} | free_names(*store.index)
    for j in range(k + 1, len(block)):
        node = block[j]
        if (
            part is not None
            and node is not None
            and bounds & {s.symbol for s in walk((node,)) if isinstance(s, (SymbolAssign, Loop))}
        ):
            return None
        if node is None or not uses(node, name, program):
            continue
        found = only_user(node, name, program)
        if found is None or any(program.root(x.container) == name for x in found[0].loads):
            return None
        user, around = found
        mine = [s for s in user.stores if program.root(s.container) == name]
        neutral = is_identity(mine[0].mode, number(store, leaf), program.containers[name].dtype)
        if not neutral or any(s.fresh for s in mine):
            return None
        fresh = started(user, around, mine, program) if part is None else None
        if fresh is None:
            alone = name in own and not any(n is not None and uses(n, name, program) for n in block[:k])
            later = used_later(block, j, user, name, program) if part is None and alone else None
            touched = later if part is None else part
            fresh = started_part(user, around, mine, touched, part is not None) if touched is not None else None
        if fresh is None:
            return None
        return Use(j, exchanged(node, user, fresh))
    return None


def exchanged(node: Node, old: Leaf, new: Leaf) -> Node:
    """The node with another leaf in place of one that it is, or holds."""
    (done,) = rewritten((node,), lambda n: (new if n is old else n,))
    return done


def uses(node: Node, name: str, program: Program) -> bool:
    return name in {program.root(c) for c in reads(node) | writes(node)}


def only_user(node: Node, name: str, program: Program) -> tuple[Leaf, tuple[Param, ...]] | None:
    """The one leaf of a node that uses a container, and the loops around it, if these are all that matters."""
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
    """The leaf with its sums into a container as the first; one term for each element is no sum."""
    if len({(s.container, s.mode) for s in mine}) > 1 or mine[0].mode == "set":
        return None
    shape = program.containers[mine[0].container].shape
    if not is_whole(mine[0].container, program):
        return None
    if len(mine) == 1 and not around and not injective_by_position(mine[0], leaf):
        return changed(leaf, mine, "fresh") if covers(mine[0], leaf, shape) else None
    return changed(leaf, mine, "set") if partition(mine, replace(leaf, params=(*around, *leaf.params)), shape) else None


def used_later(block: Sequence[Node | None], j: int, user: Leaf, name: str, program: Program) -> isl.Set | None:
    """The elements that leaves of a block use from its j-th node on; None where that is not known."""
    rank = len(program.containers[name].shape)
    found: isl.Set | None = None
    changed: set[str] = set()
    for node in block[j:]:
        if node is None or not uses(node, name, program):
            changed |= (
                {n.symbol for n in walk((node,)) if isinstance(n, (SymbolAssign, Loop))} if node is not None else set()
            )
            continue
        if not isinstance(node, Leaf) or node is block[j] and node is not user:
            return None
        accesses: list[Load | Store] = [*node.loads, *node.stores]
        for i in accesses:
            if program.root(i.container) != name:
                continue
            rel = leaf_relation(i, node, rank) if i.container == name else None
            if rel is None or not rel.exact:
                return None
            if set(rel.map.get_var_names(isl.dim_type.param)) & {f"v_{s}" for s in changed}:
                return None
            found = rel.elements if found is None else found.union(rel.elements)
    return found


def started_part(
    leaf: Leaf, around: tuple[Param, ...], mine: Sequence[Store], part: isl.Set, exactly: bool
) -> Leaf | None:
    """The same, where some elements matter: the leaf has to reach these, and where it says ``exactly`` no others."""
    if len(mine) != 1 or around or mine[0].mode == "set":
        return None
    found = leaf_relation(mine[0], leaf, len(mine[0].index))
    if not found.exact or not part.is_subset(found.elements) or exactly and not found.elements.is_subset(part):
        return None
    return changed(leaf, mine, "set" if injective(mine[0], leaf, len(mine[0].index)) else "fresh")


def changed(leaf: Leaf, mine: Sequence[Store], what: str) -> Leaf:
    own = {id(s) for s in mine}

    def first(store: Store) -> Store:
        return replace(store, mode="set") if what == "set" else replace(store, fresh=True)

    return replace(leaf, body=tuple(first(i) if isinstance(i, Store) and id(i) in own else i for i in leaf.body))


def is_whole(name: str, program: Program) -> bool:
    """Whether a container has memory of its own, or is another shape of all of one that has."""
    own, root = program.containers[name], program.containers[program.root(name)]
    packed = [sympy.Mul(*own.shape[d + 1 :]) for d in range(len(own.shape))]
    same_size = sympy.Mul(*own.shape) == sympy.Mul(*root.shape)
    return own is root or same_size and packed == [sympy.sympify(s) for s in own.desc.strides]
