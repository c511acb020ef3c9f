"""Nests that only meet within a row run row by row: one parallel map, and what they hand on stays in the cache.

``t = max(x, axis=1); s = sum(exp(x - t), axis=1); y = exp(x - t) / s`` are three nests over the same rows, and each of
them would read all of ``x`` from memory. Here they become one map over the rows with three small nests in it, and
arrays that nobody else reads shrink to one row.
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
    children,
    own_reads,
    walk,
    with_children,
)
from sdgrad.rewrite.fusion import LOOKBACK, depends
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import free_names, same, substitute, sym

FEWEST_ROWS = 16  # fewer would leave threads without work
SMALLEST_ROW = 64  # elements; shorter loops are better off as one long one
LARGEST_ROW = 65536  # elements of an array that a row of its own is made for
ON_STACK = 2048  # elements of a row that lies on the stack
IN_LANES = {"exp", "log", "sin", "cos", "sdgrad_sin", "sdgrad_cos", "tan", "tanh", "pow"}


def fuse_rows(program: Program) -> Program:
    """The program with such nests in one map."""
    fusion = Fusion(program, dict(program.containers), all_names(program))
    body = fusion.block(program.body)
    return replace(program, body=body, containers=fusion.containers)


@dataclass(frozen=True)
class Rows:
    """Leaves over the same rows, to run one after the other in each of them."""

    leaves: tuple[Leaf, ...]
    depth: int  # leading parameters that say which row

    @property
    def params(self) -> tuple[Param, ...]:
        return self.leaves[0].params[: self.depth]


@dataclass
class Fusion:
    program: Program
    containers: dict[str, Container]
    names: Names

    def block(self, block: Block) -> Block:
        out: list[Node | Rows] = []
        for node in block:
            node = with_children(node, tuple(self.block(b) for b in children(node)))
            place, joined = self.partner(out, node) if isinstance(node, Leaf) else (0, None)
            if joined is None:
                out.append(node)
            else:
                out[place] = joined
        return tuple(self.scope(x) if isinstance(x, Rows) else x for x in out)

    def partner(self, before: list[Node | Rows], leaf: Leaf) -> tuple[int, Rows | None]:
        """The nearest earlier leaf or group that shares rows with this one, past independent nodes only."""
        for k in range(len(before) - 1, max(-1, len(before) - 1 - LOOKBACK), -1):
            earlier = before[k]
            nodes = earlier.leaves if isinstance(earlier, Rows) else (earlier,)
            leaves = tuple(n for n in nodes if isinstance(n, Leaf))
            if leaves and (joined := self.joined(leaves, leaf)) is not None:
                return k, joined
            if any(depends(n, leaf, self.program) for n in nodes):
                break
        return 0, None

    def joined(self, leaves: tuple[Leaf, ...], leaf: Leaf) -> Rows | None:
        depth = min(len(x.params) for x in (*leaves, leaf))
        for d in range(depth, 0, -1):
            if all(_same_rows(leaves[0], x, d) for x in (*leaves, leaf)) and self.fits((*leaves, leaf), d):
                return Rows((*leaves, leaf), d)
        return None

    def fits(self, leaves: tuple[Leaf, ...], depth: int) -> bool:
        """Whether leaves meet within rows only, have something to share, and rows are worth it."""
        rows = math.prod(known_trips(p) for p in leaves[0].params[:depth])
        inner = max(math.prod(known_trips(p) for p in x.params[depth:]) for x in leaves)
        if rows < FEWEST_ROWS or inner < SMALLEST_ROW:
            return False
        if any(x.sequential or overwrites_itself(x) for x in leaves):
            return False
        if len(leaves[0].params) == depth and _calls_functions(leaves[0]):
            return False  # computed for several rows at once before
        if any(s.mode != "set" and _row_axes(s, x, depth) is None for x in leaves for s in x.stores):
            return False
        if any(len(x.params) > depth and contiguous(x, self.program) in x.params[:depth] for x in leaves):
            return False  # rows lie across memory
        shared = self.shared(leaves)
        return bool(shared) and all(self.axes(c, leaves, depth) is not None for c in shared)

    def shared(self, leaves: tuple[Leaf, ...]) -> set[str]:
        """Containers that one leaf writes and another one uses."""
        root = self.program.root
        found: set[str] = set()
        for k, leaf in enumerate(leaves):
            written = {root(s.container) for s in leaf.stores}
            found |= {root(a.container) for j, x in enumerate(leaves) if j != k for a in _accesses(x)} & written
        return found

    def axes(self, container: str, leaves: tuple[Leaf, ...], depth: int) -> tuple[int, ...] | None:
        """The axes of a container along which every access is at the row's own index."""
        found: tuple[int, ...] | None = None
        for leaf in leaves:
            for access in _accesses(leaf):
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
        """The map over the rows."""
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
        """A leaf without its leading parameters, which are called as the group calls them; its own names make way."""
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
        """A container shrunk to a row, where nothing but these leaves uses it."""
        container = self.program.containers.get(name)
        if container is None or not container.transient or container.view_of or name in self.program.arguments:
            return None
        if any(c.view_of == name for c in self.program.containers.values()):
            return None
        inside = sum(a.container == name for x in leaves for a in _accesses(x))
        if inside != sum(_uses(n, name) for n in walk(self.program.body)):
            return None
        first = next(x for x in leaves if any(a.container == name for a in _accesses(x)))
        if not _defines(first, container):
            return None
        shape = [n for d, n in enumerate(container.shape) if d not in axes] or [sympy.Integer(1)]
        size = math.prod(shape)
        if not sympy.sympify(size).is_Integer or size > LARGEST_ROW:
            return None
        storage = dace.StorageType.Register if size <= ON_STACK else dace.StorageType.Default
        return Container(name, dt.Array(container.dtype, shape, transient=True, storage=storage))


def _calls_functions(leaf: Leaf) -> bool:
    return any(isinstance(x, ast.Call) and code.callee(x) in IN_LANES for i in leaf.lets for x in ast.walk(i.expr))


def _defines(leaf: Leaf, container: Container) -> bool:
    """Whether a leaf sets all of a container, and needs nothing of what was there."""
    if any(x.container == container.name for x in leaf.loads):
        return False
    own = [s for s in leaf.stores if s.container == container.name and (s.mode == "set" or s.fresh)]
    return any(covers(s, leaf, container.shape) for s in own)


def _uses(node: Node, name: str) -> int:
    """How often a node by itself uses a container."""
    if isinstance(node, Leaf):
        return sum(a.container == name for a in _accesses(node))
    if isinstance(node, NodeCall):
        return sum(r.container == name for r in (*node.inputs.values(), *node.outputs.values()))
    return int(name in own_reads(node)) + sum(c.name == name for c in getattr(node, "locals", ()))


def _accesses(leaf: Leaf) -> list[Load | Store]:
    return [*leaf.loads, *leaf.stores]


def _same_rows(first: Leaf, second: Leaf, depth: int) -> bool:
    names = {p.name for p in (*first.params, *second.params)}
    return all(
        same((a.start, a.stop, a.step), (b.start, b.stop, b.step)) and not free_names(a.start, a.stop, a.step) & names
        for a, b in zip(first.params[:depth], second.params[:depth], strict=True)
    )


def _row_axes(access: Load | Store, leaf: Leaf, depth: int) -> tuple[int, ...] | None:
    """Where each of the row's parameters stands alone in an index; None where one does not."""
    found = []
    for p in leaf.params[:depth]:
        at = [d for d, i in enumerate(access.index) if i == sym(p.name)]
        if len(at) != 1:
            return None
        found += at
    return tuple(found)


def _without_axes(leaf: Leaf, name: str, axes: tuple[int, ...]) -> Leaf:
    def inside(instr: Load | Let | Store) -> Load | Let | Store:
        if isinstance(instr, Let) or instr.container != name:
            return instr
        index = tuple(i for d, i in enumerate(instr.index) if d not in axes)
        return replace(instr, index=index or (sympy.Integer(0),))

    return replace(leaf, body=tuple(map(inside, leaf.body)))
