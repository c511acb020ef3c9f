"""Keep the value of a function where its nest's derivative will be, instead of computing it twice.

A sum that a derivative divides by is complete before the derivative begins, so that both loop over the elements, as
those of ``log(sum(exp(x)))``::

    map i: s += exp(x[i] - m)            map i: g[i] = exp(x[i] - m)
                                                s += g[i]
    map i: g[i] = exp(x[i] - m) / s      map i: g[i] = g[i] / s

The array of the results is the room for the values: no other one is needed. The pass declines unless the second nest
sets each element that it writes once, and nothing else uses the array from the first nest to the second one; if what
the value is computed from changes between them; and if no function becomes unnecessary that takes longer than memory.
This is common subexpression elimination across loops (Muchnick 1997, 13.1).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import dace

from sdgrad.analysis.access_relations import injective
from sdgrad.analysis.cost_model import slow_calls
from sdgrad.analysis.uses import used
from sdgrad.program.kinds import infer
from sdgrad.program.leaves import live, slice_for
from sdgrad.program.tree import (
    Block,
    Instr,
    Leaf,
    Let,
    Load,
    Node,
    Program,
    Store,
    SymbolAssign,
    map_blocks,
    walk,
    writes,
)
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import same, substitute, sym, to_ast

REAL = (dace.float32, dace.float64)


def reuse_functions(program: Program) -> Program:
    """Let nests that compute functions leave them for later nests, in the arrays that these write."""
    if not any(slow_calls(n.body) for n in walk(program.body) if isinstance(n, Leaf)):
        return program
    return replace(program, body=_block(program.body, program))


def _block(block: Block, program: Program) -> Block:
    nodes = [map_blocks(n, lambda b: _block(b, program)) for n in block]
    if not any(isinstance(n, Leaf) and n.params and slow_calls(n.body) for n in nodes):
        return tuple(nodes)
    searched = Searched(nodes, program)
    for k, node in enumerate(nodes):
        if isinstance(node, Leaf) and node.params and slow_calls(node.body):
            searched.reuse(k)
    return tuple(searched.nodes)


@dataclass(frozen=True)
class Room:
    """A store of a nest that may hold another value before: from the node ``since`` on nothing else uses the array."""

    store: Store
    since: int


class Searched:
    """A block of which each nest looks for its values in earlier ones."""

    def __init__(self, nodes: list[Node], program: Program) -> None:
        self.nodes, self.program, self.numbers = nodes, program, Numbers()
        self.used = [_used(n, program) for n in nodes]

    def rooms(self, k: int) -> Iterator[Room]:
        """Yield the rooms of the k-th node, which is a leaf."""
        leaf = self.nodes[k]
        assert isinstance(leaf, Leaf)
        for store in leaf.stores:
            container, root = self.program.containers[store.container], self.program.root(store.container)
            others = {self.program.root(a.container) for a in leaf.accesses if a is not store}
            if store.mode != "set" or store.guard or container.dtype not in REAL or root in others:
                continue
            first = k
            while first and not {root, SYMBOL} & self.used[first - 1]:
                first -= 1
            if first < k and injective(store, leaf, len(container.shape)):
                yield Room(store, first)

    def reuse(self, k: int) -> None:
        """Let an earlier nest leave a value of the k-th one, which is a leaf, in its first room that can hold one."""
        for room in self.rooms(k):
            if self.reused(k, room):
                return

    def reused(self, k: int, room: Room) -> bool:
        """Let the nearest earlier nest that computes a value of the k-th one leave it in a room; False if none does."""
        later, nodes = self.nodes[k], self.nodes
        assert isinstance(later, Leaf)
        changed: set[str] = set()
        for j in range(k - 1, room.since - 1, -1):
            earlier = nodes[j]
            changed |= {self.program.root(n) for n in writes(earlier)}
            if not isinstance(earlier, Leaf) or earlier.sequential or not same_instances(earlier, later):
                continue
            values, wanted = self.numbers.of(earlier).names, self.numbers.of(later).slow
            shared = {name: values[v] for v, name in wanted.items() if v in values}
            best = _best(later, shared, room.store, changed, self.program) if shared else None
            if best is not None:
                nodes[j] = _with_store(earlier, later, shared[best], room.store)
                nodes[k] = _with_load(later, best, room)
                self.used[j] = self.used[j] | {self.program.root(room.store.container)}
                return True
        return False


SYMBOL = ""
"""Stands for symbols that a node sets, among the memory that it uses: subscripts may be written in them."""


def _used(node: Node, program: Program) -> set[str]:
    """Return the memory that a node and the nodes in it use."""
    inner = list(walk((node,)))
    found = {name for n in inner for name in used(n, program)}
    return found | {SYMBOL} if any(isinstance(n, SymbolAssign) for n in inner) else found


def same_instances(first: Leaf, second: Leaf) -> bool:
    """True if two nests run over the same values of their parameters, in the order in which these are written."""
    if len(first.params) != len(second.params):
        return False
    names = {p.name: sym(q.name) for p, q in zip(first.params, second.params, strict=True)}
    ranges = [tuple(substitute(x, names) for x in (p.start, p.stop, p.step)) for p in first.params]
    return ranges == [(p.start, p.stop, p.step) for p in second.params]


@dataclass(frozen=True)
class Numbered:
    """The values of a nest by their numbers: all of them, and those that slow functions compute."""

    names: Mapping[int, str]
    slow: Mapping[int, str]


@dataclass
class Numbers:
    """Number the values of nests: those that are computed in the same way have one number (Alpern et al. 1988)."""

    known: dict[object, int] = field(default_factory=dict)
    leaves: dict[int, tuple[Leaf, Numbered]] = field(default_factory=dict)

    def of(self, leaf: Leaf) -> Numbered:
        """Return the numbers of a nest's values; what is read at a subscript that it reads has none."""
        if id(leaf) not in self.leaves:
            self.leaves[id(leaf)] = leaf, self._numbered(leaf)  # with the leaf, whose number is its own while it lives
        return self.leaves[id(leaf)][1]

    def _numbered(self, leaf: Leaf) -> Numbered:
        found: dict[str, int] = {}
        slow: set[str] = set()
        params = {p.name: sym(f"__p{k}") for k, p in enumerate(leaf.params)}
        for instr in leaf.body:
            key = None if isinstance(instr, Store) else self._key(instr, found, params, leaf.defined)
            if key is not None:
                assert not isinstance(instr, Store)
                found[instr.name] = self.known.setdefault(key, len(self.known))
                if slow_calls((instr,)) or instr.names & slow:
                    slow.add(instr.name)
        return Numbered({v: n for n, v in found.items()}, {v: n for n, v in found.items() if n in slow})

    def _key(self, instr: Load | Let, found: Mapping[str, int], params: Mapping, defined: Set[str]) -> object:
        if any(n in defined and n not in found for n in instr.names):
            return None
        if isinstance(instr, Load):
            plain = instr.guard is None and not instr.names & defined
            return (instr.container, tuple(substitute(x, params) for x in instr.index)) if plain else None
        names = {n: code.name(f"__v{found[n]}") for n in instr.names if n in found}
        return ast.unparse(code.rename(instr.expr, {**{p: to_ast(x) for p, x in params.items()}, **names}))


def _best(leaf: Leaf, shared: Mapping[str, str], store: Store, changed: Set[str], program: Program) -> str | None:
    """Return the value whose knowledge saves most slow functions, the last of them; None if there is none."""
    whole, best, most = slow_calls(leaf.body), None, 1
    kinds = infer(leaf.body, program.containers)
    for name in shared:
        needs = [i for i in slice_for(leaf.body, {name}) if isinstance(i, Load)]
        rest = without_value(leaf, name)
        saved = whole - slow_calls(rest)
        if kinds.get(name) == "float" and saved >= most and _is_kept(needs, rest, store, changed, program):
            best, most = name, saved
    return best


def without_value(leaf: Leaf, name: str) -> tuple[Instr, ...]:
    """Return what is left of a nest's body that does not compute a value itself."""
    return live((i for i in leaf.body if isinstance(i, Store) or i.name != name), set())


def _is_kept(needs: Sequence[Load], rest: Sequence[Instr], store: Store, changed: Set[str], program: Program) -> bool:
    """True if what a value is computed from has not changed, and if its room costs no memory.

    A temporary becomes live earlier: another one that the value needs has to go for it.
    """
    room, sources = program.containers[program.root(store.container)], {program.root(x.container) for x in needs}
    if {program.containers[x.container].dtype for x in needs} != {room.dtype} or sources & changed:
        return False
    read = {program.root(i.container) for i in rest if isinstance(i, Load)}
    gone = [program.containers[n] for n in sources - read]
    return not room.transient or any(c.transient and same(c.shape, room.shape) for c in gone)


def _with_store(earlier: Leaf, later: Leaf, value: str, store: Store) -> Leaf:
    """Return the earlier nest, which leaves a value where the later one writes."""
    names = {q.name: sym(p.name) for p, q in zip(earlier.params, later.params, strict=True)}
    index = tuple(substitute(x, names) for x in store.index)
    return replace(earlier, body=(*earlier.body, replace(store, index=index, value=value)))


def _with_load(later: Leaf, value: str, room: Room) -> Leaf:
    """Return the later nest, which loads a value."""
    load = Load(value, room.store.container, room.store.index)
    return replace(later, body=(load, *without_value(later, value)))
