"""Read one state of an SDFG: its copies, maps, tasklets, nested SDFGs and library nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import dace
from dace import data as dt
from dace import nodes as nd
from dace import subsets
from dace.sdfg import utils as sdutil
from dace.sdfg.state import SDFGState

from sdgrad.errors import UnsupportedNode
from sdgrad.lift.copies import copy_leaf
from sdgrad.lift.data_access import DataAccess, source_of
from sdgrad.lift.library_nodes import LibraryReader
from sdgrad.lift.tasklet_nodes import TaskletReader
from sdgrad.lift.views import Env, param_symbols
from sdgrad.program.tree import (
    Block,
    Container,
    Load,
    Node,
    Param,
    Scope,
    SymbolAssign,
    Value,
    walk,
    whole_region,
)
from sdgrad.program.window import Window
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import as_range, sym


class StateLifting:
    """Read one state into nodes of the program tree."""

    def __init__(self, state: SDFGState, sdfg: dace.SDFG, env: Env, lift_region: Callable[..., Block]) -> None:
        self.state, self.sdfg, self.env, self.lift_region = state, sdfg, env, lift_region
        self.order = {n: k for k, n in enumerate(sdutil.dfs_topological_sort(state, state.source_nodes()))}
        self.children = state.scope_children()
        self.access = DataAccess(state, sdfg, env)
        self.tasklets, self.libraries = TaskletReader(self.access), LibraryReader(self.access)

    def scope(self, entry: nd.EntryNode | None) -> list[Node]:
        """Read the nodes directly inside a scope (None: the state), in topological order.

        :raises UnsupportedNode: a node is of an unknown kind.
        """
        out: list[Node] = []
        members = [n for n in self.children[entry] if not isinstance(n, nd.ExitNode) or n in self.order]
        for node in sorted(members, key=self.order.__getitem__):
            if isinstance(node, nd.AccessNode):
                out += self.copies_from(node)
            elif isinstance(node, nd.MapEntry):
                out += self.map_scope(node)
            elif isinstance(node, nd.Tasklet):
                out.append(self.tasklets.tasklet(node))
            elif isinstance(node, nd.NestedSDFG):
                out += self.nested(node)
            elif isinstance(node, nd.LibraryNode):
                out += self.libraries.library(node)
            elif not isinstance(node, nd.ExitNode):
                raise UnsupportedNode(f"{type(node).__name__} at {source_of(node)}")
        return out

    # -- copies
    def copies_from(self, node: nd.AccessNode) -> list[Node]:
        """Read the copies that start at an access node, or that cross the boundary of its scope."""
        out: list[Node] = []
        for edge in self.state.out_edges(node):
            if isinstance(edge.dst, nd.AccessNode) and not edge.data.is_empty() and not self.access.is_view_edge(edge):
                out += self.copy(edge, node, edge.dst)
        for edge in self.state.in_edges(node):
            # a copy that enters the scope of this node from outside
            if edge.data.is_empty() or not isinstance(edge.src, nd.EntryNode) or self.access.is_view_edge(edge):
                continue
            source = self.state.memlet_path(edge)[0].src
            if isinstance(source, nd.AccessNode):
                out[:0] = self.copy(edge, source, node)
        for edge in self.state.out_edges(node):
            # a copy that leaves the scope through its exit
            if not edge.data.is_empty() and isinstance(edge.dst, nd.ExitNode):
                target = self.state.memlet_path(edge)[-1].dst
                out += self.copy(edge, node, target)
        return out

    def copy(self, edge: Any, src: nd.AccessNode, dst: nd.AccessNode) -> list[Node]:
        """Read a copy. If source and destination may overlap, copy through a temporary."""
        memlet, names, source = edge.data, self.env.names, source_of(src)
        src_subset, dst_subset = _both_subsets(memlet, src, dst, self.sdfg)
        a, b = self.access.window(src), self.access.window(dst)
        origin, target = self.env.containers[a.container], self.env.containers[b.container]
        taken, given = a.subset(self.env.range(src_subset)), b.subset(self.env.range(dst_subset))
        root = self.access.so_far().root
        apart = a.container == b.container and subsets.intersects(taken, given) is False
        if apart or root(a.container) != root(b.container):
            return [copy_leaf(origin, taken, target, given, memlet.wcr, names, source)]
        sizes = [n for n in given.size() if n != 1] or [1]
        held = Container(names.fresh(f"{a.container}_before"), dt.Array(origin.dtype, sizes, transient=True))
        self.env.containers[held.name] = held
        whole = whole_region(held.name, held.shape).subset
        return [
            copy_leaf(origin, taken, held, whole, None, names, source),
            copy_leaf(held, whole, target, given, memlet.wcr, names, source),
        ]

    # -- maps
    def map_scope(self, entry: nd.MapEntry) -> list[Node]:
        """Read a map as a scope, after symbols for its dynamic bounds; locals are what an iteration declares."""
        env, saved = self.env, dict(self.env.values)
        prelude: list[Node] = []
        for edge in self.state.in_edges(entry):
            if edge.dst_conn and not edge.dst_conn.startswith("IN_"):
                prelude += self.dynamic_bound(edge)
        params = self.params(entry)
        before = set(env.containers)
        hidden = self.hide_locals(entry)
        body = tuple(self.scope(entry))
        made = tuple(c for n, c in env.containers.items() if n not in before and c.view_of is None)
        env.values = saved
        env.windows.update(hidden)
        inner = {c.name for n in walk(body) if isinstance(n, Scope) for c in n.locals}
        own = tuple(c for c in made if c.name not in inner)
        schedule = entry.map.schedule
        sequential = schedule == dace.ScheduleType.Sequential
        return [*prelude, Scope(params, body, own, source_of(entry), sequential, schedule)]

    def params(self, entry: nd.MapEntry) -> tuple[Param, ...]:
        """Declare the parameters of a map under fresh names."""
        env = self.env
        renamed, fresh = param_symbols(entry.map.params, env)
        params = []
        for old, new, (b, e, s) in zip(entry.map.params, fresh, entry.map.range.ranges, strict=False):
            params.append(Param(new, env.expr(b), env.expr(e), env.expr(s)))
            env.values[old] = renamed[old]
        return tuple(params)

    def hide_locals(self, entry: nd.MapEntry) -> dict[str, Window]:
        """Privatize the transients that only this scope uses; returns the windows that this hides."""
        inside = self.state.scope_subgraph(entry, include_entry=False, include_exit=False)
        used_inside = Counter(n.data for n in inside.data_nodes())
        hidden = {}
        for name in sorted(n for n, count in used_inside.items() if count == self.env.uses(self.sdfg)[n]):
            desc = self.sdfg.arrays[name]
            if desc.transient and not isinstance(desc, dt.View) and name in self.env.windows:
                hidden[name] = self.env.windows[name]
                self.env.containers.pop(self.env.windows[name].container, None)
                self.env.declare(name, desc)
        return hidden

    def dynamic_bound(self, edge: Any) -> list[Node]:
        """Assign a bound that a map reads from data to a symbol."""
        window, subset = self.access.outer(edge)
        index = window.index(tuple(b for b, _, _ in self.env.range(subset).ranges))
        target = self.env.names.fresh(f"v_{window.container}")
        symbol = self.env.names.fresh(edge.dst_conn)
        self.env.values[edge.dst_conn] = sym(symbol)
        dtype = self.env.containers[window.container].dtype
        self.env.symbols[symbol] = dtype
        return [SymbolAssign(symbol, Value((Load(target, window.container, index),), code.name(target)), dtype)]

    # -- nested SDFGs
    def nested(self, node: nd.NestedSDFG) -> list[Node]:
        """Read a nested SDFG in place; as an opaque call if it has no structure."""
        inner = self.env.inner()
        for old, value in node.symbol_mapping.items():
            inner.values[old] = self.env.expr(value)
        snapshot = dict(self.env.containers)
        try:
            for edge in [*self.state.in_edges(node), *self.state.out_edges(node)]:
                connector = edge.dst_conn if edge.dst is node else edge.src_conn
                if connector is not None and not edge.data.is_empty():
                    inner.windows[connector], _ = self.access.outer(edge)
            for name, desc in node.sdfg.arrays.items():
                if name not in inner.windows and not isinstance(desc, (dt.View, dt.Reference)):
                    inner.declare(name, desc)
            return list(self.lift_region(node.sdfg, node.sdfg, inner))
        except UnsupportedNode as reason:
            self.env.containers.clear()
            self.env.containers.update(snapshot)
            return [self.access.call(node, str(reason))]


def _both_subsets(
    memlet: dace.Memlet, src: nd.AccessNode, dst: nd.AccessNode, sdfg: dace.SDFG
) -> tuple[subsets.Range, subsets.Range]:
    """Return the source and destination subsets of a copy; a missing one has the size of the other."""
    if memlet.data == src.data:
        src_subset, dst_subset = memlet.subset, memlet.other_subset
    else:
        src_subset, dst_subset = memlet.other_subset, memlet.subset
    if src.data == dst.data and memlet._is_data_src is False:
        src_subset, dst_subset = dst_subset, src_subset
    if src_subset is None:
        src_subset = _matching(dst_subset, src.desc(sdfg))
    if dst_subset is None:
        dst_subset = _matching(src_subset, dst.desc(sdfg))
    return as_range(src_subset), as_range(dst_subset)


def _matching(subset: subsets.Subset, desc: dt.Data) -> subsets.Range:
    """Return the subset of the other side of a copy whose memlet gives only one: at the origin, with equal extents."""
    sizes = as_range(subset).size()
    if len(sizes) != len(desc.shape):
        wide = [n for n in sizes if n != 1]
        if len(wide) == len(desc.shape):
            sizes = wide
        else:
            return subsets.Range.from_array(desc)
    return subsets.Range([(0, n - 1, 1) for n in sizes])
