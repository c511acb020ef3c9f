"""What is added to zeros for the first time is set, and only what nothing is set to is zero from the start.

The gradient of a triangle is zeros, to which every element below the diagonal is added once, row by row: set instead,
it is not read, and the zeros are those above. By integer sets: what a sum touches, each element once and nobody else
before it, and what is left of the array.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import islpy as isl
import sympy

from sdgrad.analysis.paths import Path
from sdgrad.analysis.relations import Relation, covers, leaf_relation, loop_param
from sdgrad.names import Names
from sdgrad.normalize.fresh import number, uses
from sdgrad.normalize.fuse import drop_stores
from sdgrad.program.tree import (
    Block,
    Expr,
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
    own_reads,
    walk,
    with_children,
)
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import sym

LEAST = 4096
"""Elements of an array for which a pass over memory matters."""


def set_first(program: Program, names: Names) -> Program:
    """The program with sums into zeros as assignments, where an element has only one."""

    def block(nodes: Block) -> Block:
        out = [with_children(n, tuple(block(b) for b in children(n))) for n in nodes]
        for k in reversed(range(len(out))):
            node = out[k]
            starts = [s for s in node.stores if _is_start(s, node, program)] if isinstance(node, Leaf) else []
            for store in starts:
                found = _firsts(out, k, store, program)
                for first in found:
                    out[first.position] = _with_set(out[first.position], first)
                if found and isinstance(node, Leaf):
                    out[k : k + 1] = _zeros(node, store, found, program, names)
                    break  # of a leaf with several starts, the others stay as they are
        return tuple(out)

    return replace(program, body=block(program.body))


@dataclass(frozen=True)
class Access:
    """A load or store of a node of a block, the loops around it inside that node included."""

    position: int
    path: Path
    access: Load | Store
    relation: Relation

    @property
    def may_be_first(self) -> bool:
        """Whether it adds to each of its elements once."""
        store = self.access
        if not isinstance(store, Store) or store.mode != "sum" or store.fresh or not self.relation.exact:
            return False
        return bool(self.relation.map.is_injective())

    def meets(self, other: Access) -> bool:
        return not self.relation.elements.intersect(other.relation.elements).is_empty()


def _is_start(store: Store, leaf: Leaf, program: Program) -> bool:
    """Whether a store fills a large array of its own with zeros."""
    name = store.container
    if store.mode != "set" or program.root(name) != name or leaf.sequential:
        return False
    shape = program.containers[name].shape
    size = sympy.Mul(*shape)
    large = len(shape) > 1 and size.is_number and size >= LEAST
    mine = [i for i in leaf.body if not isinstance(i, Let) and program.root(i.container) == name]
    return bool(large) and len(mine) == 1 and number(store, leaf) == 0 and covers(store, leaf, shape)


def _firsts(nodes: list[Node], k: int, store: Store, program: Program) -> list[Access]:
    """The sums behind a start that are the first to touch their elements, and touch each once."""
    seen: list[Access] = []
    found: list[Access] = []
    for j in range(k + 1, len(nodes)):
        if isinstance(nodes[j], SymbolAssign):
            break
        if not uses(nodes[j], store.container, program):
            continue
        own = _accesses(nodes[j], j, store.container, program)
        if own is None:
            break
        for access in own:
            if access.may_be_first and not any(access.meets(o) for o in (*seen, *own) if o is not access):
                found.append(access)
        seen += own
    return found


def _accesses(node: Node, position: int, name: str, program: Program) -> list[Access] | None:
    """All that touches a container in loops and leaves; None where there is anything else."""
    found: list[Access] = []
    assigned = {n.symbol for n in walk((node,)) if isinstance(n, Loop)}

    def visit(n: Node, path: Path, outer: tuple[Param, ...]) -> bool:
        if not uses(n, name, program):
            return True
        if isinstance(n, Loop):
            p = loop_param(n) if n.also is None and n.last is None and name not in own_reads(n) else None
            return p is not None and all(visit(x, (*path, i), (*outer, p)) for i, x in enumerate(n.body))
        if not isinstance(n, Leaf):
            return False
        for i in n.body:
            if not isinstance(i, Let) and program.root(i.container) == name:
                if i.container != name:
                    return False
                rel = leaf_relation(i, n, len(program.containers[name].shape), outer)
                known = {p.name for p in outer}
                free = {rel.map.get_dim_name(isl.dim_type.param, d) for d in range(rel.map.dim(isl.dim_type.param))}
                if free & {f"v_{s}" for s in assigned - known}:
                    return False
                found.append(Access(position, path, i, rel))
        return True

    return found if visit(node, (), ()) else None


def _with_set(node: Node, first: Access, path: Path | None = None) -> Node:
    path = first.path if path is None else path
    if isinstance(node, Leaf):
        own = (replace(i, mode="set") if i is first.access and isinstance(i, Store) else i for i in node.body)
        return replace(node, body=tuple(own))
    assert isinstance(node, Loop)
    body = tuple(_with_set(n, first, path[1:]) if i == path[0] else n for i, n in enumerate(node.body))
    return replace(node, body=body)


def _zeros(leaf: Leaf, store: Store, found: list[Access], program: Program, names: Names) -> list[Node]:
    """A start without the elements that are set later, in place of its leaf; the leaf itself where these are odd."""
    rank = len(store.index)
    left = leaf_relation(store, leaf, rank).elements
    for access in found:
        left = left.subtract(access.relation.elements)
    boxes = [_ranges(b, rank, names) for b in left.make_disjoint().coalesce().get_basic_sets()]
    if None in boxes or len(boxes) > 2 * rank:
        return [leaf]
    rest = drop_stores(leaf, lambda s: s is store)
    v = names.fresh("v")
    zeros = [
        Leaf(
            box, (Let(v, code.constant(0)), replace(store, index=tuple(sym(p.name) for p in box), value=v)), leaf.source
        )
        for box in boxes
        if box is not None
    ]
    return [*([rest] if rest.stores else []), *zeros]


def _ranges(box: isl.BasicSet, rank: int, names: Names) -> tuple[Param, ...] | None:
    """The elements of a set as parameters, each between bounds that are linear in those before it; None for others."""
    params: list[Param] = []
    for d in range(rank):
        part = box.project_out(isl.dim_type.set, d + 1, rank - d - 1).remove_redundancies()
        if part.dim(isl.dim_type.div):
            return None
        lower, upper = [], []
        for c in part.get_constraints():
            slope = int(c.get_coefficient_val(isl.dim_type.set, d).to_python())
            if slope == 0:
                continue
            if abs(slope) != 1:
                return None
            bound = -slope * _rest(c, params)
            lower += [bound] if slope > 0 or c.is_equality() else []
            upper += [bound] if slope < 0 or c.is_equality() else []
        if len(lower) != 1 or len(upper) != 1:
            return None
        params.append(Param(names.fresh(f"i{d}"), lower[0], upper[0], sympy.Integer(1)))
    return tuple(params)


def _rest(constraint: isl.Constraint, params: list[Param]) -> Expr:
    """A constraint's left side without the dimension behind some parameters."""
    total = sympy.Integer(int(constraint.get_constant_val().to_python()))
    for d, p in enumerate(params):
        total += int(constraint.get_coefficient_val(isl.dim_type.set, d).to_python()) * sym(p.name)
    space = constraint.get_space()
    for d in range(space.dim(isl.dim_type.param)):
        name = space.get_dim_name(isl.dim_type.param, d)
        total += int(constraint.get_coefficient_val(isl.dim_type.param, d).to_python()) * sym(
            str(name).removeprefix("v_")
        )
    return total
