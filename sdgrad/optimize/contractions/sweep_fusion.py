"""Nests that read or write one large matrix share a sweep over it: block by block of rows, which the cache holds.

``y = A @ x; z = y @ A`` reads ``A`` from memory twice, and the gradient of both again and again. Only what is added up
over all rows has to wait for the last of them: the products, and the updates of elements, run for some rows at a time.
(Siek, Karlin and Jessup, Build to order linear algebra kernels, 2008.)
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

import dace
import sympy

from sdgrad.config import config
from sdgrad.optimize.contractions.matrix_passes import Piece, accesses, pieces, same_range, separated
from sdgrad.optimize.locality.strides import known_bytes, known_trips
from sdgrad.program.leaves import as_loops, rename_params
from sdgrad.program.names import Names
from sdgrad.program.tree import (
    Block,
    Expr,
    Leaf,
    Let,
    Load,
    Node,
    Param,
    Program,
    Scope,
    Store,
    children,
    with_children,
)
from sdgrad.rewrite.fusion import depends, fusable, fuse_block, merge
from sdgrad.rewrite.identity_leaf import begin
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import sym

FEWEST, MOST = 4, 64
"""Rows of a block."""


def sweep_matrices(program: Program, names: Names) -> Program:
    """The program with such nests in loops over blocks of rows."""
    sweeper = Sweeper(program, names)
    body = sweeper.block(program.body)
    return replace(program, body=body, symbols={**program.symbols, **sweeper.symbols})


@dataclass
class Sweep:
    """Pieces over the same rows, in order, and what of the nodes between them runs before and after all of these."""

    members: list[Piece] = field(default_factory=list)
    before: list[Node] = field(default_factory=list)
    after: list[Node] = field(default_factory=list)
    original: list[Node] = field(default_factory=list)  # the nodes as they were

    def copy(self) -> Sweep:
        return Sweep(list(self.members), list(self.before), list(self.after), list(self.original))


@dataclass
class Sweeper:
    """One program; ``symbols`` are the variables of loops over blocks."""

    program: Program
    names: Names
    symbols: dict[str, dace.typeclass] = field(default_factory=dict)

    def block(self, block: Block) -> Block:
        out: list[Node] = []
        sweep = Sweep()
        for node in block:
            if not isinstance(node, (Leaf, Scope)):
                node = with_children(node, tuple(self.block(b) for b in children(node)))
            parts = separated(node, self.program) if isinstance(node, Leaf) else None
            trial = self.taken(sweep, node, parts)
            if trial is None:
                out += self.nodes(sweep)
                trial = self.taken(Sweep(), node, parts)
                assert trial is not None
            sweep = trial
        return (*out, *self.nodes(sweep))

    def taken(self, sweep: Sweep, node: Node, parts: list[Leaf] | None) -> Sweep | None:
        """The sweep with one more node, of which it takes what it can; None where it ends before."""
        if len(sweep.after) > config.machine.fusion_window and sweep.members:
            return None
        now = sweep.copy()
        now.original.append(node)
        found = [(part, pieces(part, self.program)) for part in parts or ()]
        if not any(p for _, p in found):
            small = isinstance(node, Leaf) and len(node.params) == 1
            now.after += parts if small and parts else [node]
            return now
        joined = False
        for part, own in found:
            trial = now.copy()
            if own is not None and all(self.joins(trial, piece) for piece in own):
                now, joined = trial, True
            else:
                now.after.append(part)
        return now if joined or not sweep.members else None

    def joins(self, sweep: Sweep, piece: Piece) -> bool:
        """Add a piece to a sweep, if it may run in blocks of rows with the others."""
        if sweep.members and not same_range(sweep.members[0].row, piece.row):
            return False
        if not all(self.by_rows(m, piece) for m in sweep.members):
            return False
        needed: list[Node] = []
        for node in reversed(sweep.after):
            if any(self.tied(node, x) for x in (piece.leaf, *needed)):
                needed.insert(0, node)
        if any(self.tied(m.leaf, node) for m in sweep.members for node in needed):
            return False
        if not sweep.members:
            needed = list(sweep.after)
        sweep.before += needed
        sweep.after = [n for n in sweep.after if not any(n is x for x in needed)]
        sweep.members.append(piece)
        return True

    def tied(self, first: Node, second: Node) -> bool:
        """Whether two nodes may not swap places, whichever comes first."""
        return depends(first, second, self.program) or depends(second, first, self.program)

    def by_rows(self, first: Piece, second: Piece) -> bool:
        """Whether two pieces meet in memory only within rows, or both only add."""
        rows = sym(first.row.name), sym(second.row.name)
        for a in accesses(first.leaf):
            for b in accesses(second.leaf):
                writes = isinstance(a, Store) or isinstance(b, Store)
                if not writes or self.program.root(a.container) != self.program.root(b.container):
                    continue
                if isinstance(a, Store) and isinstance(b, Store) and a.mode == b.mode == "sum" and not b.fresh:
                    continue
                aligned = any(i == rows[0] and j == rows[1] for i, j in zip(a.index, b.index, strict=False))
                if a.container != b.container or not aligned:
                    return False
        return True

    def nodes(self, sweep: Sweep) -> list[Node]:
        """What runs in the end: the sweep between what runs before and after it, or the nodes as they were."""
        if not self.pays(sweep.members):
            return sweep.original
        before, after = (list(fuse_block(tuple(x), self.program)) for x in (sweep.before, sweep.after))
        return [*before, *self.blocks(sweep.members), *after]

    def pays(self, members: list[Piece]) -> bool:
        """Whether a matrix that is large enough is used by several members, and BLAS has part in it."""
        used = [m.matrices(self.program) for m in members]
        large = {c for u in used for c in u if self.bytes(c) >= config.machine.swept_bytes}
        return any(sum(c in u for u in used) > 1 for c in large) and any(m.product for m in members)

    def bytes(self, name: str) -> int:
        return known_bytes(self.program.containers[name])

    def blocks(self, members: list[Piece]) -> list[Node]:
        row = replace(members[0].row, name=self.names.fresh(members[0].row.name))
        leaves: list[Leaf] = []
        begun: list[Node] = []
        for m in members:
            params = (row, replace(m.leaf.params[1], name=self.names.fresh(m.leaf.params[1].name)))
            leaf = replace(m.leaf, params=params, body=rename_params(m.leaf, params))
            (store,) = leaf.stores
            if store.fresh and not m.collects_rows():
                begun.append(begin(store, leaf, code.constant(0), self.names.fresh("v")))
                leaf = replace(leaf, body=tuple(replace(i, fresh=False) if i is store else i for i in leaf.body))
            leaves.append(leaf)
        together = self.together(leaves, [m.product for m in members])
        rows, count = self.rows(members), known_trips(row)
        whole = (count - 2) // rows  # one row is no matrix
        start = Param(self.names.fresh(row.name), row.start, row.start + (whole - 1) * rows, sympy.Integer(rows))
        self.symbols[start.name] = dace.int64
        source = leaves[0].source
        loop = as_loops([start], _part(together, row, sym(start.name), rows), source)
        return [*begun, *loop, *_part(together, row, row.start + whole * rows, count - whole * rows)]

    def rows(self, members: list[Piece]) -> int:
        """How many rows of all matrices the cache of a core holds."""
        used = {c for m in members for c in m.matrices(self.program)}
        size = sum(self.bytes(c) for c in used) // known_trips(members[0].row)
        return max(FEWEST, min(MOST, 1 << (config.machine.sweep_block_bytes // max(size, 1)).bit_length() >> 1))

    def together(self, leaves: list[Leaf], product: list[bool]) -> list[Leaf]:
        """What changes elements of one matrix several times changes them once."""
        out: list[Leaf] = []
        kinds: list[bool] = []
        for leaf, is_product in zip(leaves, product, strict=True):
            if not is_product:
                for k in reversed(range(len(out))):
                    if not kinds[k] and (joint := self.joint(out[k], leaf, out[k + 1 :])) is not None:
                        del out[k], kinds[k]
                        leaf = joint
                        break
            out.append(leaf)
            kinds.append(is_product)
        return out

    def joint(self, first: Leaf, second: Leaf, between: list[Leaf]) -> Leaf | None:
        """Two updates of the same elements as one, in the place of the second."""
        (a,), (b,) = first.stores, second.stores
        if a.container != b.container or any(depends(first, x, self.program) for x in between):
            return None
        if a.mode == "set" and b.mode == "sum":
            old, new = self.names.fresh("v"), self.names.fresh("v")
            added = Let(new, code.binary(ast.Add, code.name(old), code.name(b.value)))
            changed = (Load(old, b.container, b.index), added, replace(b, value=new, mode="set"))
            second = replace(second, body=tuple(x for i in second.body for x in (changed if i is b else (i,))))
        return merge(first, second, self.program) if fusable(first, second, self.program) else None


def _part(leaves: list[Leaf], row: Param, start: Expr, rows: int) -> Block:
    """The leaves for some rows."""
    part = replace(row, start=start, stop=start + rows - 1)
    return tuple(replace(x, params=(part, *x.params[1:])) for x in leaves)
