"""Loops that only add up, in an order in which what they have in common is computed once.

``for q, j: for a: y[a] += (A[a] @ B) @ (C[j] * d[q, j, a])``: the trips meet in sums only, so that the loops may stand
in any order, and what does not depend on q and j is computed before their loops; the last product is linear in what
does, so that this is added up first, and multiplied once behind the loops. (Distributive law; sums differ by rounding.)
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

import sympy
from dace import data as dt

from sdgrad.analysis.access_relations import loop_param
from sdgrad.analysis.conflicts import overwrites_itself
from sdgrad.analysis.loop_private import defined_first, users
from sdgrad.program.arrays import fill
from sdgrad.program.leaves import live, mentioned
from sdgrad.program.names import Names
from sdgrad.program.rename import renamed
from sdgrad.program.symbols import used_symbols
from sdgrad.program.tree import (
    Block,
    Branch,
    Container,
    Expr,
    Instr,
    Leaf,
    Load,
    Loop,
    Node,
    Param,
    Program,
    Store,
    SymbolAssign,
    Value,
    children,
    with_children,
)
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names, same

GAIN = 1.5
"""How much less there has to be to compute."""
Part = Leaf | SymbolAssign


def hoist_common(program: Program, names: Names) -> Program:
    """The program with such loops in a better order."""
    everywhere = users(program.body, program)
    made: dict[str, Container] = {}

    def block(nodes: Block) -> Block:
        return tuple(x for n in nodes for x in node(n))

    def node(n: Node) -> Block:
        if isinstance(n, Loop):
            private = {c for c, k in users((n,), program).items() if k == everywhere[c] and _is_own(c, program)}
            nest = Nest.of(n, private, program)
            found = nest.best(names) if nest is not None and not _assigns_for_others(nest, n, program) else None
            if found is not None:
                made.update({found.total.name: found.total})
                return found.block(names)
        return (with_children(n, tuple(block(b) for b in children(n))),)

    body = block(program.body)
    return replace(program, body=body, containers={**program.containers, **made}) if made else program


def _is_own(name: str, program: Program) -> bool:
    container = program.containers[name]
    return container.desc.transient and container.view_of is None and name not in program.arguments


def _assigns_for_others(nest: Nest, loop: Loop, program: Program) -> bool:
    """Whether symbols that the nest assigns are mentioned outside of it."""
    own = {p.symbol for p in nest.parts if isinstance(p, SymbolAssign)} | {p.name for p in nest.loops}

    def others(block: Block) -> bool:
        return any(
            n is not loop
            and (others_in(n) if any(x is loop for x in _inside(n)) else bool(own & used_symbols(n, program)))
            for n in block
        )

    def others_in(n: Node) -> bool:
        return any(others(b) for b in children(n))

    return others(program.body)


def _inside(node: Node) -> Iterable[Node]:
    for b in children(node):
        for n in b:
            yield n
            yield from _inside(n)


@dataclass(frozen=True)
class Nest:
    """Loops around one block, whose trips meet in one sum only.

    :param conditions: under which the block runs, by symbols of the loops.
    :param parts: the block, with one store in each leaf.
    :param temporaries: what a trip defines for itself.
    """

    program: Program
    loops: tuple[Param, ...]
    conditions: tuple[Value, ...]
    parts: tuple[Part, ...]
    temporaries: frozenset[str]
    source: Loop

    @staticmethod
    def of(loop: Loop, private: set[str], program: Program) -> Nest | None:
        loops: list[Param] = []
        conditions: list[Value] = []
        node: Node = loop
        while True:
            if isinstance(node, Loop):
                p = loop_param(node) if node.also is None and node.last is None else None
                if p is None or not p.count.is_number or p.count <= 0 or free_names(p.start, p.stop, p.step):
                    return None
                loops.append(p)
                body = node.body
            else:
                assert isinstance(node, Branch)
                ((condition, body),) = node.arms
                assert condition is not None
                conditions.append(condition)
            if len(body) != 1 or not (isinstance(body[0], Loop) or _is_guard(body[0])):
                break
            node = body[0]
        parts = _parts(body)
        if len(loops) < 2 or parts is None:
            return None
        own = frozenset(defined_first(tuple(parts), program, private))
        found = Nest(program, tuple(loops), tuple(conditions), tuple(parts), own, loop)
        return found if found.only_adds() else None

    def only_adds(self) -> bool:
        """Whether all that a trip leaves is what one leaf adds to something that nothing here reads."""
        added = [p for p in self.parts if isinstance(p, Leaf) and p.stores[0].container not in self.temporaries]
        if len(added) != 1 or self.parts[-1] is not added[0]:
            return False
        target = self.program.root(self.sum.container)
        read = {self.program.root(x.container) for p in self.parts[:-1] for x in _loads(p)}
        written = [p.stores[0].container for p in self.parts if isinstance(p, Leaf)]
        symbols = {p.symbol for p in self.parts if isinstance(p, SymbolAssign)}
        guards = {n for c in self.conditions for n in code.names_in(c.expr)}
        return (
            target not in read
            and len(set(written)) == len(written)
            and not symbols & guards
            and not any(c.loads for c in self.conditions)
            and self.added is not None
        )

    @property
    def last(self) -> Leaf:
        leaf = self.parts[-1]
        assert isinstance(leaf, Leaf)
        return leaf

    @property
    def sum(self) -> Store:
        return self.last.stores[0]

    @cached_property
    def added(self) -> str | None:
        """The name of what the last leaf adds; None where it does something else."""
        store, target = self.sum, self.program.root(self.sum.container)
        mine = [x for x in self.last.loads if self.program.root(x.container) == target]
        if store.guard is not None or store.container != target or store.fresh:
            return None
        if store.mode == "sum":
            return None if mine else store.value
        value = next((i.expr for i in self.last.lets if i.name == store.value), None)
        if store.mode != "set" or len(mine) != 1 or not same(mine[0].index, store.index):
            return None
        if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
            return None
        sides = [e.id for e in (value.left, value.right) if isinstance(e, ast.Name)]
        others = [n for n in sides if n != mine[0].name]
        used = [n for i in self.last.lets for n in code.names_in(i.expr)]
        return others[0] if len(sides) == 2 and len(others) == 1 and used.count(mine[0].name) == 1 else None

    @cached_property
    def depends(self) -> dict[int, frozenset[str]]:
        """By part: the loops that what it defines depends on."""
        known: dict[str, frozenset[str]] = {p.name: frozenset({p.name}) for p in self.loops}
        found: dict[int, frozenset[str]] = {}
        for k, part in enumerate(self.parts):
            names = _mentions(part) | {x.container for x in _loads(part)}
            found[k] = frozenset[str]().union(*(known.get(n, frozenset()) for n in names))
            known[part.symbol if isinstance(part, SymbolAssign) else part.stores[0].container] = found[k]
        return found

    def source_of(self, k: int, varies: Set[int]) -> int:
        """The varying leaf that defines what a part reads."""
        loads = {x.container for x in _loads(self.parts[k])}
        return next(j for j in range(k) if j in varies and _defined(self.parts[j]) in loads)

    def behind(self, varies: Set[int], inner: Set[str]) -> list[int]:
        """The last leaves, of which each is linear in one thing that varies, and that by inner loops only."""
        symbols = {p.symbol for j, p in enumerate(self.parts) if j in varies and isinstance(p, SymbolAssign)}
        found: list[int] = []
        k, value = len(self.parts) - 1, self.added
        while (source := _varying_load(self.parts, k, varies, inner | symbols)) is not None and value is not None:
            if not _is_linear(self.parts[k], value, source.name):
                break
            j = self.source_of(k, varies)
            made = self.parts[j]
            readers = {i for i, p in enumerate(self.parts) if source.container in {x.container for x in _loads(p)}}
            if not isinstance(made, Leaf) or not _is_plain(made) or not readers <= {k, *found}:
                break
            found.insert(0, k)
            k, value = j, made.stores[0].value
        return found

    def best(self, names: Names) -> Hoisted | None:
        """The order with the least to compute; None where none is worth it."""
        fixed = {n for c in self.conditions for n in code.names_in(c.expr)}
        index = {n for e in self.sum.index for n in free_names(e)}
        symbols = {p.symbol: k for k, p in enumerate(self.parts) if isinstance(p, SymbolAssign)}
        fixed |= index.union(*(self.depends[symbols[n]] for n in index & symbols.keys()))
        every = {p.name for p in self.loops}
        candidates = {frozenset(every - self.depends[k] - fixed) for k in range(len(self.parts))} - {frozenset[str]()}
        found = [h for inner in sorted(candidates, key=sorted) if (h := Hoisted.of(self, inner, names)) is not None]
        best = min(found, key=lambda h: h.work, default=None)
        work = _product(p.count for p in self.loops) * sum(map(_work, self.parts))
        return best if best is not None and best.work * GAIN <= work else None


@dataclass(frozen=True)
class Hoisted:
    """A nest with some loops innermost: what is before them, inside, and behind.

    :param total: what the inner loops add up.
    """

    nest: Nest
    inner: frozenset[str]
    before: tuple[Part, ...]
    inside: tuple[Part, ...]
    behind: tuple[Part, ...]
    total: Container
    work: float = field(default=0.0)

    @staticmethod
    def of(nest: Nest, inner: frozenset[str], names: Names) -> Hoisted | None:
        """None where the last leaf is not linear in one thing that the inner loops define."""
        varies = {k for k, d in nest.depends.items() if d & inner}
        behind = nest.behind(varies, inner)
        if not behind:
            return None
        k = nest.source_of(behind[0], varies)
        made = nest.parts[k]
        assert isinstance(made, Leaf)
        store = made.stores[0]
        old = nest.program.containers[store.container]
        total = Container(names.fresh(f"sum_{old.name}"), dt.Array(old.dtype, list(old.shape), transient=True))
        inside = [
            replace(made, body=tuple(_adds(i, store, total.name) for i in made.body)) if j == k else nest.parts[j]
            for j in sorted(varies - set(behind))
        ]
        after = renamed(tuple(nest.parts[j] for j in behind), {old.name: total.name})
        before = [p for j, p in enumerate(nest.parts) if j not in varies]
        outer = _product(p.count for p in nest.loops if p.name not in inner)
        trips = _product(p.count for p in nest.loops if p.name in inner)
        work = outer * (sum(map(_work, [*before, *after])) + trips * sum(map(_work, inside)))
        parts = (tuple(before), tuple(inside), tuple(p for p in after if isinstance(p, Leaf)))
        return Hoisted(nest, inner, *parts, total, work)

    def block(self, names: Names) -> Block:
        source = self.nest.source.source
        loops = _loops(self.nest.source)
        inner = [n for n in loops if n.symbol in self.inner]
        outer = [n for n in loops if n.symbol not in self.inner]
        block: Block = (
            *self.before,
            fill(self.total, "0", names, self.total.name),
            *_around(inner, self.inside),
            *self.behind,
        )
        for condition in reversed(self.nest.conditions):
            block = (Branch(((condition, block),), source),)
        return _around(outer, block)


def _around(loops: Sequence[Loop], block: Block) -> Block:
    for loop in reversed(loops):
        block = (replace(loop, body=block),)
    return block


def _loops(loop: Loop) -> list[Loop]:
    found: list[Loop] = []
    node: Node = loop
    while True:
        if isinstance(node, Loop):
            found.append(node)
        (inner,) = children(node)
        if len(inner) != 1 or not (isinstance(inner[0], Loop) or _is_guard(inner[0])):
            return found
        node = inner[0]


def _is_guard(node: Node) -> bool:
    return isinstance(node, Branch) and len(node.arms) == 1 and node.arms[0][0] is not None


def _parts(block: Block) -> list[Part] | None:
    """Leaves with one store each, and assignments; None where there is anything else."""
    found: list[Part] = []
    for node in block:
        if isinstance(node, SymbolAssign):
            found.append(node)
        elif isinstance(node, Leaf) and not node.sequential:
            if len(node.stores) > 1 and {s.container for s in node.stores} & {x.container for x in node.loads}:
                return None
            for store in node.stores:
                body = live((i for i in node.body if not isinstance(i, Store) or i is store), set())
                found.append(replace(node, body=body))
        else:
            return None
    return found


def _loads(part: Part) -> tuple[Load, ...]:
    return tuple(part.loads) if isinstance(part, Leaf) else part.value.loads


def _mentions(part: Part) -> set[str]:
    """Names in indices, bounds and expressions."""
    if isinstance(part, SymbolAssign):
        return code.names_in(part.value.expr) | {n for x in part.value.loads for n in free_names(*x.index)}
    bounds = free_names(*(b for p in part.params for b in (p.start, p.stop, p.step)))
    return bounds | {n for i in part.body for n in mentioned(i)}


def _varying_load(parts: Sequence[Part], k: int, varies: Set[int], direct: Set[str]) -> Load | None:
    """The one load by which a part depends on inner loops; None where it does so otherwise, or not at all."""
    made = {p.stores[0].container for j in range(k) if j in varies and isinstance(p := parts[j], Leaf)}
    found = [x for x in _loads(parts[k]) if x.container in made]
    alone = len(found) == 1 and found[0].guard is None and not _mentions(parts[k]) & direct
    return found[0] if alone else None


def _defined(part: Part) -> str | None:
    return part.stores[0].container if isinstance(part, Leaf) else None


def _is_plain(leaf: Leaf) -> bool:
    """Whether a leaf defines each element once, or as a sum."""
    store = leaf.stores[0]
    once = store.mode == "set" and not store.fresh and not overwrites_itself(leaf)
    return store.guard is None and (once or store.mode == "sum" and store.fresh)


def _adds(instr: Instr, store: Store, total: str) -> Instr:
    return Store(total, store.index, store.value, "sum") if instr is store else instr


def _is_linear(part: Part, value: str, name: str) -> bool:
    """Whether a value is linear in a name, and zero where that is: by sums and products only."""
    lets: Mapping[str, ast.expr] = {i.name: i.expr for i in part.lets} if isinstance(part, Leaf) else {}

    def degree(expr: ast.expr) -> int | None:
        """0 or 1 for what is free of the name, or linear in it; None for others."""
        if isinstance(expr, ast.Name):
            return 1 if expr.id == name else degree(lets[expr.id]) if expr.id in lets else 0
        if isinstance(expr, ast.BinOp) and isinstance(expr.op, (ast.Add, ast.Sub)):
            sides = {degree(expr.left), degree(expr.right)}
            return sides.pop() if len(sides) == 1 else None
        if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Mult):
            left, right = degree(expr.left), degree(expr.right)
            return None if left is None or right is None or left + right > 1 else left + right
        if isinstance(expr, ast.UnaryOp) and isinstance(expr.op, ast.USub):
            return degree(expr.operand)
        return 0 if not code.names_in(expr) & _touched(name, lets) else None

    return degree(code.name(value)) == 1


def _touched(name: str, lets: Mapping[str, ast.expr]) -> set[str]:
    """A name, and all that is computed from it."""
    found = {name}
    for own, expr in lets.items():
        if code.names_in(expr) & found:
            found.add(own)
    return found


def _work(part: Node) -> float:
    return float(_product(p.count for p in part.params)) if isinstance(part, Leaf) else 1.0


def _product(counts: Iterable[Expr]) -> float:
    size = sympy.Mul(*counts)
    return float(size.subs({s: 64 for s in size.free_symbols}))
