"""Interchange loops that only accumulate, so that loop-invariant factors are computed once.

The iterations of a reduction nest meet in sums only: the loops may stand in any order. What does not depend on the
inner loops is computed before them (loop-invariant code motion). What is linear in their result is applied to their
sum, behind them (distributive law; the sum differs by rounding). Before and after, with a costly ``f``::

    loop q, j:                      loop a:
      loop a:                         t = f(A[a])
        t = f(A[a])                   s = 0
        u = C[j] * d[q, j, a]         loop q, j:
        y[a] += t * u                   s += C[j] * d[q, j, a]
                                      y[a] += t * s

Declines where an iteration does more than add to one sum, where trip counts are no numbers, or where the gain is small.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import sympy
from dace import data as dt

from sdgrad.analysis.uses import users
from sdgrad.canonicalize.reduction_nest import Part, ReductionNest, levels
from sdgrad.config import config
from sdgrad.program.arrays import fill
from sdgrad.program.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.rename import renamed
from sdgrad.program.symbols import used_symbols
from sdgrad.program.tree import (
    Block,
    Branch,
    Container,
    Expr,
    Leaf,
    Loop,
    Node,
    Program,
    Store,
    SymbolAssign,
    children,
    map_blocks,
)
from sdgrad.rewrite.fusion import fuse
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names


def hoist_common(program: Program, names: Names) -> Program:
    """Reorder the reduction nests of a program; the program unchanged if no order gains enough."""
    everywhere = users(program.body, program)
    made: dict[str, Container] = {}

    def block(nodes: Block) -> Block:
        """Reorder the nests in a block."""
        return tuple(x for n in nodes for x in node(n))

    def node(n: Node) -> Block:
        """Reorder a loop nest, or the nests inside a node."""
        if isinstance(n, Loop):
            private = {c for c, k in users((n,), program).items() if k == everywhere[c] and _is_own(c, program)}
            nest = ReductionNest.of(n, private, program)
            found = best_order(nest, names) if nest is not None and not _assigns_for_others(nest, n, program) else None
            if found is not None:
                made.update({found.total.name: found.total})
                return found.block(names)
        return (map_blocks(n, block),)

    body = block(program.body)
    return replace(program, body=body, containers={**program.containers, **made}) if made else program


def _is_own(name: str, program: Program) -> bool:
    """True if a container is a temporary and no view."""
    container = program.containers[name]
    return container.desc.transient and container.view_of is None and name not in program.arguments


def _assigns_for_others(nest: ReductionNest, loop: Loop, program: Program) -> bool:
    """True if the program uses a symbol that the nest assigns outside of the nest."""
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
    """Return every node inside a node."""
    for b in children(node):
        for n in b:
            yield n
            yield from _inside(n)


def best_order(nest: ReductionNest, names: Names) -> Hoisted | None:
    """Return the order of the loops with the least work. None if no order gains enough."""
    found = [h for inner in _candidates(nest) if (h := Hoisted.of(nest, inner, names)) is not None]
    best = min(found, key=lambda h: h.work, default=None)
    work = _product(p.count for p in nest.loops) * sum(map(_work, nest.parts))
    return best if best is not None and best.work * config.machine.hoisting_gain <= work else None


def _candidates(nest: ReductionNest) -> list[frozenset[str]]:
    """Return the sets of loops that may move innermost.

    These are the loops that some part does not depend on, and neither do the guards nor the target's subscript.
    """
    fixed = {n for c in nest.conditions for n in code.names_in(c.expr)}
    index = {n for e in nest.sum.index for n in free_names(e)}
    symbols = {p.symbol: k for k, p in enumerate(nest.parts) if isinstance(p, SymbolAssign)}
    fixed |= index.union(*(nest.depends[symbols[n]] for n in index & symbols.keys()))
    every = {p.name for p in nest.loops}
    candidates = {frozenset(every - nest.depends[k] - fixed) for k in range(len(nest.parts))}
    return sorted(candidates - {frozenset[str]()}, key=sorted)


@dataclass(frozen=True)
class Hoisted:
    """A reduction nest with some loops innermost, and its parts before, inside and behind these.

    :param total: the temporary that the inner loops accumulate into.
    """

    nest: ReductionNest
    inner: frozenset[str]
    before: tuple[Part, ...]
    inside: tuple[Part, ...]
    behind: tuple[Leaf, ...]
    total: Container

    @staticmethod
    def of(nest: ReductionNest, inner: frozenset[str], names: Names) -> Hoisted | None:
        """Move some loops innermost. None if the last leaf is not linear in a single array that they define."""
        varies = {k for k, d in nest.depends.items() if d & inner}
        behind = nest.behind(varies, inner)
        if not behind:
            return None
        k = nest.source_of(behind[0], varies)
        made = nest.parts[k]
        assert isinstance(made, Leaf)
        old = nest.program.containers[made.stores[0].container]
        total = Container(names.fresh(f"sum_{old.name}"), dt.Array(old.dtype, list(old.shape), transient=True))
        parts = {**dict(enumerate(nest.parts)), k: _accumulating(made, total.name)}
        before = tuple(p for j, p in parts.items() if j not in varies)
        inside = tuple(parts[j] for j in sorted(varies - set(behind)))
        after = renamed(tuple(nest.parts[j] for j in behind), {old.name: total.name})
        return Hoisted(nest, inner, before, inside, tuple(p for p in after if isinstance(p, Leaf)), total)

    @cached_property
    def work(self) -> float:
        """Return the number of leaf instances that run."""
        outer = _product(p.count for p in self.nest.loops if p.name not in self.inner)
        trips = _product(p.count for p in self.nest.loops if p.name in self.inner)
        return outer * (sum(map(_work, [*self.before, *self.behind])) + trips * sum(map(_work, self.inside)))

    def block(self, names: Names) -> Block:
        """Return the nodes of the reordered nest."""
        source = self.nest.source.source
        loops = [n for n in levels(self.nest.source) if isinstance(n, Loop)]
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
    """Wrap a block in loops, given from outside in."""
    for loop in reversed(loops):
        block = (replace(loop, body=block),)
    return block


def _accumulating(leaf: Leaf, total: str) -> Leaf:
    """Return the leaf with its store replaced by an addition to another container."""
    store = leaf.stores[0]
    added = Store(total, store.index, store.value, "sum")
    return replace(leaf, body=tuple(added if i is store else i for i in leaf.body))


def _work(part: Node) -> float:
    """Return the number of instances of a part."""
    return float(_product(p.count for p in part.params)) if isinstance(part, Leaf) else 1.0


def _product(counts: Iterable[Expr]) -> float:
    """Return the product of trip counts, with 64 for every symbol."""
    size = sympy.Mul(*counts)
    return float(size.subs({s: 64 for s in size.free_symbols}))


def hoist_invariants(program: Program) -> Program:
    """Hoist loop invariants, and fuse again; the program itself if there are none."""
    hoisted = hoist_common(program, all_names(program))
    return program if hoisted is program else fuse(hoisted)
