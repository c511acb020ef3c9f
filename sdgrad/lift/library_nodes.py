"""Read the library nodes of a state.

``Reduce`` and ``Einsum`` become leaves. A node with a backward implementation stays a call. A node without one that
knows its program is replaced by that program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dace import data as dt
from dace import nodes as nd
from dace import subsets, symbolic

from sdgrad.lift.communication import read_communication
from sdgrad.lift.copies import mode_of, reduce_leaves
from sdgrad.lift.data_access import DataAccess, connector_of, source_of
from sdgrad.lift.einsum import einsum_leaf
from sdgrad.lift.views import bind
from sdgrad.program.arrays import moved
from sdgrad.program.inline import inline
from sdgrad.program.lowered import Lowered
from sdgrad.program.registry import RULES
from sdgrad.program.tree import (
    Container,
    Leaf,
    Node,
)
from sdgrad.program.window import Window, whole_window
from sdgrad.runtime.libraries.communication import is_of_dace


class LibraryReader:
    """The library nodes of one state."""

    def __init__(self, access: DataAccess) -> None:
        self.access, self.env, self.state = access, access.env, access.state

    def library(self, node: nd.LibraryNode) -> list[Node]:
        """Read a library node as leaves, as the program it stands for, or as a call."""
        if is_of_dace(node):
            return read_communication(node, self.access)
        if type(node).__name__ == "Reduce":
            return self.reduction(node)
        if type(node).__name__ == "Einsum" and symbolic.equal_valued(0, node.beta):
            return [self.einsum(node)]
        if isinstance(node, Lowered) and not self.has_rule(node):
            return self.lowered(node)
        return [self.access.call(node, "")]

    def operand(self, edge: Any) -> tuple[Window, subsets.Range]:
        """Return the window of a memlet, and the part of it that the node accesses."""
        window, subset = self.access.outer(edge)
        return window, self.env.range(subset)

    def reduction(self, node: Any) -> list[Node]:
        """Read a ``Reduce`` node as accumulating leaves; as a call if its operation is unknown."""
        (inp,), (out,) = self.state.in_edges(node), self.state.out_edges(node)
        if mode_of(node.wcr) == "custom" or out.data.wcr is not None:
            return [self.access.call(node, f"write-conflict resolution '{node.wcr}'")]
        src, dst = self.operand(inp), self.operand(out)
        axes = tuple(node.axes) if node.axes is not None else None
        dtype = self.env.containers[src[0].container].dtype
        names, source = self.env.names, source_of(node)
        return list(reduce_leaves(*src, *dst, dtype, axes, node.wcr, node.identity, names, source))

    def einsum(self, node: Any) -> Leaf:
        """Read an ``Einsum`` node that overwrites its output as one leaf."""
        inputs = {e.dst_conn: self.operand(e) for e in self.state.in_edges(node)}
        output = self.operand(self.state.out_edges(node)[0])
        return einsum_leaf(node.einsum_str, node.alpha, inputs, output, self.env.names, source_of(node))

    def has_rule(self, node: nd.CodeNode) -> bool:
        """True if a backward implementation is registered for a node, and applies."""
        rules = RULES.get(type(node).__name__, ())
        return any(rule.applies(self.access.call(node, ""), self.access.so_far()) is None for rule in rules)

    def lowered(self, node: Any) -> list[Node]:
        """Inline the program of a node; the node as a call if it declines."""
        operands: dict[str, dt.Data] = {}
        bound: dict[str, str | Window] = {}
        for edge in [*self.state.in_edges(node), *self.state.out_edges(node)]:
            connector = connector_of(edge.dst_conn if edge.dst is node else edge.src_conn, node)
            window, subset = self.access.outer(edge)
            container = self.env.containers[window.container]
            own = self.env.range(subset)
            desc = _seen(container.desc, window, own)
            bound[connector] = bind(connector, desc, container, window.subset(own), self.env)
            if edge.dst is node:
                operands[connector] = desc
        program = node.lowered(operands)
        if program is None:
            return [self.access.call(node, node.declined)]
        before = self.keep_operands(bound, operands)
        block, brought = inline(program, bound, self.env.names)
        self.env.containers.update({c.name: c for c in brought.values()})
        self.env.symbols.update(program.symbols)
        return [*before, *block]

    def keep_operands(self, bound: dict[str, str | Window], operands: Mapping[str, dt.Data]) -> list[Node]:
        """Copy operands that a node's program might overwrite before it has read them."""
        root = self.access.so_far().root
        at = {c: root(w if isinstance(w, str) else w.container) for c, w in bound.items()}
        written = {at[c] for c in bound if c not in operands}
        copies: list[Node] = []
        for connector, desc in operands.items():
            source = bound[connector]
            if at[connector] in written and isinstance(source, Window):
                name = self.env.names.fresh(connector)
                own = dt.Array(desc.dtype, list(desc.shape), transient=True)
                self.env.containers[name] = Container(name, own)
                bound[connector] = whole_window(name, own)
                copies.append(moved(whole_window(name, own), source, own.shape, "set", self.env.names))
        return copies


def _seen(desc: dt.Data, window: Window, subset: subsets.Range) -> dt.Data:
    """Return the descriptor of a subset of a window, with the rank of the window."""
    if isinstance(desc, dt.Scalar):
        return desc
    along = zip(window.axes, subset.ranges, strict=True)
    strides = [desc.strides[a.axis] * a.step * step if a is not None else 1 for a, (_, _, step) in along]
    return dt.Array(desc.dtype, list(subset.size()), strides=strides)
