"""Sink initializations to the loop iterations that use the elements, and drop them where a sum can start instead.

An array larger than a cache moves through memory twice if it is initialized as a whole before it is used. If each
iteration has a row of its own, it initializes that row (code sinking, Muchnick 1997)::

    map i, j: A[i, j] = 0                 loop t:
    loop t:                                 map j=0:n: A[t, j] = 0
      map j=0:t: A[t, j] += v[j]            map j=0:t: A[t, j] += v[j]

A sum that reaches each element once becomes an assignment, and what it does not reach is still filled::

    map j=0:n: A[t, j] = 0                map j=t:n: A[t, j] = 0
    map j=0:t: A[t, j] += v[j]            map j=0:t: A[t, j] = v[j]

The pass declines small arrays, an initialization that depends on the element, and loops whose iterations share
elements or do not cover all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import islpy as isl
import sympy

from sdgrad.analysis.access_relations import access_relation, injective, leaf_relation, loop_param
from sdgrad.analysis.uses import used
from sdgrad.config import config
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
    map_blocks,
    walk,
)
from sdgrad.rewrite.dead_code import drop_stores
from sdgrad.rewrite.index_loads import assigned_symbols
from sdgrad.rewrite.reduction_init import changed, number, uses
from sdgrad.symbolic.expr import free_names, substitute, sym


def fill_late(program: Program) -> Program:
    """Sink the initializations of large arrays to their first uses; drop those that a sum makes unnecessary."""
    return replace(program, body=_block(program.body, program, ()))


def _block(block: Block, program: Program, around: tuple[Param, ...]) -> Block:
    """Sink the fills of a block, then those of the blocks inside it.

    :param around: the ranges of the loops around the block.
    """
    sinking = Sinking(program, around, list(block))
    for k, node in enumerate(block):
        for store in node.stores if isinstance(node, Leaf) else ():
            sinking.sink(k, store)

    def inner(node: Node) -> Node:
        deeper = _with(around, node)
        return map_blocks(node, lambda b: _block(b, program, deeper))

    return tuple(map(inner, sinking.block()))


@dataclass
class Sinking:
    """A block whose fills sink one after the other.

    :param nodes: the nodes of the block; None for a leaf without stores.
    :param left: by the number of a leaf, what is still filled behind it.
    """

    program: Program
    around: tuple[Param, ...]
    nodes: list[Node | None]
    left: dict[int, list[Leaf]] = field(default_factory=dict)

    def sink(self, k: int, store: Store) -> None:
        """Take a store out of the k-th node if it is a fill that its users can do without."""
        leaf = self.nodes[k]
        fill = Fill.of(store, leaf, self.program) if isinstance(leaf, Leaf) else None
        sunk = _sunk(self.nodes, k, fill, self.program, self.around) if fill is not None else None
        if sunk is None or not isinstance(leaf, Leaf):
            return
        for j, new in sunk.users.items():
            self.nodes[j] = new
        rest = drop_stores(leaf, lambda s: s is store)
        self.nodes[k] = rest if rest.stores else None
        self.left.setdefault(k, []).extend(sunk.left)

    def block(self) -> Block:
        return tuple(n for k, node in enumerate(self.nodes) for n in (node, *self.left.get(k, ())) if n is not None)


def _with(around: tuple[Param, ...], node: Node) -> tuple[Param, ...]:
    """Append the range of a loop to those around it; unchanged for other nodes, and for an unknown range."""
    trips = loop_param(node) if isinstance(node, Loop) else None
    return (*around, trips) if trips is not None else around


@dataclass(frozen=True)
class Fill:
    """A leaf that sets elements of one container to a constant and does nothing else.

    It fills some dimensions completely, and has one subscript in each of the others.

    :param along: the slowest dimension that it fills completely.
    """

    leaf: Leaf
    store: Store
    along: int

    @staticmethod
    def of(store: Store, leaf: Leaf, program: Program) -> Fill | None:
        """Return the part of a leaf that belongs to a store as a fill; None if it is none, or its array is small."""
        name, params = store.container, {p.name: p for p in leaf.params}
        if not _sets_constant(store, leaf, program) or sum(s.container == name for s in leaf.stores) > 1:
            return None
        if known_bytes(program.containers[name]) < config.machine.sunk_initialization_bytes:
            return None
        complete = [getattr(e, "name", None) in params for e in store.index]
        if not _is_slab(store, complete, params, program.containers[name].shape):
            return None
        alone = drop_stores(leaf, lambda s: s is not store)
        return Fill(alone, store, complete.index(True)) if not alone.loads else None

    @property
    def name(self) -> str:
        return self.store.container

    def param(self, dim: int) -> Param | None:
        """Return the parameter that fills a dimension; None if the dimension has one subscript."""
        return next((p for p in self.leaf.params if sym(p.name) == self.store.index[dim]), None)

    def at(self, subscript: Expr) -> Leaf:
        """Return the fill of one subscript in the slowest dimension."""
        along = self.param(self.along)
        assert along is not None
        body = tuple(rename_instr(i, {}, {along.name: subscript}) for i in self.leaf.body)
        return replace(self.leaf, params=tuple(p for p in self.leaf.params if p is not along), body=body)

    def part(self, old: Param, new: Param) -> Leaf:
        """Return the fill with another range in one dimension."""
        return replace(self.leaf, params=tuple(new if p is old else p for p in self.leaf.params))


def _sets_constant(store: Store, leaf: Leaf, program: Program) -> bool:
    """True if a store assigns a constant to a container that is no view, without a guard."""
    if store.mode != "set" or store.guard is not None or number(store, leaf) is None:
        return False
    return program.root(store.container) == store.container


def _is_slab(store: Store, complete: Sequence[bool], params: dict[str, Param], shape: Sequence[Expr]) -> bool:
    """True if each parameter runs through one complete dimension, and the other subscripts are constant."""
    subscripts = sorted(e.name for e, own in zip(store.index, complete, strict=True) if own)
    if not subscripts or subscripts != sorted(params):
        return False
    for e, own, n in zip(store.index, complete, shape, strict=True):
        if not (_is_range(params[e.name], sympy.Integer(0), n - 1) if own else free_names(e).isdisjoint(params)):
            return False
    return True


def _is_range(p: Param, low: Expr, high: Expr) -> bool:
    """True if a parameter takes all values from ``low`` to ``high``."""
    return p.step == 1 and p.start == low and sympy.expand(p.stop - high) == 0


@dataclass(frozen=True)
class Sunk:
    """The nodes that replace the users of a fill.

    :param users: the new nodes by their numbers in the block.
    :param left: leaves that fill the elements which no user initializes.
    """

    users: dict[int, Node]
    left: tuple[Leaf, ...] = ()


def _sunk(nodes: Sequence[Node | None], k: int, fill: Fill, program: Program, around: tuple[Param, ...]) -> Sunk | None:
    """Sink the fill of the k-th node into its users; None if they need it as it is."""
    using = [j for j in range(k + 1, len(nodes)) if (n := nodes[j]) is not None and uses(n, fill.name, program)]
    first = nodes[using[0]] if using else None
    if isinstance(first, Loop):
        filling = _into_iterations(first, fill, program)
        return Sunk({using[0]: filling}) if filling is not None else None
    return _into_sums(nodes, k, using, fill, program, around) if first is not None else None


# --- loops of which each iteration has elements of its own -----------------------------------------------------
def _into_iterations(loop: Loop, fill: Fill, program: Program) -> Loop | None:
    """Let each iteration fill what it uses; None if iterations share elements or do not use all of them."""
    iterations = loop_param(loop) if loop.also is None and loop.last is None else None
    subscript = _private_subscript(loop, fill, program)
    if iterations is None or subscript is None or abs(iterations.step) != 1:
        return None
    if not _reaches_all(subscript, iterations, fill):
        return None
    at = next(k for k, n in enumerate(loop.body) if uses(n, fill.name, program))
    return replace(loop, body=(*loop.body[:at], fill.at(subscript), *loop.body[at:]))


def _private_subscript(loop: Loop, fill: Fill, program: Program) -> Expr | None:
    """Return the one subscript in the slowest dimension of all that an iteration accesses; None if it has several."""
    subscripts: set[Expr] = set()
    for node in walk(loop.body):
        found = _subscripts(node, fill, program)
        if found is None:
            return None
        subscripts |= found
        if isinstance(node, Leaf) and free_names(*subscripts) & node.defined:
            return None
    if len(subscripts) != 1 or not _is_fixed(fill, loop):
        return None
    (subscript,) = subscripts
    changing, own = _changing(loop.body), {p.name for p in fill.leaf.params}
    return None if free_names(subscript) & (changing | own) else subscript


def _is_fixed(fill: Fill, loop: Loop) -> bool:
    """True if the bounds and subscripts of a fill stay the same in a loop, and no name of it is the loop's symbol."""
    changing, own = _changing(loop.body), {p.name for p in fill.leaf.params}
    outside = free_names(*fill.store.index, *(e for p in fill.leaf.params for e in (p.start, p.stop))) - own
    return loop.symbol not in changing | own | outside and not outside & changing


def _subscripts(node: Node, fill: Fill, program: Program) -> set[Expr] | None:
    """Return the subscripts of a node's accesses in the slowest dimension; None if an access has none."""
    if not isinstance(node, Leaf):
        return set() if fill.name not in used(node, program) else None
    accesses = list(_accesses(node, fill.name, program))
    return {x.index[fill.along] for x in accesses} if all(x.container == fill.name for x in accesses) else None


def _changing(block: Block) -> set[str]:
    """Return the parameters and assigned symbols of a block."""
    params = {p.name for n in walk(block) if isinstance(n, (Leaf, Scope)) for p in n.params}
    return params | assigned_symbols(block).keys()


def _accesses(leaf: Leaf, name: str, program: Program) -> Iterator[Load | Store]:
    """Yield the loads and stores of a container's memory, by views as well."""
    yield from (x for x in leaf.accesses if program.root(x.container) == name)


def _reaches_all(subscript: Expr, iterations: Param, fill: Fill) -> bool:
    """True if the iterations go through all subscripts of the slowest dimension, each once."""
    along = fill.param(fill.along)
    symbol = sym(iterations.name)
    slope = sympy.expand(subscript).coeff(symbol)
    if along is None or abs(slope) != 1 or iterations.name in free_names(sympy.expand(subscript - slope * symbol)):
        return False
    ends = [sympy.expand(substitute(subscript, {iterations.name: e})) for e in (iterations.start, iterations.stop)]
    low, high = ends if slope * iterations.step > 0 else ends[::-1]
    return _is_range(along, low, high)


# --- sums that start with their first term ---------------------------------------------------------------------
def _into_sums(
    nodes: Sequence[Node | None],
    k: int,
    using: Sequence[int],
    fill: Fill,
    program: Program,
    around: tuple[Param, ...],
) -> Sunk | None:
    """Turn the first sums into assignments, as long as each has elements of its own, and one leaf can fill the others.

    Return the longest such sequence of sums; None if there is none.
    """
    started = Started.of(fill, program, around)
    best: Sunk | None = None
    for j in using:
        leaf = nodes[j]
        between = tuple(n for n in nodes[k : j + 1] if n is not None)
        if not isinstance(leaf, Leaf) or _mentioned(fill, leaf) & assigned_symbols(between).keys():
            break
        if not started.add(j, leaf):
            break
        if started.rest.is_empty():
            return Sunk(started.users)
        left = started.filling()
        best = Sunk(dict(started.users), (left,)) if left is not None else best
    return best


@dataclass
class Started:
    """A fill, and the sums that are assignments instead of needing it.

    :param known: constraints on the symbols of the loops around.
    :param rest: the elements that are still to be filled.
    :param users: the leaves with the assignments, by their numbers in the block.
    :param ends: by dimension, the first and last subscripts of the sums.
    """

    fill: Fill
    program: Program
    known: isl.Set
    rest: isl.Set
    users: dict[int, Node] = field(default_factory=dict)
    ends: dict[int, set[Expr]] = field(default_factory=dict)

    @staticmethod
    def of(fill: Fill, program: Program, around: Sequence[Param]) -> Started:
        """Start with all elements of a fill."""
        known = _known(around)
        rank = len(fill.store.index)
        elements = leaf_relation(fill.store, fill.leaf, rank).elements
        return Started(fill, program, known, elements.intersect_params(known), ends={d: set() for d in range(rank)})

    def add(self, j: int, leaf: Leaf) -> bool:
        """Turn a leaf's sums into assignments; False if it does anything else with elements that are to be filled."""
        mine = list(_accesses(leaf, self.fill.name, self.program))
        for reached in [_reached(x, leaf, self.fill, self.program) for x in mine]:
            part = reached.intersect_params(self.known) if reached is not None else None
            if part is None or not part.is_subset(self.rest):
                return False
            self.rest = self.rest.subtract(part)
        stores = [x for x in mine if isinstance(x, Store)]
        self.users[j] = changed(leaf, stores, "set")
        for store in stores:
            for d, e in enumerate(store.index):
                self.ends[d] |= set(_ends(e, leaf))
        return True

    def filling(self) -> Leaf | None:
        """Return a leaf that fills the rest, on one side of the sums in one dimension; None if there is none."""
        leaves = (self.fill.part(old, new) for old, new in self.sides())
        return next((leaf for leaf in leaves if self.elements(leaf).is_equal(self.rest)), None)

    def sides(self) -> Iterator[tuple[Param, Param]]:
        """Yield each parameter of the fill with its range before an end of the sums, and with that behind it."""
        for d, subscripts in self.ends.items():
            if (p := self.fill.param(d)) is not None:
                for end in sorted(subscripts, key=str):
                    yield p, replace(p, stop=end - 1)
                    yield p, replace(p, start=end + 1)

    def elements(self, leaf: Leaf) -> isl.Set:
        """Return the elements that the fill's store reaches from a leaf."""
        return leaf_relation(self.fill.store, leaf, len(self.fill.store.index)).elements.intersect_params(self.known)


def _known(around: Sequence[Param]) -> isl.Set:
    """Return the constraints on the symbols of loops, as a set of parameters."""
    one = access_relation((), [(p.name, p) for p in around], frozenset(), 0).map.domain()
    for d in reversed(range(len(around))):
        one = one.move_dims(isl.dim_type.param, 0, isl.dim_type.set, d, 1)
    return one.params()


def _mentioned(fill: Fill, leaf: Leaf) -> set[str]:
    """Return the names that ranges and subscripts of a fill and a sum mention."""
    bounds = [e for x in (fill.leaf, leaf) for p in x.params for e in (p.start, p.stop)]
    places = [e for s in (fill.store, *leaf.stores) for e in s.index]
    return free_names(*bounds, *places)


def _reached(access: Load | Store, leaf: Leaf, fill: Fill, program: Program) -> isl.Set | None:
    """Return the elements that an access adds one term to each; None if it does anything else."""
    if not isinstance(access, Store) or access.container != fill.name or access.fresh or access.mode == "set":
        return None
    if not is_identity(access.mode, number(fill.store, fill.leaf), program.containers[fill.name].dtype):
        return None
    rank = len(access.index)
    found = leaf_relation(access, leaf, rank)
    return found.elements if found.exact and injective(access, leaf, rank) else None


def _ends(subscript: Expr, leaf: Leaf) -> Iterator[Expr]:
    """Yield the first and last subscript of an access in one dimension, if they are the same for all instances."""
    own = {p.name: p for p in leaf.params}
    inner = free_names(subscript) & own.keys()
    if not inner:
        yield subscript
    elif len(inner) == 1:
        p = own[inner.pop()]
        for e in (p.start, p.stop):
            if free_names(end := sympy.expand(substitute(subscript, {p.name: e}))).isdisjoint(own):
                yield end
