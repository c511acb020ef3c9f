"""Resolve the access nodes and memlets of one state to windows onto containers of the program."""

from __future__ import annotations

from typing import Any

import dace
from dace import data as dt
from dace import nodes as nd
from dace import subsets
from dace.sdfg import utils as sdutil
from dace.sdfg.state import SDFGState

from sdgrad.errors import UnsupportedNode
from sdgrad.lift.views import Env, as_view, bind, resolve_symbols
from sdgrad.program.tree import (
    NodeCall,
    Program,
    Region,
    Source,
)
from sdgrad.program.window import Window
from sdgrad.symbolic.expr import sym


def source_of(element: object, label: str = "") -> Source:
    """Return the source line of a graph element."""
    info = getattr(element, "debuginfo", None)
    label = label or getattr(element, "label", getattr(element, "name", ""))
    return Source(info.filename, info.start_line, label) if info is not None else Source(label=label)


class DataAccess:
    """The data that the nodes of one state access; ``windows`` caches the window of each access node."""

    def __init__(self, state: SDFGState, sdfg: dace.SDFG, env: Env) -> None:
        self.state, self.sdfg, self.env = state, sdfg, env
        self.windows: dict[nd.AccessNode, Window] = {}

    def window(self, node: nd.AccessNode) -> Window:
        """Return the window of an access node: a whole container, or the part that its view edge names."""
        if node not in self.windows:
            desc = node.desc(self.sdfg)
            if isinstance(desc, dt.View):
                self.windows[node] = self.view(node, desc)
            elif isinstance(desc, (dt.Stream, dt.Reference, dt.Structure)) or node.data not in self.env.windows:
                raise UnsupportedNode(f"{type(desc).__name__} {node.data}, at {source_of(node)}")
            else:
                self.windows[node] = self.env.windows[node.data]
        return self.windows[node]

    def view(self, node: nd.AccessNode, desc: dt.View) -> Window:
        """Bind a view node to the container it views, through any number of views."""
        edge = sdutil.get_view_edge(self.state, node)
        if edge is None:
            if node.data in self.env.windows:
                return self.env.windows[node.data]
            raise UnsupportedNode(f"view {node.data} of nothing, at {source_of(node)}")
        base = self.window(self.viewed(node))
        bound = bind(node.data, desc, self.env.containers[base.container], self.viewed_subset(node), self.env)
        self.env.windows[node.data] = bound
        return bound

    def viewed(self, node: nd.AccessNode) -> nd.AccessNode:
        """Return the access node at the other end of a view edge."""
        edge = sdutil.get_view_edge(self.state, node)
        path = self.state.memlet_path(edge)
        return path[0].src if edge.dst is node else path[-1].dst

    def viewed_subset(self, node: nd.AccessNode) -> subsets.Range:
        """Return the part of the underlying container that a view node shows."""
        memlet, viewed = sdutil.get_view_edge(self.state, node).data, self.viewed(node)
        subset = memlet.subset if memlet.data != node.data else memlet.other_subset
        subset = self.env.range(subset) if subset is not None else subsets.Range.from_array(viewed.desc(self.sdfg))
        return self.window(viewed).subset(subset)

    def is_view_edge(self, edge: Any) -> bool:
        """True if an edge connects a view with what it views: it moves no data."""
        return any(
            isinstance(n, nd.AccessNode)
            and isinstance(n.desc(self.sdfg), dt.View)
            and sdutil.get_view_edge(self.state, n) is edge
            for n in (edge.src, edge.dst)
        )

    def outer(self, edge: Any) -> tuple[Window, subsets.Range | None]:
        """Return the window at the data end of a memlet path, and the memlet's subset of it.

        :raises UnsupportedNode: the memlet names a container at neither end.
        """
        path = self.state.memlet_path(edge)
        src, dst = path[0].src, path[-1].dst
        data = edge.data.data
        node = next((n for n in (src, dst) if isinstance(n, nd.AccessNode) and n.data == data), None)
        if node is None:
            raise UnsupportedNode(f"a memlet names {data}, which is at neither end, at {source_of(src)}")
        return self.window(node), edge.data.subset

    def so_far(self) -> Program:
        """Return a program without statements, over all containers that have been declared."""
        return Program(self.sdfg.name, self.env.containers, self.env.symbols, {}, (), ())

    def call(self, node: nd.CodeNode, reason: str) -> NodeCall:
        """Keep a node as an opaque call, with the regions it reads and writes.

        :raises UnsupportedNode: its code mentions a symbol that has another name, or a value, in the program.
        """
        mentioned = sorted(map(str, node.free_symbols)) if isinstance(node, nd.Tasklet) else []
        other = [s for s in mentioned if self.env.values.get(s, sym(s)) != sym(s)]
        if other:
            raise UnsupportedNode(f"{reason}, and its code uses '{other[0]}', at {source_of(node)}")
        inputs, outputs = {}, {}
        for edge in self.state.in_edges(node):
            if not edge.data.is_empty():
                inputs[connector_of(edge.dst_conn, node)] = self.region(edge)
        for edge in self.state.out_edges(node):
            if not edge.data.is_empty():
                outputs[connector_of(edge.src_conn, node)] = self.region(edge)
        return NodeCall(node, inputs, outputs, source_of(node), reason)

    def region(self, edge: Any) -> Region:
        """Return the operand of a call. A view is kept as a view: the node expects an array of that shape."""
        window, subset = self.outer(edge)
        path = self.state.memlet_path(edge)
        node = path[0].src if isinstance(path[0].src, nd.AccessNode) else path[-1].dst
        if isinstance(node.desc(self.sdfg), dt.View) and not window.whole:
            window = as_view(
                node.data,
                resolve_symbols(node.desc(self.sdfg), self.env),
                self.env.containers[window.container],
                self.viewed_subset(node),
                self.env,
            )
        return Region(window.container, window.subset(self.env.range(subset)), edge.data.wcr)


def connector_of(connector: str | None, node: nd.CodeNode) -> str:
    """Return the name of a connector.

    :raises UnsupportedNode: the memlet has no connector.
    """
    if connector is None:
        raise UnsupportedNode(f"{type(node).__name__} '{node.label}' with an operand without a connector")
    return connector
