"""Fuse the outer loops of nests over the same rows, and contract the temporaries between them to one row.

Loop fusion of the outermost levels only (Wolfe 1989; Allen & Kennedy 2001): a row stays in the cache from one nest to
the next. A softmax reads ``x`` from memory three times; after row fusion it reads ``x`` once::

    map i=0:1000, j=0:500: t[i] max= x[i, j]              map i=0:1000:
    map i=0:1000, j=0:500: s[i] += exp(x[i, j] - t[i])      local t: float64[1]
    map i=0:1000, j=0:500: y[i, j] = ..                     map j=0:500: t[0] max= x[i, j]
                                                            map j=0:500: ..

Declines if a dependence crosses rows, if rows are few or short, or if rows are not contiguous in memory.
"""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass, replace

import dace
import sympy
from dace import data as dt

from sdgrad.analysis.access_relations import covers
from sdgrad.analysis.conflicts import overwrites_itself
from sdgrad.config import config
from sdgrad.optimize.locality.strides import contiguous, known_trips
from sdgrad.program.leaves import rename_instr
from sdgrad.program.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.tree import (
    Block,
    Container,
    Leaf,
    Let,
    Load,
    Node,
    NodeCall,
    Param,
    Program,
    Scope,
    Store,
    map_blocks,
    own_reads,
    walk,
)
from sdgrad.rewrite.fusion import depends
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names, same, substitute, sym

VECTORIZED = {"exp", "log", "sin", "cos", "sdgrad_sin", "sdgrad_cos", "tan", "tanh", "pow"}
"""Functions that compilers vectorize."""


def fuse_rows(program: Program) -> Program:
    """Fuse neighbouring nests over the same rows into one map; the program is unchanged if none fit."""
    fusion = Fusion(program, dict(program.containers), all_names(program))
    body = fusion.block(program.body)
    return replace(program, body=body, containers=fusion.containers)


@dataclass(frozen=True)
class Rows:
    """A group of leaves over the same rows; in each row they run one after the other.

    The first ``depth`` parameters of every leaf number the rows.
    """

    leaves: tuple[Leaf, ...]
    depth: int

    @property
    def params(self) -> tuple[Param, ...]:
        """Return the parameters that number the rows, as the first leaf names them."""
        return self.leaves[0].params[: self.depth]


@dataclass
class Fusion:
    """The state of the transformation: the program before it, and the containers after it."""

    program: Program
    containers: dict[str, Container]
    names: Names

    def block(self, block: Block) -> Block:
        """Fuse the leaves of a block, inner blocks first."""
        out: list[Node | Rows] = []
        for node in block:
            node = map_blocks(node, self.block)
            place, joined = self.partner(out, node) if isinstance(node, Leaf) else (0, None)
            if joined is None:
                out.append(node)
            else:
                out[place] = joined
        return tuple(self.scope(x) if isinstance(x, Rows) else x for x in out)

    def partner(self, before: list[Node | Rows], leaf: Leaf) -> tuple[int, Rows | None]:
        """Find the nearest earlier leaf or group that the leaf may join, and return its place and the new group.

        The leaf moves up to it, so it must not depend on any node in between. Returns None if there is none.
        """
        for k in range(len(before) - 1, max(-1, len(before) - 1 - config.machine.fusion_window), -1):
            earlier = before[k]
            nodes = earlier.leaves if isinstance(earlier, Rows) else (earlier,)
            leaves = tuple(n for n in nodes if isinstance(n, Leaf))
            if leaves and (joined := self.joined(leaves, leaf)) is not None:
                return k, joined
            if any(depends(n, leaf, self.program) for n in nodes):
                break
        return 0, None

    def joined(self, leaves: tuple[Leaf, ...], leaf: Leaf) -> Rows | None:
        """Group leaves with one more at the largest common depth; None if they fit at no depth."""
        depth = min(len(x.params) for x in (*leaves, leaf))
        for d in range(depth, 0, -1):
            if all(_same_rows(leaves[0], x, d) for x in (*leaves, leaf)) and self.fits((*leaves, leaf), d):
                return Rows((*leaves, leaf), d)
        return None

    def fits(self, leaves: tuple[Leaf, ...], depth: int) -> bool:
        """True if every dependence between the leaves stays within a row, and row fusion pays."""
        if not _are_large(leaves, depth) or any(x.sequential or overwrites_itself(x) for x in leaves):
            return False
        if len(leaves[0].params) == depth and _calls_functions(leaves[0]):
            return False  # vectorized across rows, which fusion would end
        if not _reduce_within_rows(leaves, depth) or self.is_strided(leaves, depth):
            return False
        shared = self.shared(leaves)
        return bool(shared) and all(self.axes(c, leaves, depth) is not None for c in shared)

    def is_strided(self, leaves: tuple[Leaf, ...], depth: int) -> bool:
        """True if the contiguous accesses of a leaf are those along a row number: its rows lie across memory."""
        return any(len(x.params) > depth and contiguous(x, self.program) in x.params[:depth] for x in leaves)

    def shared(self, leaves: tuple[Leaf, ...]) -> set[str]:
        """Return the containers that one leaf writes and another one accesses."""
        root = self.program.root
        found: set[str] = set()
        for k, leaf in enumerate(leaves):
            written = {root(s.container) for s in leaf.stores}
            found |= {root(a.container) for j, x in enumerate(leaves) if j != k for a in x.accesses} & written
        return found

    def axes(self, container: str, leaves: tuple[Leaf, ...], depth: int) -> tuple[int, ...] | None:
        """Return the axes of a container that the row numbers index; None if some access is to another row."""
        found: tuple[int, ...] | None = None
        for leaf in leaves:
            for access in leaf.accesses:
                if self.program.root(access.container) != container:
                    continue
                if access.container != container:
                    return None  # through a view
                own = _row_axes(access, leaf, depth)
                if own is None or found not in (None, own):
                    return None
                found = own
        return found

    def scope(self, rows: Rows) -> Scope:
        """Build the map over the rows, with the leaves in it and contracted temporaries as its locals."""
        params, leaves = rows.params, [self.within(x, rows) for x in rows.leaves]
        locals_: list[Container] = []
        for name in sorted(self.shared(rows.leaves)):
            axes = self.axes(name, rows.leaves, rows.depth)
            assert axes is not None
            if (row := self.row(name, axes, rows.leaves)) is not None:
                locals_.append(row)
                self.containers[name] = row
                leaves = [_without_axes(x, name, axes) for x in leaves]
        source = rows.leaves[0].source
        return Scope(params, tuple(leaves), tuple(locals_), source, schedule=rows.leaves[0].schedule)

    def within(self, leaf: Leaf, rows: Rows) -> Leaf:
        """Strip the row parameters off a leaf, and rename what is left to the group's names without capture."""
        taken = {p.name for p in rows.params}
        pairs = zip(leaf.params[: rows.depth], rows.params, strict=True)
        env = {own.name: sym(p.name) for own, p in pairs if own.name != p.name}
        inner = leaf.params[rows.depth :]
        env |= {p.name: sym(self.names.fresh(p.name)) for p in inner if p.name in taken}
        own = leaf.defined & taken
        locals_ = {n: self.names.fresh(n) for n in sorted(own)}
        body = tuple(rename_instr(i, locals_, env) for i in leaf.body)
        params = (
            Param(str(env.get(p.name, p.name)), *(substitute(x, env) for x in (p.start, p.stop, p.step))) for p in inner
        )
        return replace(leaf, params=tuple(params), body=body, schedule=dace.ScheduleType.Default)

    def row(self, name: str, axes: tuple[int, ...], leaves: tuple[Leaf, ...]) -> Container | None:
        """Contract a temporary of these leaves to one row; None if it must keep its rows, or a row is too long."""
        container = self.program.containers.get(name)
        if container is None or not self.is_private(container, leaves):
            return None
        first = next(x for x in leaves if any(a.container == name for a in x.accesses))
        if not _defines(first, container):
            return None
        shape = [n for d, n in enumerate(container.shape) if d not in axes] or [sympy.Integer(1)]
        size = math.prod(shape)
        if not sympy.sympify(size).is_Integer or size > config.machine.longest_fused_row:
            return None
        storage = dace.StorageType.Register if size <= config.machine.stack_row else dace.StorageType.Default
        return Container(name, dt.Array(container.dtype, shape, transient=True, storage=storage))

    def is_private(self, container: Container, leaves: tuple[Leaf, ...]) -> bool:
        """True if a container is a temporary that no node but these leaves accesses."""
        name = container.name
        if not container.transient or container.view_of or name in self.program.arguments:
            return False
        if any(c.view_of == name for c in self.program.containers.values()):
            return False
        inside = sum(a.container == name for x in leaves for a in x.accesses)
        return inside == sum(_count_uses(n, name) for n in walk(self.program.body))


def _are_large(leaves: tuple[Leaf, ...], depth: int) -> bool:
    """True if there are enough rows for all threads, and a row is long enough for loops of its own."""
    rows = math.prod(known_trips(p) for p in leaves[0].params[:depth])
    inner = max(math.prod(known_trips(p) for p in x.params[depth:]) for x in leaves)
    return rows >= config.machine.fused_rows and inner >= config.machine.fused_row


def _reduce_within_rows(leaves: tuple[Leaf, ...], depth: int) -> bool:
    """True if every reduction updates elements of the instance's own row."""
    return all(s.mode == "set" or _row_axes(s, x, depth) is not None for x in leaves for s in x.stores)


def _calls_functions(leaf: Leaf) -> bool:
    """True if a leaf calls a function that compilers vectorize."""
    return any(isinstance(x, ast.Call) and code.callee(x) in VECTORIZED for i in leaf.lets for x in i.parts)


def _defines(leaf: Leaf, container: Container) -> bool:
    """True if a leaf overwrites all of a container without reading it."""
    if any(x.container == container.name for x in leaf.loads):
        return False
    own = [s for s in leaf.stores if s.container == container.name and (s.mode == "set" or s.fresh)]
    return any(covers(s, leaf, container.shape) for s in own)


def _count_uses(node: Node, name: str) -> int:
    """Count the accesses of a node to a container, without those of inner nodes."""
    if isinstance(node, Leaf):
        return sum(a.container == name for a in node.accesses)
    if isinstance(node, NodeCall):
        return sum(r.container == name for r in (*node.inputs.values(), *node.outputs.values()))
    return int(name in own_reads(node)) + sum(c.name == name for c in getattr(node, "locals", ()))


def _same_rows(first: Leaf, second: Leaf, depth: int) -> bool:
    """True if the first parameters of two leaves have the same ranges, free of other parameters."""
    names = {p.name for p in (*first.params, *second.params)}
    return all(
        same((a.start, a.stop, a.step), (b.start, b.stop, b.step)) and not free_names(a.start, a.stop, a.step) & names
        for a, b in zip(first.params[:depth], second.params[:depth], strict=True)
    )


def _row_axes(access: Load | Store, leaf: Leaf, depth: int) -> tuple[int, ...] | None:
    """Return the axis that each row parameter indexes alone; None if a parameter indexes no axis, or several."""
    found = []
    for p in leaf.params[:depth]:
        at = [d for d, i in enumerate(access.index) if i == sym(p.name)]
        if len(at) != 1:
            return None
        found += at
    return tuple(found)


def _without_axes(leaf: Leaf, name: str, axes: tuple[int, ...]) -> Leaf:
    """Drop the subscripts of some axes from every access to a container."""

    def inside(instr: Load | Let | Store) -> Load | Let | Store:
        if isinstance(instr, Let) or instr.container != name:
            return instr
        index = tuple(i for d, i in enumerate(instr.index) if d not in axes)
        return replace(instr, index=index or (sympy.Integer(0),))

    return replace(leaf, body=tuple(map(inside, leaf.body)))
