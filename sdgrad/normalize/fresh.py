"""``x = 0`` followed by ``x += ...`` is a sum that defines ``x``: one fresh reduction.

The sums may be several that share the elements, as the parts of something joined do, and in loops, each trip with
elements of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

import sympy

from sdgrad.analysis.relations import covers, loop_param, partition
from sdgrad.normalize.copies import is_identity
from sdgrad.normalize.fuse import drop_stores, injective_by_position
from sdgrad.program.tree import (
    Block,
    Leaf,
    Let,
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


def start_fresh(program: Program) -> Program:
    """The program with initialisations folded into the reductions they start."""
    return replace(program, body=fold(program.body, program))


def fold(block: Block, program: Program) -> Block:
    out: list[Node | None] = [with_children(n, tuple(fold(b, program) for b in children(n))) for n in block]
    for k, node in enumerate(out):
        if isinstance(node, Leaf):
            for store in node.stores:
                found = next_use(out, k, store, node, program) if starts(store, node, program) else None
                if found is not None:
                    out[found.at] = found.done
                    rest = drop_stores(node, lambda s, dead=store: s is dead)
                    node = out[k] = rest if rest.stores else None
                    if node is None:
                        break
    return tuple(n for n in out if n is not None)


def starts(store: Store, leaf: Leaf, program: Program) -> bool:
    """Whether a store fills a whole container with a constant."""
    return (
        store.mode == "set"
        and number(store, leaf) is not None
        and program.root(store.container) == store.container
        and covers(store, leaf, program.containers[store.container].shape)
    )


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


def next_use(block: Sequence[Node | None], k: int, store: Store, leaf: Leaf, program: Program) -> Use | None:
    """The next use of a container, if all that is done with it there are reductions that the constant is neutral for.

    They must reach all its elements.
    """
    name = store.container
    for j in range(k + 1, len(block)):
        node = block[j]
        if node is None or not uses(node, name, program):
            continue
        found = only_user(node, name, program)
        if found is None or any(program.root(x.container) == name for x in found[0].loads):
            return None
        user, around = found
        mine = [s for s in user.stores if program.root(s.container) == name]
        neutral = is_identity(mine[0].mode, number(store, leaf), program.containers[name].dtype)
        fresh = started(user, around, mine, program) if neutral and not any(s.fresh for s in mine) else None
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
