"""Fuse nests that read or write one large matrix into one loop over blocks of its rows.

``y = A @ x; z = y @ A`` reads ``A`` from memory twice, and the gradient of both reads it again and again. A block of
rows stays in the cache of a core, so all nests of a sweep run for one block before the next one (Siek, Karlin & Jessup
2008, build to order linear algebra kernels)::

    map i, j: y[i] += A[i, j] * x[j]          loop b step 16:
    map i, j: z[j] += A[i, j] * y[i]    ->      map i=b:b+16, j: y[i] += A[i, j] * x[j]
                                                map i=b:b+16, j: z[j] += A[i, j] * y[i]

The pieces of a sweep (:mod:`sdgrad.optimize.contractions.matrix_passes`) may depend on each other only within rows. A
reader of a column sum such as ``z`` runs behind the sweep. The pass declines if no matrix is as large as
``config.machine.swept_bytes``, or if no two pieces use the same one.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

import dace
import sympy

from sdgrad.config import config
from sdgrad.optimize.contractions.matrix_passes import Piece, pieces, same_range, separated
from sdgrad.optimize.contractions.recognition import continued
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
    map_blocks,
)
from sdgrad.rewrite.fusion import depends, fusable, fuse_block
from sdgrad.rewrite.identity_leaf import begin
from sdgrad.rewrite.merging import merge
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import sym

FEWEST, MOST = 4, 64
"""Rows of a block."""


def sweep_matrices(program: Program, names: Names) -> Program:
    """Fuse the nests of a program that use the same large matrix into loops over blocks of rows."""
    sweeper = Sweeper(program, names)
    body = sweeper.block(program.body)
    return replace(program, body=body, symbols={**program.symbols, **sweeper.symbols})


@dataclass
class Sweep:
    """Collect pieces over the same rows, in order.

    :param before: nodes between the pieces that run before all of them.
    :param after: nodes between the pieces that run after all of them.
    :param original: the nodes as they were.
    """

    members: list[Piece] = field(default_factory=list)
    before: list[Node] = field(default_factory=list)
    after: list[Node] = field(default_factory=list)
    original: list[Node] = field(default_factory=list)

    def copy(self) -> Sweep:
        """Return a copy with lists of its own."""
        return Sweep(list(self.members), list(self.before), list(self.after), list(self.original))


@dataclass
class Sweeper:
    """Fuse the sweeps of one program.

    :param symbols: variables of loops over blocks.
    """

    program: Program
    names: Names
    symbols: dict[str, dace.typeclass] = field(default_factory=dict)

    def block(self, block: Block) -> Block:
        """Return the block with its sweeps fused: each takes as many of the next nodes as it can."""
        out: list[Node] = []
        sweep = Sweep()
        for node in block:
            if not isinstance(node, (Leaf, Scope)):
                node = map_blocks(node, self.block)
            parts = separated(node, self.program) if isinstance(node, Leaf) else None
            trial = self.extended(sweep, node, parts)
            if trial is None:
                out += self.nodes(sweep)
                trial = self.extended(Sweep(), node, parts)
                assert trial is not None
            sweep = trial
        return (*out, *self.nodes(sweep))

    def extended(self, sweep: Sweep, node: Node, parts: list[Leaf] | None) -> Sweep | None:
        """Return the sweep with one more node; None if the sweep ends before it.

        :param parts: the node as leaves of one store, if it can be distributed.
        """
        if len(sweep.after) > config.machine.fusion_window and sweep.members:
            return None
        now = sweep.copy()
        now.original.append(node)
        found = [(part, pieces(part, self.program)) for part in parts or ()]
        if any(p for _, p in found):
            return self.joined(now, found)
        now.after += parts if parts and isinstance(node, Leaf) and len(node.params) == 1 else [node]
        return now

    def joined(self, sweep: Sweep, found: list[tuple[Leaf, list[Piece] | None]]) -> Sweep | None:
        """Return the sweep with the leaves whose pieces all join it, and the others after it; None if none joins.

        A sweep without members starts in any case.
        """
        now, joined = sweep, not sweep.members
        for part, own in found:
            trial = now.copy()
            if own is not None and all(self.joins(trial, piece) for piece in own):
                now, joined = trial, True
            else:
                now.after.append(part)
        return now if joined else None

    def joins(self, sweep: Sweep, piece: Piece) -> bool:
        """Add a piece to a sweep; False if it may not run in blocks of rows with the other members."""
        if sweep.members and not same_range(sweep.members[0].row, piece.row):
            return False
        if not all(self.by_rows(m, piece) for m in sweep.members):
            return False
        needed = self.needed(sweep, piece) if sweep.members else list(sweep.after)
        if any(self.tied(m.leaf, node) for m in sweep.members for node in needed):
            return False
        sweep.before += needed
        sweep.after = [n for n in sweep.after if not any(n is x for x in needed)]
        sweep.members.append(piece)
        return True

    def needed(self, sweep: Sweep, piece: Piece) -> list[Node]:
        """Return the nodes after a sweep that have to run before a piece, in order."""
        needed: list[Node] = []
        for node in reversed(sweep.after):
            if any(self.tied(node, x) for x in (piece.leaf, *needed)):
                needed.insert(0, node)
        return needed

    def tied(self, first: Node, second: Node) -> bool:
        """True if two nodes may not swap places, whichever comes first."""
        return depends(first, second, self.program) or depends(second, first, self.program)

    def by_rows(self, first: Piece, second: Piece) -> bool:
        """True if all dependences between two pieces stay within rows, or are between sums."""
        rows = sym(first.row.name), sym(second.row.name)

        def same_row(a: Load | Store, b: Load | Store) -> bool:
            return a.container == b.container and rows in zip(a.index, b.index, strict=False)

        return all(same_row(a, b) for a in first.leaf.accesses for b in second.leaf.accesses if self.conflict(a, b))

    def conflict(self, a: Load | Store, b: Load | Store) -> bool:
        """True if two accesses of one array do not commute: one writes it, and not both accumulate."""
        if self.program.root(a.container) != self.program.root(b.container):
            return False
        if isinstance(a, Store) and isinstance(b, Store):
            return not (a.mode == b.mode == "sum" and not b.fresh)
        return isinstance(a, Store) or isinstance(b, Store)

    def nodes(self, sweep: Sweep) -> list[Node]:
        """Return the nodes of a sweep: fused, between those before and after it, or the original ones."""
        if not self.pays(sweep.members):
            return sweep.original
        before, after = (list(fuse_block(tuple(x), self.program)) for x in (sweep.before, sweep.after))
        return [*before, *self.blocks(sweep.members), *after]

    def pays(self, members: list[Piece]) -> bool:
        """True if several members use one large matrix, and one of them is a product for BLAS."""
        used = [m.matrices(self.program) for m in members]
        large = {c for u in used for c in u if self.bytes(c) >= config.machine.swept_bytes}
        return any(sum(c in u for u in used) > 1 for c in large) and any(m.product for m in members)

    def bytes(self, name: str) -> int:
        """Return the size of a container in bytes."""
        return known_bytes(self.program.containers[name])

    def blocks(self, members: list[Piece]) -> list[Node]:
        """Return the loop over blocks of rows, with the rows that are left, and zeros of column sums before both."""
        row = replace(members[0].row, name=self.names.fresh(members[0].row.name))
        leaves: list[Leaf] = []
        begun: list[Node] = []
        for m in members:
            params = (row, replace(m.leaf.params[1], name=self.names.fresh(m.leaf.params[1].name)))
            leaf = replace(m.leaf, params=params, body=rename_params(m.leaf, params))
            (store,) = leaf.stores
            if store.fresh and not m.collects_rows():
                begun.append(begin(store, leaf, code.constant(0), self.names.fresh("v")))
                leaf = continued(leaf, store)
            leaves.append(leaf)
        together = self.together(leaves, [m.product for m in members])
        rows, count = self.rows(members), known_trips(row)
        whole = (count - 2) // rows  # at least two rows are left: one row is no matrix
        start = Param(self.names.fresh(row.name), row.start, row.start + (whole - 1) * rows, sympy.Integer(rows))
        self.symbols[start.name] = dace.int64
        source = leaves[0].source
        loop = as_loops([start], _part(together, row, sym(start.name), rows), source)
        return [*begun, *loop, *_part(together, row, row.start + whole * rows, count - whole * rows)]

    def rows(self, members: list[Piece]) -> int:
        """Return the number of rows of all matrices that the cache of a core holds, a power of two."""
        used = {c for m in members for c in m.matrices(self.program)}
        size = sum(self.bytes(c) for c in used) // known_trips(members[0].row)
        return max(FEWEST, min(MOST, 1 << (config.machine.sweep_block_bytes // max(size, 1)).bit_length() >> 1))

    def together(self, leaves: list[Leaf], product: list[bool]) -> list[Leaf]:
        """Fuse updates of the same elements, so that each element is loaded and stored once.

        :param product: True for each leaf that is a product, and no update.
        """
        out: list[tuple[Leaf, bool]] = []
        for leaf, is_product in zip(leaves, product, strict=True):
            out.append((leaf if is_product else self.absorbed(leaf, out), is_product))
        return [leaf for leaf, _ in out]

    def absorbed(self, leaf: Leaf, before: list[tuple[Leaf, bool]]) -> Leaf:
        """Return an update fused with the last earlier one it can be, which is removed; alone if there is none."""
        for k in reversed(range(len(before))):
            first, is_product = before[k]
            if is_product:
                continue
            joint = self.joint(first, leaf, [x for x, _ in before[k + 1 :]])
            if joint is not None:
                del before[k]
                return joint
        return leaf

    def joint(self, first: Leaf, second: Leaf, between: list[Leaf]) -> Leaf | None:
        """Return two updates of the same elements as one leaf, at the place of the second; None if they do not fuse."""
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
    """Return the leaves restricted to some rows."""
    part = replace(row, start=start, stop=start + rows - 1)
    return tuple(replace(x, params=(part, *x.params[1:])) for x in leaves)
