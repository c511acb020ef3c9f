"""Constants are set where elements are used first, and not where a sum can begin without them.

``A = 0; for t: A[t, :t] += ..`` passes over all of ``A`` before it begins, and an array that is larger than a cache
moves through memory twice. A part that no other trip touches is filled when its trip begins; what the first sums there
reach needs no zero, and they set it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import islpy as isl
import sympy

from sdgrad.analysis.access_relations import access_relation, injective, leaf_relation, loop_param
from sdgrad.analysis.loop_private import used
from sdgrad.optimize.locality.strides import known_bytes
from sdgrad.program.leaves import rename_instr
from sdgrad.program.reductions import is_identity
from sdgrad.program.tree import (
    Block,
    Expr,
    Leaf,
    Load,
    Loop,
    Node,
    Param,
    Program,
    Scope,
    Store,
    children,
    walk,
    with_children,
)
from sdgrad.rewrite.fusion import drop_stores
from sdgrad.rewrite.index_loads import assigned_symbols
from sdgrad.rewrite.reduction_init import changed, number, uses
from sdgrad.symbolic.expr import free_names, substitute, sym

SMALLEST = 2**20
"""Bytes of an array that does not stay in a core's own cache between the two passes."""


def fill_late(program: Program) -> Program:
    """The program with constants set in the loops that use them, and only where that is needed."""
    return replace(program, body=_block(program.body, program, ()))


def _block(block: Block, program: Program, around: tuple[Param, ...]) -> Block:
    """:param around: what the loops around a block run through."""
    nodes: list[Node | None] = list(block)
    left: dict[int, list[Leaf]] = {}
    for k, node in enumerate(block):
        for store in node.stores if isinstance(node, Leaf) else ():
            leaf = nodes[k]
            fill = Fill.of(store, leaf, program) if isinstance(leaf, Leaf) else None
            moved = _moved(nodes, k, fill, program, around) if fill is not None else None
            if moved is None or not isinstance(leaf, Leaf):
                continue
            for j, new in moved.users.items():
                nodes[j] = new
            rest = drop_stores(leaf, lambda s, gone=store: s is gone)
            nodes[k] = rest if rest.stores else None
            left.setdefault(k, []).extend(moved.left)
    out = [n for k, node in enumerate(nodes) for n in (node, *left.get(k, ())) if n is not None]
    return tuple(with_children(n, tuple(_block(b, program, _with(around, n)) for b in children(n))) for n in out)


def _with(around: tuple[Param, ...], node: Node) -> tuple[Param, ...]:
    trips = loop_param(node) if isinstance(node, Loop) else None
    return (*around, trips) if trips is not None else around


@dataclass(frozen=True)
class Fill:
    """A leaf that sets elements to a constant and does nothing else: all of some dimensions, of which ``along`` is the
    slowest, at one place in the others."""

    leaf: Leaf
    store: Store
    along: int

    @staticmethod
    def of(store: Store, leaf: Leaf, program: Program) -> Fill | None:
        name, params = store.container, {p.name: p for p in leaf.params}
        if store.mode != "set" or store.guard is not None or number(store, leaf) is None or program.root(name) != name:
            return None
        if known_bytes(program.containers[name]) < SMALLEST:
            return None
        whole = [getattr(e, "name", None) in params for e in store.index]
        apart = sorted(e.name for e, own in zip(store.index, whole, strict=True) if own)
        if not apart or apart != sorted(params) or sum(s.container == name for s in leaf.stores) > 1:
            return None
        for e, own, n in zip(store.index, whole, program.containers[name].shape, strict=True):
            if not (_is_range(params[e.name], sympy.Integer(0), n - 1) if own else free_names(e).isdisjoint(params)):
                return None
        alone = drop_stores(leaf, lambda s: s is not store)
        return Fill(alone, store, whole.index(True)) if not alone.loads else None

    @property
    def name(self) -> str:
        return self.store.container

    def param(self, dim: int) -> Param | None:
        """What runs through a dimension."""
        return next((p for p in self.leaf.params if sym(p.name) == self.store.index[dim]), None)

    def at(self, place: Expr) -> Leaf:
        """What is filled of one place in the slowest dimension."""
        along = self.param(self.along)
        assert along is not None
        body = tuple(rename_instr(i, {}, {along.name: place}) for i in self.leaf.body)
        return replace(self.leaf, params=tuple(p for p in self.leaf.params if p is not along), body=body)

    def part(self, old: Param, new: Param) -> Leaf:
        """What is filled of a part of a dimension."""
        return replace(self.leaf, params=tuple(new if p is old else p for p in self.leaf.params))


def _is_range(p: Param, low: Expr, high: Expr) -> bool:
    return p.step == 1 and p.start == low and sympy.expand(p.stop - high) == 0


@dataclass(frozen=True)
class Moved:
    """Nodes that do without a fill, by their numbers in the block, and what is left of it."""

    users: dict[int, Node]
    left: tuple[Leaf, ...] = ()


def _moved(
    nodes: Sequence[Node | None], k: int, fill: Fill, program: Program, around: tuple[Param, ...]
) -> Moved | None:
    using = [j for j in range(k + 1, len(nodes)) if (n := nodes[j]) is not None and uses(n, fill.name, program)]
    first = nodes[using[0]] if using else None
    if isinstance(first, Loop):
        taken = _taken(first, fill, program)
        return Moved({using[0]: taken}) if taken is not None else None
    return _begun(nodes, k, using, fill, program, around) if first is not None else None


# --- loops of which each trip has its part ---------------------------------------------------------------------
def _taken(loop: Loop, fill: Fill, program: Program) -> Loop | None:
    """The loop with what its trips use filled in them; None where they share it, or leave some of it out."""
    trips = loop_param(loop) if loop.also is None and loop.last is None else None
    place = _place(loop, fill, program)
    if trips is None or place is None or abs(trips.step) != 1 or not _reaches_all(place, trips, fill):
        return None
    at = next(k for k, n in enumerate(loop.body) if uses(n, fill.name, program))
    return replace(loop, body=(*loop.body[:at], fill.at(place), *loop.body[at:]))


def _place(loop: Loop, fill: Fill, program: Program) -> Expr | None:
    """Where along the slowest dimension a trip is: what all accesses have there, the same all through the trip."""
    places: set[Expr] = set()
    for node in walk(loop.body):
        accesses = list(_accesses(node, fill.name, program)) if isinstance(node, Leaf) else []
        if not isinstance(node, Leaf) and fill.name in used(node, program):
            return None
        if any(x.container != fill.name for x in accesses):
            return None
        places |= {x.index[fill.along] for x in accesses}
        if isinstance(node, Leaf) and free_names(*places) & node.defined:
            return None
    changing, own = _changing(loop.body), {p.name for p in fill.leaf.params}
    outside = free_names(*fill.store.index, *(e for p in fill.leaf.params for e in (p.start, p.stop))) - own
    if len(places) != 1 or loop.symbol in changing | own | outside or outside & changing:
        return None
    (place,) = places
    return None if free_names(place) & (changing | own) else place


def _changing(block: Block) -> set[str]:
    """Names that stand for different numbers in a block."""
    params = {p.name for n in walk(block) if isinstance(n, (Leaf, Scope)) for p in n.params}
    return params | assigned_symbols(block).keys()


def _accesses(leaf: Leaf, name: str, program: Program) -> Iterator[Load | Store]:
    for i in leaf.body:
        if isinstance(i, (Load, Store)) and program.root(i.container) == name:
            yield i


def _reaches_all(place: Expr, trips: Param, fill: Fill) -> bool:
    """Whether trips go through all places, each of them once."""
    along = fill.param(fill.along)
    slope = sympy.expand(place).coeff(sym(trips.name))
    if along is None or abs(slope) != 1 or trips.name in free_names(sympy.expand(place - slope * sym(trips.name))):
        return False
    ends = [sympy.expand(substitute(place, {trips.name: e})) for e in (trips.start, trips.stop)]
    low, high = ends if slope * trips.step > 0 else ends[::-1]
    return _is_range(along, low, high)


# --- sums that begin with what they add ------------------------------------------------------------------------
def _begun(
    nodes: Sequence[Node | None],
    k: int,
    using: Sequence[int],
    fill: Fill,
    program: Program,
    around: tuple[Param, ...],
) -> Moved | None:
    """The first sums as assignments, each with elements of its own, where one leaf can fill all others."""
    rank = len(fill.store.index)
    known = _known(around)
    rest = leaf_relation(fill.store, fill.leaf, rank).elements.intersect_params(known)
    users: dict[int, Node] = {}
    ends: dict[int, set[Expr]] = {d: set() for d in range(rank)}
    found: Moved | None = None
    for j in using:
        leaf = nodes[j]
        between = tuple(n for n in nodes[k : j + 1] if n is not None)
        if not isinstance(leaf, Leaf) or _mentioned(fill, leaf) & assigned_symbols(between).keys():
            break
        mine = [x for x in _accesses(leaf, fill.name, program)]
        reached = [_reached(x, leaf, fill, program) for x in mine]
        for one in reached:
            part = one.intersect_params(known) if one is not None else None
            if part is None or not part.is_subset(rest):
                return found
            rest = rest.subtract(part)
        users = {**users, j: changed(leaf, [x for x in mine if isinstance(x, Store)], "set")}
        for store in leaf.stores:
            if store.container == fill.name:
                for d, e in enumerate(store.index):
                    ends[d] |= set(_ends(e, leaf))
        if rest.is_empty():
            return Moved(users)
        if (left := _one_leaf(rest, fill, ends, known)) is not None:
            found = Moved(users, (left,))
    return found


def _known(around: Sequence[Param]) -> isl.Set:
    """What is known of the variables of loops."""
    one = access_relation((), [(p.name, p) for p in around], frozenset(), 0).map.domain()
    for d in reversed(range(len(around))):
        one = one.move_dims(isl.dim_type.param, 0, isl.dim_type.set, d, 1)
    return one.params()


def _mentioned(fill: Fill, leaf: Leaf) -> set[str]:
    """Names that ranges and places of a fill and a sum depend on."""
    bounds = [e for x in (fill.leaf, leaf) for p in x.params for e in (p.start, p.stop)]
    places = [e for s in (fill.store, *leaf.stores) for e in s.index]
    return free_names(*bounds, *places)


def _reached(access: Load | Store, leaf: Leaf, fill: Fill, program: Program) -> isl.Set | None:
    """The elements that an access adds one number to each; None where it does something else."""
    if not isinstance(access, Store) or access.container != fill.name or access.fresh or access.mode == "set":
        return None
    if not is_identity(access.mode, number(fill.store, fill.leaf), program.containers[fill.name].dtype):
        return None
    rank = len(access.index)
    found = leaf_relation(access, leaf, rank)
    return found.elements if found.exact and injective(access, leaf, rank) else None


def _ends(place: Expr, leaf: Leaf) -> Iterator[Expr]:
    """The first and last place of an access in one dimension, where these are the same for all its instances."""
    own = {p.name: p for p in leaf.params}
    inner = free_names(place) & own.keys()
    if not inner:
        yield place
    elif len(inner) == 1:
        p = own[inner.pop()]
        for e in (p.start, p.stop):
            if free_names(end := sympy.expand(substitute(place, {p.name: e}))).isdisjoint(own):
                yield end


def _one_leaf(rest: isl.Set, fill: Fill, ends: dict[int, set[Expr]], known: isl.Set) -> Leaf | None:
    """A leaf that fills some elements, before or behind where sums end."""
    for d, places in ends.items():
        if (p := fill.param(d)) is None:
            continue
        for place in sorted(places, key=str):
            for part in (replace(p, stop=place - 1), replace(p, start=place + 1)):
                leaf = fill.part(p, part)
                elements = leaf_relation(fill.store, leaf, len(fill.store.index)).elements.intersect_params(known)
                if elements.is_equal(rest):
                    return leaf
    return None
