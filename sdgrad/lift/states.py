"""One state of an SDFG, its scopes and nodes, as nodes of the program tree."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import dace
from dace import data as dt
from dace import nodes as nd
from dace import subsets, symbolic
from dace.sdfg import utils as sdutil
from dace.sdfg.state import SDFGState

from sdgrad.errors import UnsupportedNode
from sdgrad.lift.copies import copy_leaf, mode_of, reduce_leaves
from sdgrad.lift.einsum import einsum_leaf
from sdgrad.lift.tasklets import ArrayOperand, Operand, Output, ScalarOperand, lift_code
from sdgrad.lift.views import Env, as_view, bind, param_symbols, resolve_symbols
from sdgrad.program.arrays import moved
from sdgrad.program.inline import inline
from sdgrad.program.lowered import Lowered
from sdgrad.program.registry import RULES
from sdgrad.program.tree import (
    SCALAR,
    Block,
    Container,
    Instr,
    Leaf,
    Let,
    Load,
    Node,
    NodeCall,
    Param,
    Program,
    Region,
    Scope,
    Source,
    Store,
    SymbolAssign,
    Value,
    walk,
    whole_region,
)
from sdgrad.program.window import Window, whole_window
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import as_range, sym, to_ast


def source_of(element: object, label: str = "") -> Source:
    """Where a graph element comes from."""
    info = getattr(element, "debuginfo", None)
    label = label or getattr(element, "label", getattr(element, "name", ""))
    return Source(info.filename, info.start_line, label) if info is not None else Source(label=label)


class StateLifting:
    """One state being read; ``windows`` tells what each access node sees."""

    def __init__(self, state: SDFGState, sdfg: dace.SDFG, env: Env, lift_region: Callable[..., Block]) -> None:
        self.state, self.sdfg, self.env, self.lift_region = state, sdfg, env, lift_region
        self.order = {n: k for k, n in enumerate(sdutil.dfs_topological_sort(state, state.source_nodes()))}
        self.children = state.scope_children()
        self.windows: dict[nd.AccessNode, Window] = {}
        self.pipes: dict[tuple[nd.Tasklet, str], str] = {}

    def scope(self, entry: nd.EntryNode | None) -> list[Node]:
        """The nodes directly inside a scope (None: the state), in topological order."""
        out: list[Node] = []
        members = [n for n in self.children[entry] if not isinstance(n, nd.ExitNode) or n in self.order]
        for node in sorted(members, key=self.order.__getitem__):
            if isinstance(node, nd.AccessNode):
                out += self.copies_from(node)
            elif isinstance(node, nd.MapEntry):
                out += self.map_scope(node)
            elif isinstance(node, nd.Tasklet):
                out += self.tasklet(node)
            elif isinstance(node, nd.NestedSDFG):
                out += self.nested(node)
            elif isinstance(node, nd.LibraryNode):
                out += self.library(node)
            elif not isinstance(node, nd.ExitNode):
                raise UnsupportedNode(f"{type(node).__name__} at {source_of(node)}")
        return out

    # -- data
    def window(self, node: nd.AccessNode) -> Window:
        """What an access node sees: a container, or a window through its view edge."""
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
        """The access node that a view node looks at."""
        edge = sdutil.get_view_edge(self.state, node)
        path = self.state.memlet_path(edge)
        return path[0].src if edge.dst is node else path[-1].dst

    def viewed_subset(self, node: nd.AccessNode) -> subsets.Range:
        """The part of the underlying container that a view node looks at."""
        memlet, viewed = sdutil.get_view_edge(self.state, node).data, self.viewed(node)
        subset = memlet.subset if memlet.data != node.data else memlet.other_subset
        subset = self.env.range(subset) if subset is not None else subsets.Range.from_array(viewed.desc(self.sdfg))
        return self.window(viewed).subset(subset)

    def is_view_edge(self, edge: Any) -> bool:
        return any(
            isinstance(n, nd.AccessNode)
            and isinstance(n.desc(self.sdfg), dt.View)
            and sdutil.get_view_edge(self.state, n) is edge
            for n in (edge.src, edge.dst)
        )

    def outer(self, edge: Any) -> tuple[Window, subsets.Range | None]:
        """The window a memlet path ends in on the data side, and the memlet's subset of it."""
        path = self.state.memlet_path(edge)
        src, dst = path[0].src, path[-1].dst
        data = edge.data.data
        node = next((n for n in (src, dst) if isinstance(n, nd.AccessNode) and n.data == data), None)
        if node is None:
            raise UnsupportedNode(f"a memlet names {data}, which is at neither end, at {source_of(src)}")
        return self.window(node), edge.data.subset

    # -- copies
    def copies_from(self, node: nd.AccessNode) -> list[Node]:
        out: list[Node] = []
        for edge in self.state.out_edges(node):
            if isinstance(edge.dst, nd.AccessNode) and not edge.data.is_empty() and not self.is_view_edge(edge):
                out += self.copy(edge, node, edge.dst)
        for edge in self.state.in_edges(node):
            # a copy that enters the scope of this node from outside
            if edge.data.is_empty() or not isinstance(edge.src, nd.EntryNode) or self.is_view_edge(edge):
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
        """A copy; where it may write what it reads, all is read first."""
        memlet, names, source = edge.data, self.env.names, source_of(src)
        src_subset, dst_subset = _both_subsets(memlet, src, dst, self.sdfg)
        a, b = self.window(src), self.window(dst)
        origin, target = self.env.containers[a.container], self.env.containers[b.container]
        taken, given = a.subset(self.env.range(src_subset)), b.subset(self.env.range(dst_subset))
        root = self.so_far().root
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
        env, saved = self.env, dict(self.env.values)
        prelude: list[Node] = []
        for edge in self.state.in_edges(entry):
            if edge.dst_conn and not edge.dst_conn.startswith("IN_"):
                prelude += self.dynamic_bound(edge)
        renamed, fresh = param_symbols(entry.map.params, env)
        params = []
        for old, new, (b, e, s) in zip(entry.map.params, fresh, entry.map.range.ranges, strict=False):
            params.append(Param(new, env.expr(b), env.expr(e), env.expr(s)))
            env.values[old] = renamed[old]
        before = set(env.containers)
        hidden = self.hide_locals(entry)
        body = self.scope(entry)
        made = tuple(c for n, c in env.containers.items() if n not in before and c.view_of is None)
        env.values = saved
        env.windows.update(hidden)
        inner = {c.name for n in walk(tuple(body)) if isinstance(n, Scope) for c in n.locals}
        scope = Scope(
            tuple(params),
            tuple(body),
            tuple(c for c in made if c.name not in inner),
            source_of(entry),
            entry.map.schedule == dace.ScheduleType.Sequential,
            entry.map.schedule,
        )
        return [*prelude, scope]

    def hide_locals(self, entry: nd.MapEntry) -> dict[str, Window]:
        """Give transients that live in this scope alone a container of their own; returns the windows hidden."""
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
        window, subset = self.outer(edge)
        index = window.index(tuple(b for b, _, _ in self.env.range(subset).ranges))
        target = self.env.names.fresh(f"v_{window.container}")
        symbol = self.env.names.fresh(edge.dst_conn)
        self.env.values[edge.dst_conn] = sym(symbol)
        dtype = self.env.containers[window.container].dtype
        self.env.symbols[symbol] = dtype
        return [SymbolAssign(symbol, Value((Load(target, window.container, index),), code.name(target)), dtype)]

    # -- tasklets
    def tasklet(self, node: nd.Tasklet) -> list[Node]:
        if node.language != dace.Language.Python or node.side_effects:
            return [self.call(node, f"a tasklet in {node.language.name}")]
        try:
            return [self.python_tasklet(node)]
        except UnsupportedNode as reason:
            return [self.call(node, str(reason))]

    def python_tasklet(self, node: nd.Tasklet) -> Leaf:
        names, loads = self.env.names, []
        inputs: dict[str, Operand] = {}
        for edge in self.state.in_edges(node):
            if edge.dst_conn is None:
                continue
            if edge.src_conn is not None and isinstance(edge.src, nd.Tasklet):
                loads.append(Load(names.fresh(f"v_{edge.dst_conn}"), self.pipes[edge.src, edge.src_conn], SCALAR))
                inputs[edge.dst_conn] = ScalarOperand(loads[-1].name)
                continue
            window, subset = self.outer(edge)
            ranges = self.env.range(subset)
            if _is_pointer(node.in_connectors[edge.dst_conn]) or ranges.num_elements() != 1:
                inputs[edge.dst_conn] = ArrayOperand(window, ranges)
                continue
            index = window.index(tuple(b for b, _, _ in ranges.ranges))
            loads.append(Load(names.fresh(f"v_{window.container}"), window.container, index))
            inputs[edge.dst_conn] = ScalarOperand(loads[-1].name)
        outputs, extra = self.outputs(node)
        symbols = {old: to_ast(new) for old, new in self.env.values.items()}
        for symbol, container in self.env.float_symbols.items():
            loads.append(Load(names.fresh(f"v_{symbol}"), container, SCALAR))
            symbols[symbol] = code.name(loads[-1].name)
        body = node.code.code if isinstance(node.code.code, list) else ast.parse(node.code.as_string).body
        instrs, values = lift_code(body, inputs, outputs, symbols, names)
        used = {n for i in instrs for n in _mentioned(i)}
        stores = [
            Store(container, index, values[conn], mode) for conn, container, index, mode in extra if conn in values
        ]
        used |= {s.value for s in stores}
        return Leaf((), (*(x for x in loads if x.name in used), *instrs, *stores), source_of(node))

    def outputs(self, node: nd.Tasklet) -> tuple[dict[str, Output], list[tuple]]:
        outputs: dict[str, Output] = {}
        extra = []
        for edge in self.state.out_edges(node):
            if edge.src_conn is None:
                continue
            if isinstance(edge.dst, nd.Tasklet):
                if (node, edge.src_conn) not in self.pipes:
                    dtype = node.out_connectors[edge.src_conn]
                    pipe = self.env.declare(
                        f"{node.label}_{edge.src_conn}", dt.Scalar(dtype or dace.float64, transient=True)
                    )
                    self.pipes[node, edge.src_conn] = pipe.name
                    outputs.setdefault(edge.src_conn, Output(None))
                    extra.append((edge.src_conn, pipe.name, SCALAR, "set"))
                continue
            window, subset = self.outer(edge)
            operand, mode = ArrayOperand(window, self.env.range(subset)), mode_of(edge.data.wcr)
            if mode == "custom":
                raise UnsupportedNode(f"write-conflict resolution '{edge.data.wcr}'")
            if edge.src_conn in outputs and outputs[edge.src_conn].operand is not None:
                extra.append((edge.src_conn, operand.container, operand.first, mode))
            else:
                outputs[edge.src_conn] = Output(operand, mode)
        return outputs, extra

    # -- nodes with an inside
    def nested(self, node: nd.NestedSDFG) -> list[Node]:
        inner = self.env.inner()
        for old, value in node.symbol_mapping.items():
            inner.values[old] = self.env.expr(value)
        snapshot = dict(self.env.containers)
        try:
            for edge in [*self.state.in_edges(node), *self.state.out_edges(node)]:
                connector = edge.dst_conn if edge.dst is node else edge.src_conn
                if connector is not None and not edge.data.is_empty():
                    inner.windows[connector], _ = self.outer(edge)
            for name, desc in node.sdfg.arrays.items():
                if name not in inner.windows and not isinstance(desc, (dt.View, dt.Reference)):
                    inner.declare(name, desc)
            return list(self.lift_region(node.sdfg, node.sdfg, inner))
        except UnsupportedNode as reason:
            self.env.containers.clear()
            self.env.containers.update(snapshot)
            return [self.call(node, str(reason))]

    def library(self, node: nd.LibraryNode) -> list[Node]:
        if type(node).__name__ == "Reduce":
            (inp,), (out,) = self.state.in_edges(node), self.state.out_edges(node)
            a, src = self.outer(inp)
            b, dst = self.outer(out)
            if mode_of(node.wcr) == "custom" or out.data.wcr is not None:
                return [self.call(node, f"write-conflict resolution '{node.wcr}'")]
            axes = tuple(node.axes) if node.axes is not None else None
            dtype = self.env.containers[a.container].dtype
            return list(
                reduce_leaves(
                    a,
                    self.env.range(src),
                    b,
                    self.env.range(dst),
                    dtype,
                    axes,
                    node.wcr,
                    node.identity,
                    self.env.names,
                    source_of(node),
                )
            )
        if type(node).__name__ == "Einsum" and symbolic.equal_valued(0, node.beta):

            def operand(edge: Any) -> tuple:
                window, subset = self.outer(edge)
                return window, self.env.range(subset)

            inputs = {e.dst_conn: operand(e) for e in self.state.in_edges(node)}
            return [
                einsum_leaf(
                    node.einsum_str,
                    node.alpha,
                    inputs,
                    operand(self.state.out_edges(node)[0]),
                    self.env.names,
                    source_of(node),
                )
            ]
        if isinstance(node, Lowered) and not self.has_rule(node):
            return self.lowered(node)
        return [self.call(node, "")]

    def has_rule(self, node: nd.CodeNode) -> bool:
        """Whether a backward implementation is registered for a node, and applies."""
        rules = RULES.get(type(node).__name__, ())
        return any(rule.applies(self.call(node, ""), self.so_far()) is None for rule in rules)

    def so_far(self) -> Program:
        """What has been declared, as a program that does nothing yet."""
        return Program(self.sdfg.name, self.env.containers, self.env.symbols, {}, (), ())

    def lowered(self, node: Any) -> list[Node]:
        """A node that knows what program it is."""
        operands: dict[str, dt.Data] = {}
        bound: dict[str, str | Window] = {}
        for edge in [*self.state.in_edges(node), *self.state.out_edges(node)]:
            connector = _named(edge.dst_conn if edge.dst is node else edge.src_conn, node)
            window, subset = self.outer(edge)
            container = self.env.containers[window.container]
            own = self.env.range(subset)
            desc = _seen(container.desc, window, own)
            bound[connector] = bind(connector, desc, container, window.subset(own), self.env)
            if edge.dst is node:
                operands[connector] = desc
        program = node.lowered(operands)
        if program is None:
            return [self.call(node, node.declined)]
        before = self.keep_operands(bound, operands)
        block, brought = inline(program, bound, self.env.names)
        self.env.containers.update({c.name: c for c in brought.values()})
        self.env.symbols.update(program.symbols)
        return [*before, *block]

    def keep_operands(self, bound: dict[str, str | Window], operands: Mapping[str, dt.Data]) -> list[Node]:
        """Copies of operands that a node's program might write over before it has read all of them."""
        root = self.so_far().root
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

    def call(self, node: nd.CodeNode, reason: str) -> NodeCall:
        """A node kept as it is, with the regions it reads and writes."""
        inputs, outputs = {}, {}
        for edge in self.state.in_edges(node):
            if not edge.data.is_empty():
                inputs[_named(edge.dst_conn, node)] = self.region(edge)
        for edge in self.state.out_edges(node):
            if not edge.data.is_empty():
                outputs[_named(edge.src_conn, node)] = self.region(edge)
        return NodeCall(node, inputs, outputs, source_of(node), reason)

    def region(self, edge: Any) -> Region:
        """An operand of a call. A view stays a view: the node wants an array of that shape."""
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


def _seen(desc: dt.Data, window: Window, subset: subsets.Range) -> dt.Data:
    """A subset of a window, as an array of the window's rank."""
    if isinstance(desc, dt.Scalar):
        return desc
    along = zip(window.axes, subset.ranges, strict=True)
    strides = [desc.strides[a.axis] * a.step * step if a is not None else 1 for a, (_, _, step) in along]
    return dt.Array(desc.dtype, list(subset.size()), strides=strides)


def _named(connector: str | None, node: nd.CodeNode) -> str:
    if connector is None:
        raise UnsupportedNode(f"{type(node).__name__} '{node.label}' with an operand without a connector")
    return connector


def _mentioned(instr: Instr) -> set[str]:
    if isinstance(instr, Let):
        return code.names_in(instr.expr)
    names = {s.name for i in instr.index for s in i.free_symbols}
    if isinstance(instr, Store):
        names.add(instr.value)
    return names | ({instr.guard} if instr.guard else set())


def _is_pointer(dtype: object) -> bool:
    return isinstance(dtype, dace.dtypes.pointer)


def _both_subsets(
    memlet: dace.Memlet, src: nd.AccessNode, dst: nd.AccessNode, sdfg: dace.SDFG
) -> tuple[subsets.Range, subsets.Range]:
    """Source and destination subsets of a copy, the missing one filled in from the other's size."""
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
    """Where the other side of a copy starts when its memlet does not say: at the origin, with the same extents."""
    sizes = as_range(subset).size()
    if len(sizes) != len(desc.shape):
        wide = [n for n in sizes if n != 1]
        if len(wide) == len(desc.shape):
            sizes = wide
        else:
            return subsets.Range.from_array(desc)
    return subsets.Range([(0, n - 1, 1) for n in sizes])
