"""Nests of counted loops around one block whose iterations only accumulate into one sum.

``for i: for j: t = a[i] * b[j]; s[i] += t * c[j]``: the iterations meet in the sum only, so that the loops may stand in
any order. :meth:`ReductionNest.of` recognizes such a nest. It declines where an iteration leaves anything else behind,
where a loop's bounds are no numbers, or where a condition depends on data.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property

from sdgrad.analysis.access_relations import loop_param
from sdgrad.analysis.conflicts import overwrites_itself
from sdgrad.analysis.loop_private import defined_first
from sdgrad.program.leaves import live
from sdgrad.program.tree import (
    Block,
    Branch,
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
)
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names, same

Part = Leaf | SymbolAssign


@dataclass(frozen=True)
class ReductionNest:
    """Loops around one block, whose iterations meet in one sum only.

    :param conditions: guards of the block, over variables of the loops.
    :param parts: the block, with one store in each leaf.
    :param temporaries: containers that every iteration defines for itself.
    """

    program: Program
    loops: tuple[Param, ...]
    conditions: tuple[Value, ...]
    parts: tuple[Part, ...]
    temporaries: frozenset[str]
    source: Loop

    @staticmethod
    def of(loop: Loop, private: set[str], program: Program) -> ReductionNest | None:
        """Recognize a nest of at least two loops. None if its iterations do more than add to one sum.

        :param private: containers that only this loop accesses.
        """
        around = levels(loop)
        inside = [n for n in around if isinstance(n, Loop)]
        loops = [p for n in inside if (p := _constant_trips(n)) is not None]
        conditions = [c for n in around if isinstance(n, Branch) for c, _ in n.arms if c is not None]
        parts = _parts(children(around[-1])[0])
        if len(loops) < max(2, len(inside)) or parts is None:
            return None
        own = frozenset(defined_first(tuple(parts), program, private))
        found = ReductionNest(program, tuple(loops), tuple(conditions), tuple(parts), own, loop)
        return found if found.only_adds() else None

    def only_adds(self) -> bool:
        """True if all that an iteration leaves behind is what the last leaf adds to its target."""
        added = [p for p in self.parts if isinstance(p, Leaf) and p.stores[0].container not in self.temporaries]
        alone = len(added) == 1 and self.parts[-1] is added[0]
        return alone and self.is_target_private() and self.has_fixed_guards() and self.added is not None

    def is_target_private(self) -> bool:
        """True if only the last leaf accesses the target, and every container has one definition."""
        read = {self.program.root(x.container) for p in self.parts[:-1] for x in loads_of(p)}
        written = [p.stores[0].container for p in self.parts if isinstance(p, Leaf)]
        return self.program.root(self.sum.container) not in read and len(set(written)) == len(written)

    def has_fixed_guards(self) -> bool:
        """True if the conditions depend on neither data nor symbols that the block assigns."""
        symbols = {p.symbol for p in self.parts if isinstance(p, SymbolAssign)}
        return not any(c.loads or symbols & code.names_in(c.expr) for c in self.conditions)

    @property
    def last(self) -> Leaf:
        """Return the leaf that accumulates."""
        leaf = self.parts[-1]
        assert isinstance(leaf, Leaf)
        return leaf

    @property
    def sum(self) -> Store:
        """Return the store that accumulates."""
        return self.last.stores[0]

    @cached_property
    def added(self) -> str | None:
        """Return the name of the term that the last leaf adds to its target. None if it does not accumulate."""
        store, target = self.sum, self.program.root(self.sum.container)
        own = [x for x in self.last.loads if self.program.root(x.container) == target]
        if store.guard is not None or store.container != target or store.fresh:
            return None
        if store.mode == "sum":
            return None if own else store.value
        if store.mode != "set" or len(own) != 1 or not same(own[0].index, store.index):
            return None
        return _other_term(self.last, store.value, own[0].name)

    @cached_property
    def depends(self) -> dict[int, frozenset[str]]:
        """Return for each part, the loops that its result depends on."""
        known: dict[str, frozenset[str]] = {p.name: frozenset({p.name}) for p in self.loops}
        found: dict[int, frozenset[str]] = {}
        for k, part in enumerate(self.parts):
            names = _mentions(part) | {x.container for x in loads_of(part)}
            found[k] = frozenset[str]().union(*(known.get(n, frozenset()) for n in names))
            known[part.symbol if isinstance(part, SymbolAssign) else part.stores[0].container] = found[k]
        return found

    def source_of(self, k: int, varies: Set[int]) -> int:
        """Return the position of the varying leaf whose result a part reads."""
        loads = {x.container for x in loads_of(self.parts[k])}
        return next(j for j in range(k) if j in varies and _defined(self.parts[j]) in loads)

    def behind(self, varies: Set[int], inner: Set[str]) -> list[int]:
        """Return the positions of the last leaves that may run behind the inner loops.

        Each is linear in the result of one varying part, which no other part reads.
        """
        symbols = {p.symbol for j, p in enumerate(self.parts) if j in varies and isinstance(p, SymbolAssign)}
        found: list[int] = []
        k, value = len(self.parts) - 1, self.added
        while (source := _varying_load(self.parts, k, varies, inner | symbols)) is not None and value is not None:
            if not _is_linear(self.parts[k], value, source.name):
                break
            j = self.source_of(k, varies)
            made = self.parts[j]
            readers = {i for i, p in enumerate(self.parts) if source.container in {x.container for x in loads_of(p)}}
            if not isinstance(made, Leaf) or not _is_plain(made) or not readers <= {k, *found}:
                break
            found.insert(0, k)
            k, value = j, made.stores[0].value
        return found


def levels(loop: Loop) -> list[Node]:
    """Return the loops and guards of a nest, from outside in."""
    found: list[Node] = [loop]
    while True:
        (inner,) = children(found[-1])
        if len(inner) != 1 or not (isinstance(inner[0], Loop) or _is_guard(inner[0])):
            return found
        found.append(inner[0])


def _constant_trips(loop: Loop) -> Param | None:
    """Return the iterations of a loop that runs to its end, a known number of times. None for any other loop."""
    p = loop_param(loop) if loop.also is None and loop.last is None else None
    known = p is not None and p.count.is_number and p.count > 0 and not free_names(p.start, p.stop, p.step)
    return p if known else None


def _other_term(leaf: Leaf, value: str, name: str) -> str | None:
    """Return the operand beside a name in a sum of two names.

    None if the value is no such sum, or if the name is used elsewhere.
    """
    expr = next((i.expr for i in leaf.lets if i.name == value), None)
    if not isinstance(expr, ast.BinOp) or not isinstance(expr.op, ast.Add):
        return None
    sides = [e.id for e in (expr.left, expr.right) if isinstance(e, ast.Name)]
    others = [n for n in sides if n != name]
    used = [n for i in leaf.lets for n in code.names_in(i.expr)]
    return others[0] if len(sides) == 2 and len(others) == 1 and used.count(name) == 1 else None


def _is_guard(node: Node) -> bool:
    """True if a node is a branch with one condition and no other arm."""
    return isinstance(node, Branch) and len(node.arms) == 1 and node.arms[0][0] is not None


def _parts(block: Block) -> list[Part] | None:
    """Split a block into leaves with one store each and symbol assignments. None if it holds any other node."""
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


def loads_of(part: Part) -> tuple[Load, ...]:
    """Return the loads of a leaf or an assignment."""
    return tuple(part.loads) if isinstance(part, Leaf) else part.value.loads


def _mentions(part: Part) -> set[str]:
    """Return the names in the subscripts, bounds and expressions of a part."""
    if isinstance(part, SymbolAssign):
        return code.names_in(part.value.expr) | {n for x in part.value.loads for n in x.index_names}
    bounds = free_names(*(b for p in part.params for b in (p.start, p.stop, p.step)))
    return bounds | {n for i in part.body for n in i.names}


def _varying_load(parts: Sequence[Part], k: int, varies: Set[int], direct: Set[str]) -> Load | None:
    """Return the single load through which a part depends on inner loops.

    None if there is none, or another dependence.
    """
    made = {p.stores[0].container for j in range(k) if j in varies and isinstance(p := parts[j], Leaf)}
    found = [x for x in loads_of(parts[k]) if x.container in made]
    alone = len(found) == 1 and found[0].guard is None and not _mentions(parts[k]) & direct
    return found[0] if alone else None


def _defined(part: Part) -> str | None:
    """Return the container that a leaf defines. None for an assignment."""
    return part.stores[0].container if isinstance(part, Leaf) else None


def _is_plain(leaf: Leaf) -> bool:
    """True if a leaf stores each element once, or defines it as a fresh sum."""
    store = leaf.stores[0]
    once = store.mode == "set" and not store.fresh and not overwrites_itself(leaf)
    return store.guard is None and (once or store.mode == "sum" and store.fresh)


def _is_linear(part: Part, value: str, name: str) -> bool:
    """True if a value is a homogeneous linear function of a name, by sums and products only."""
    lets: Mapping[str, ast.expr] = {i.name: i.expr for i in part.lets} if isinstance(part, Leaf) else {}

    def degree(expr: ast.expr) -> int | None:
        """Return the degree in the name, 0 or 1. None if the expression is neither free of it nor linear."""
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
    """Return a name and every name computed from it."""
    found = {name}
    for own, expr in lets.items():
        if code.names_in(expr) & found:
            found.add(own)
    return found
