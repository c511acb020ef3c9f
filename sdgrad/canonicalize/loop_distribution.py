"""Distribute innermost loops without loop-carried dependences over their statements, as parallel leaves.

Each statement becomes a leaf over all iterations (loop distribution: Allen & Kennedy 2001, chapter 5). A temporary that
one statement passes to the next gets an element for each iteration (scalar expansion, ibid.), if that is small beside
the program's arguments. Accumulation is no dependence: sums are reordered. Before and after::

    loop i = 0 .. n - 1:            map i = 0:n:
      do:                             t_0[i] = 2 * a[i]
        t[0] = 2 * a[i]             map i = 0:n, j = 0:m:
      map j = 0:m:                    C[i, j] += t_0[i] * B[i, j]
        C[i, j] += t[0] * B[i, j]

Declines where an iteration reads what another one wrote, where a loop may stop early, or where its last value is used.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import sympy

from sdgrad.analysis.access_relations import loop_param
from sdgrad.analysis.dependence import defined_first, in_the_way
from sdgrad.canonicalize.bounding_sizes import largest
from sdgrad.config import config
from sdgrad.program.kinds import kind_of
from sdgrad.program.leaves import live, rename_instr, same_values
from sdgrad.program.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.symbols import used_symbols, view_symbols
from sdgrad.program.tree import (
    Block,
    Branch,
    Container,
    Instr,
    Leaf,
    Let,
    Load,
    Loop,
    Node,
    Param,
    Program,
    Scope,
    Store,
    SymbolAssign,
    map_blocks,
    reads,
    walk,
    writes,
)
from sdgrad.rewrite.dead_code import drop_stores
from sdgrad.rewrite.fusion import fuse, fuse_block
from sdgrad.rewrite.index_loads import assigned_symbols, with_local_indices
from sdgrad.rewrite.reduction_init import start_fresh
from sdgrad.rewrite.scalar_expansion import indexed, over_trips, share_of, wider
from sdgrad.symbolic import code


def loops_as_nests(program: Program, names: Names) -> Program:
    """Distribute the innermost loops of a program; the program unchanged where that is not valid."""
    distribution = LoopDistribution(program, names)
    body = distribution.block(program.body)
    return replace(program, body=body, containers={**program.containers, **distribution.made})


@dataclass
class LoopDistribution:
    """The distribution of the loops of one program.

    :param made: expanded temporaries, which have an element for each iteration.
    :param around: the loops around the current node.
    """

    program: Program
    names: Names
    made: dict[str, Container] = field(default_factory=dict)
    around: dict[str, Param] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.uses, self.reads = _uses(self.program.body), _reads(self.program.body)
        self.assigned = assigned_symbols(self.program.body)
        views = [c for c in self.program.containers.values() if c.view_of is not None]
        self.seen = {c.view_of for c in views} | {c.name for c in views}
        self.share = share_of(self.program)

    def block(self, block: Block) -> Block:
        """Distribute the loops in a block."""
        return tuple(new for node in block for new in self.node(node))

    def node(self, node: Node) -> Block:
        """Distribute a loop whose body holds no other one."""
        if isinstance(node, Loop):
            if (trips := loop_param(node)) is not None:
                self.around[node.symbol] = trips
            inside = self.block(node.body)
            self.around.pop(node.symbol, None)
            changed = inside != node.body  # this loop has its turn in the next round, after fusion
            return (not changed and self.distributed(node, inside)) or (replace(node, body=inside),)
        if isinstance(node, Branch):
            return (map_blocks(node, self.block),)
        return (node,)

    def distributed(self, loop: Loop, inside: Block) -> Block | None:
        """Distribute a counted loop: one leaf over all iterations for each statement. None if that is not valid."""
        trips = _counted(loop)
        leaves = self.statements(loop, inside) if trips is not None else None
        if trips is None or leaves is None or self.is_symbol_read_outside(loop) or self.has_moving_views(loop, leaves):
            return None
        body = self.privatized(loop, [as_sum(n, self.program) for n in leaves], trips)
        if body is None:
            return None
        name = self.names.fresh(trips.name)
        return tuple(over_trips(leaf, trips, name) for leaf in body)

    def statements(self, loop: Loop, inside: Block) -> list[Leaf] | None:
        """Return the body of a loop as a few leaves, index symbols substituted. None if it holds anything else."""
        if any(isinstance(n, SymbolAssign) for n in inside):
            inside = self.with_indices(loop, inside)
        leaves = [n for n in inside if isinstance(n, Leaf) and not n.sequential]
        few = 0 < len(inside) <= config.machine.distributed_statements
        return leaves if few and len(leaves) == len(inside) else None

    def is_symbol_read_outside(self, loop: Loop) -> bool:
        """True if the program mentions the loop variable outside of the loop, for example its last value."""
        return bool(self.uses[loop.symbol] != _uses((loop,))[loop.symbol])

    def has_moving_views(self, loop: Loop, leaves: Sequence[Leaf]) -> bool:
        """True if a view that the leaves access shows another part in every iteration."""
        touched = {c for n in leaves for c in reads(n) | writes(n)}
        return any(loop.symbol in view_symbols(c, self.program) for c in touched)

    def privatized(self, loop: Loop, body: list[Leaf], trips: Param) -> list[Leaf] | None:
        """Expand the temporaries that carry a dependence between iterations. None if a dependence remains."""
        own = _reads((loop,))
        program = replace(self.program, containers={**self.program.containers, **self.made})
        made: dict[str, Container] = {}
        while (container := in_the_way(body, trips, program)) is not None:
            # an expanded temporary of an inner loop is private to this one
            private = container in self.made or container not in made and self.reads[container] == own[container]
            wide = self.expanded(container, body, trips, program) if private else None
            if wide is None:
                return None
            body = [indexed(leaf, program.containers[container], wide.name, trips) for leaf in body]
            made[wide.name] = wide
            program = replace(program, containers={**program.containers, **made})
        if not all(_defines_per_iteration(leaf, trips) for leaf in body):
            return None
        self.made |= made
        return body

    def with_indices(self, loop: Loop, inside: Block) -> Block:
        """Return the leaves of a loop body, with its index symbols replaced by loads.

        Empty if a symbol is used outside of the loop, or cannot be replaced.
        """
        symbols = {n.symbol for n in inside if isinstance(n, SymbolAssign)}
        within = _uses((loop,))
        if any(self.assigned[s] != 1 or self.uses[s] != within[s] for s in symbols):
            return ()
        block = fuse_block(tuple(with_local_indices(inside, symbols, self.names, self.program) or ()), self.program)
        dead = self.dead_temporaries(loop, block)
        leaves = [one_name_each(n) for n in block if isinstance(n, Leaf)]
        return tuple(drop_stores(n, lambda s: s.container in dead) for n in leaves)

    def dead_temporaries(self, loop: Loop, block: Block) -> set[str]:
        """Return the temporaries that only this loop reads, and its new body does not read any more."""
        own, loaded = _reads((loop,)), _reads(block)
        unread = {c for c, n in own.items() if not loaded[c] and n == self.reads[c] and c not in self.seen}
        return {c for c in unread if self.is_temporary(c)}

    def is_temporary(self, container: str) -> bool:
        """True if a container is neither an argument nor visible to the caller."""
        return self.program.containers[container].transient and container not in self.program.arguments

    def expanded(self, container: str, body: Sequence[Leaf], trips: Param, program: Program) -> Container | None:
        """Expand a temporary of an iteration.

        None if an iteration reads it before it writes it, or if the result is too large.
        """
        found = program.containers[container]
        if not found.transient or container in self.seen or not defined_first(container, body, trips, program):
            return None
        count = largest(sympy.expand((trips.stop - trips.start) * trips.step) + 1, self.around)
        return wider(found, count, self.share, self.names)


def one_name_each(leaf: Leaf) -> Leaf:
    """Eliminate common subexpressions of a leaf."""
    same = same_values(leaf.body)
    body = (i for i in leaf.body if isinstance(i, Store) or i.name not in same)
    return replace(leaf, body=live((rename_instr(i, same, {}) for i in body), set()))


def _uses(block: Block) -> Counter:
    """Return the number of nodes that mention each container or symbol directly."""
    found: Counter = Counter()
    for node in walk(block):
        bare = map_blocks(node, lambda _: ())
        symbols = used_symbols(bare, _NOTHING) if not isinstance(node, Scope) else set()
        found.update(reads(bare) | writes(bare) | symbols)
    return found


def _reads(block: Block) -> Counter:
    """Return the number of nodes that read each container directly."""
    bare = (map_blocks(node, lambda _: ()) for node in walk(block))
    return Counter(c for node in bare for c in reads(node))


_NOTHING = Program("nothing", {}, {}, {}, ())


@dataclass(frozen=True)
class Accumulation:
    """The instructions of ``x[i] = x[i] + y`` in a leaf; ``rest`` is ``y``."""

    load: Load
    value: Let
    store: Store
    rest: ast.expr


def as_sum(leaf: Leaf, program: Program) -> Leaf:
    """Rewrite ``x[i] = x[i] + y`` to ``x[i] += y`` where the leaf accesses ``x`` nowhere else."""
    for store in leaf.stores:
        found = _accumulation(store, leaf, program)
        leaf = leaf if found is None else _with_sum(leaf, found)
    return leaf


def _accumulation(store: Store, leaf: Leaf, program: Program) -> Accumulation | None:
    """Match an accumulation of real or complex numbers that ends in a store. None for any other store.

    Integers are left alone: an assignment truncates the sum, an update would truncate the term.
    """
    real = kind_of(program.containers[store.container].dtype) in ("float", "complex")
    load, value = _own_load(store, leaf), next((x for x in leaf.lets if x.name == store.value), None)
    if not real or store.mode != "set" or store.guard or load is None or value is None:
        return None
    rest = _without(value.expr, load.name)
    only = _users(load.name, leaf) == [value] and all(i is store for i in _users(value.name, leaf))
    return Accumulation(load, value, store, rest) if only and rest is not None else None


def _own_load(store: Store, leaf: Leaf) -> Load | None:
    """Return the unconditional load of the stored element. None if the leaf accesses the container in any other way."""
    accesses = [x for x in leaf.body if not isinstance(x, Let) and x.container == store.container]
    load = next((x for x in accesses if isinstance(x, Load)), None)
    return load if load and not load.guard and len(accesses) == 2 and load.index == store.index else None


def _users(name: str, leaf: Leaf) -> list[Instr]:
    """Return the instructions that mention a name."""
    return [i for i in leaf.body if name in i.names]


def _with_sum(leaf: Leaf, found: Accumulation) -> Leaf:
    """Replace an accumulation by an update of mode ``sum``. A term that has a name already keeps it."""
    load, value, store, rest = found.load, found.value, found.store, found.rest
    named = rest.id if isinstance(rest, ast.Name) else None
    gone = (load, value) if named is not None else (load,)
    new: dict[int, Instr]
    new = {id(value): replace(value, expr=rest), id(store): replace(store, mode="sum", value=named or store.value)}
    return replace(leaf, body=tuple(new.get(id(i), i) for i in leaf.body if not any(i is g for g in gone)))


def _counted(loop: Loop) -> Param | None:
    """Return the iterations of a loop with step 1 or -1 that always runs to its end. None for any other loop."""
    trips = loop_param(loop)
    whole = trips is not None and abs(trips.step) == 1 and loop.also is None and loop.last is None
    return trips if whole else None


def _defines_per_iteration(leaf: Leaf, trips: Param) -> bool:
    """True if every element that a leaf defines belongs to one iteration.

    A definition whose subscript is free of the loop variable happens not at all if the loop has no iterations; over all
    iterations it would look like one that always happens.
    """
    defining = [s for s in leaf.stores if s.fresh or s.mode == "set"]
    return all(trips.name in s.index_names for s in defining)


def _without(expr: ast.expr, name: str) -> ast.expr | None:
    """Remove a term from a sum. None if the name is no term of it."""
    if not isinstance(expr, ast.BinOp) or not isinstance(expr.op, (ast.Add, ast.Sub)):
        return None
    left, right = expr.left, expr.right
    in_left, in_right = (name in code.names_in(e) for e in (left, right))
    if in_left == in_right or in_right and isinstance(expr.op, ast.Sub):
        return None
    inner, other = (left, right) if in_left else (right, left)
    if isinstance(inner, ast.Name):
        return code.binary(ast.Mult, code.constant(-1), other) if isinstance(expr.op, ast.Sub) else other
    rest = _without(inner, name)
    return ast.BinOp(left=rest, op=expr.op, right=other) if rest is not None else None


def distribute_loops(program: Program) -> Program:
    """Distribute loops until nothing changes, one level of loops a round, and fuse after each round."""
    for _ in range(config.machine.distribution_rounds):
        nested = loops_as_nests(program, all_names(program))
        if nested.body == program.body:
            break
        program = fuse(start_fresh(fuse(nested)))
    return program
