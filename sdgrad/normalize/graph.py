"""States, scopes and control flow of an SDFG as a program tree."""
from __future__ import annotations

import ast
import copy
from collections import Counter

import dace
import sympy
from dace import data as dt
from dace import nodes as nd
from dace import subsets, symbolic
from dace.sdfg import InvalidSDFGError, infer_types
from dace.sdfg import utils as sdutil
from dace.sdfg.state import (ConditionalBlock, ControlFlowBlock, ControlFlowRegion, LoopRegion, NamedRegion,
                             SDFGState)
from dace.transformation.interstate.loop_lifting import LoopLifting
from dace.transformation.passes.analysis import loop_analysis
from dace.transformation.passes.simplification.control_flow_raising import ControlFlowRaising

from sdgrad.errors import DifferentiationError, InvalidGraph, Problem, UnsupportedNode
from sdgrad.names import Names
from sdgrad.normalize.bindings import Env, Window, as_view, bind, param_symbols, resolve_symbols
from sdgrad.normalize.contractions import einsum_leaf
from sdgrad.normalize.copies import copy_leaf, mode_of, reduce_leaves
from sdgrad.normalize.tasklets import ArrayOperand, Operand, Output, ScalarOperand, lift_code
from sdgrad.program.tree import (Block, Branch, Container, Leaf, Let, Load, Loop, Node, NodeCall, Param, Program, Region,
                                 Scope, Source, Store, SymbolAssign, Value, While, walk)
from sdgrad.rules import RULES
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import as_range, sym, to_ast, to_expr

LIFTED = ("Reduce", "Einsum")     # library nodes read as leaves
FLOATS = {dace.float16, dace.float32, dace.float64, dace.complex64, dace.complex128}


def prepare(sdfg: dace.SDFG, own: bool = False) -> dace.SDFG:
    """A copy of an SDFG to read: library nodes without a rule expanded, connectors with their types.

    DaCe's ``simplify`` is left out: it turns floats into symbols, captures parameters of nested SDFGs and drops views that
    nested SDFGs need; what it is good for, fusion does. With ``own``, the graph itself may be changed.
    """
    try:
        sdfg.validate()
    except (InvalidSDFGError, ValueError) as error:
        raise InvalidGraph(f"the graph '{sdfg.name}' is not valid: {error}") from error
    work = sdfg if own else copy.deepcopy(sdfg)
    if any(is_unstructured(r) for r in work.all_control_flow_regions(recursive=True)):
        ControlFlowRaising().apply_pass(work, {})
        work.apply_transformations_repeated(LoopLifting, validate=False)
    expand_calls(work)
    infer_types.infer_connector_types(work)
    return work


def is_unstructured(region: object) -> bool:
    """Whether a region is anything but a chain of blocks."""
    return isinstance(region, ControlFlowRegion) and (
        any(region.out_degree(b) > 1 or region.in_degree(b) > 1 for b in region.nodes())
        or any(not e.data.is_unconditional() for e in region.edges()))


def expand_calls(sdfg: dace.SDFG) -> None:
    """Expand library nodes into maps until only those are left that are read as leaves or have a rule of their own."""
    while True:
        found = [(n, s) for s in sdfg.all_sdfgs_recursive() for st in s.states() for n in st.nodes() for s in [st]
                 if isinstance(n, nd.LibraryNode) and type(n).__name__ not in LIFTED and type(n).__name__ not in RULES]
        if not found:
            return
        for node, state in found:
            choices = [c for c in ("pure", "specialize", "MappedTasklet", "pure-seq") if c in node.implementations]
            node.implementation = choices[0] if choices else node.default_implementation
            node.expand(state)


def lift_sdfg(sdfg: dace.SDFG) -> Program:
    """The program tree of a prepared SDFG. Raises :class:`DifferentiationError` for what has no structure."""
    names = Names({*sdfg.arrays, *sdfg.symbols, *map(str, sdfg.free_symbols), *sdfg.constants_prop})
    env = Env(names, {}, dict(sdfg.symbols))
    for name, desc in sdfg.arrays.items():
        if not isinstance(desc, (dt.View, dt.Reference)):
            env.declare(name, desc, free_name=False)
    try:
        body = lift_region(sdfg, sdfg, env)
    except UnsupportedNode as error:
        raise DifferentiationError([Problem("program", str(error), where=str(_source(sdfg)))]) from error
    arguments = tuple(n for n, d in sdfg.arrays.items() if not d.transient)
    return Program(sdfg.name, env.containers, env.symbols, dict(sdfg.constants_prop), body, arguments,
                   dict(sdfg.callback_mapping))


def _source(element: object, label: str = "") -> Source:
    info = getattr(element, "debuginfo", None)
    label = label or getattr(element, "label", getattr(element, "name", ""))
    return Source(info.filename, info.start_line, label) if info is not None else Source(label=label)


# --- control flow ------------------------------------------------------------------------------------------------
def lift_region(region: ControlFlowRegion, sdfg: dace.SDFG, env: Env) -> Block:
    """A control-flow region as a sequence. Every block must have one successor, taken always."""
    out: list[Node] = []
    block: ControlFlowBlock | None = region.start_block if region.nodes() else None
    seen = set()
    while block is not None:
        if block in seen:
            raise UnsupportedNode(f"unstructured control flow at {_source(block)}")
        seen.add(block)
        out += lift_block(block, sdfg, env)
        edges = region.out_edges(block)
        if not edges:
            break
        if len(edges) > 1 or not edges[0].data.is_unconditional():
            raise UnsupportedNode(f"unstructured control flow at {_source(block)}")
        for symbol, value in edges[0].data.assignments.items():
            out += lift_assignment(symbol, value, sdfg, env)
        block = edges[0].dst
    if len(seen) != len(region.nodes()):
        raise UnsupportedNode(f"unstructured control flow in {_source(region)}")
    return tuple(out)


def lift_block(block: ControlFlowBlock, sdfg: dace.SDFG, env: Env) -> list[Node]:
    if isinstance(block, SDFGState):
        return StateLifting(block, sdfg, env).scope(None)
    if isinstance(block, LoopRegion):
        return lift_loop(block, sdfg, env)
    if isinstance(block, ConditionalBlock):
        return lift_branch(block, sdfg, env)
    if type(block) is ControlFlowRegion or isinstance(block, NamedRegion):
        return list(lift_region(block, sdfg, env))
    raise UnsupportedNode(f"{type(block).__name__} at {_source(block)}")


def lift_assignment(symbol: str, text: str, sdfg: dace.SDFG, env: Env) -> list[Node]:
    """``symbol := text`` on an interstate edge: integers stay symbols, floats become scalar containers."""
    dtype = env.symbols.get(symbol) or sdfg.symbols.get(symbol) or dace.int64
    value = lift_value(text, env)
    if dtype in FLOATS:
        if symbol not in env.float_symbols:
            env.float_symbols[symbol] = env.declare(f"{symbol}_value", dt.Scalar(dtype, transient=True)).name
        result = env.names.fresh("v")
        zero = (sympy.Integer(0),)
        body = (*value.loads, Let(result, value.expr), Store(env.float_symbols[symbol], zero, result))
        return [Leaf((), body, Source(label=symbol))]
    fresh = env.names.fresh(symbol) if symbol in env.values or symbol not in sdfg.free_symbols else symbol
    env.values[symbol] = sym(fresh)
    env.symbols[fresh] = dtype
    return [SymbolAssign(fresh, value, dtype)]


def lift_value(text: str | ast.expr, env: Env) -> Value:
    """An expression of an interstate edge or a condition: container elements become loads."""
    tree = code.parse(text) if isinstance(text, str) else text
    loads: list[Load] = []

    def element(name: str, index: tuple) -> ast.expr:
        target = env.names.fresh(f"v_{name}")
        window = env.windows[name]
        loads.append(Load(target, window.container, window.index(index)))
        return code.name(target)

    class Elements(ast.NodeTransformer):
        def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            index = tuple(to_expr(ast.unparse(self.visit(p))) for p in parts)
            return element(ast.unparse(node.value), tuple(env.expr(i) for i in index))

        def visit_Name(self, node: ast.Name) -> ast.expr:
            if node.id in env.float_symbols:
                target = env.names.fresh(f"v_{node.id}")
                loads.append(Load(target, env.float_symbols[node.id], (sympy.Integer(0),)))
                return code.name(target)
            if node.id in env.windows:
                return element(node.id, (sympy.Integer(0),))
            return to_ast(env.values[node.id]) if node.id in env.values else node

        def visit_Call(self, node: ast.Call) -> ast.expr:
            node.args = [self.visit(a) for a in node.args]
            return node

    result = Elements().visit(copy.deepcopy(tree))
    return Value(tuple(loads), result)


def lift_branch(block: ConditionalBlock, sdfg: dace.SDFG, env: Env) -> list[Node]:
    arms = []
    before = dict(env.values)
    for condition, region in block.branches:
        value = lift_value(condition.as_string, env) if condition is not None else None
        env.values = dict(before)
        arms.append((value, lift_region(region, sdfg, env)))
    changed = {s for _, body in arms for n in walk(body) if isinstance(n, SymbolAssign) for s in [n.symbol]}
    env.values = before
    if changed & _symbols_after(block, sdfg):
        raise UnsupportedNode(f"a symbol assigned in a branch is used after it, at {_source(block)}")
    return [Branch(tuple(arms), _source(block))]


def _symbols_after(block: ConditionalBlock, sdfg: dace.SDFG) -> set[str]:
    """Symbols read anywhere outside a conditional block."""
    outside: set[str] = set()
    for other in block.parent_graph.nodes():
        if other is not block:
            outside |= {str(s) for s in other.free_symbols}
    for edge in block.parent_graph.edges():
        outside |= {str(s) for s in edge.data.free_symbols}
    return outside


def lift_loop(loop: LoopRegion, sdfg: dace.SDFG, env: Env) -> list[Node]:
    source = _source(loop)
    if not loop.loop_variable or loop.init_statement is None:
        return [While(lift_value(loop.loop_condition.as_string, env), lift_region(loop, sdfg, env), source)]
    start, stop = loop_analysis.get_init_assignment(loop), loop_analysis.get_loop_end(loop)
    step = loop_analysis.get_loop_stride(loop)
    if start is None or stop is None or step is None:
        raise UnsupportedNode(f"a loop whose bounds cannot be read, at {source}")
    bounds = [lift_value(symbolic.symstr(x), env) for x in (start, stop, step)]
    fresh = env.names.fresh(loop.loop_variable)
    saved = env.values.get(loop.loop_variable)
    env.values[loop.loop_variable], env.symbols[fresh] = sym(fresh), dace.int64
    body = lift_region(loop, sdfg, env)
    if saved is not None:
        env.values[loop.loop_variable] = saved
    return [Loop(fresh, *bounds, body, source)]


# --- states ------------------------------------------------------------------------------------------------------
class StateLifting:
    """One state being read; ``windows`` tells what each access node sees."""

    def __init__(self, state: SDFGState, sdfg: dace.SDFG, env: Env) -> None:
        self.state, self.sdfg, self.env = state, sdfg, env
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
                raise UnsupportedNode(f"{type(node).__name__} at {_source(node)}")
        return out

    # -- data
    def window(self, node: nd.AccessNode) -> Window:
        """What an access node sees: a container, or a window through its view edge."""
        if node not in self.windows:
            desc = node.desc(self.sdfg)
            if isinstance(desc, dt.View):
                self.windows[node] = self.view(node, desc)
            elif isinstance(desc, (dt.Stream, dt.Reference, dt.Structure)) or node.data not in self.env.windows:
                raise UnsupportedNode(f"{type(desc).__name__} {node.data}, at {_source(node)}")
            else:
                self.windows[node] = self.env.windows[node.data]
        return self.windows[node]

    def view(self, node: nd.AccessNode, desc: dt.View) -> Window:
        edge = sdutil.get_view_edge(self.state, node)
        if edge is None:
            if node.data in self.env.windows:
                return self.env.windows[node.data]
            raise UnsupportedNode(f"view {node.data} of nothing, at {_source(node)}")
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

    def is_view_edge(self, edge: object) -> bool:
        return any(isinstance(n, nd.AccessNode) and isinstance(n.desc(self.sdfg), dt.View)
                   and sdutil.get_view_edge(self.state, n) is edge for n in (edge.src, edge.dst))

    def outer(self, edge: object) -> tuple[Window, subsets.Range | None]:
        """The window a memlet path ends in on the data side, and the memlet's subset of it."""
        path = self.state.memlet_path(edge)
        src, dst = path[0].src, path[-1].dst
        data = edge.data.data
        node = next((n for n in (src, dst) if isinstance(n, nd.AccessNode) and n.data == data), None)
        if node is None:
            raise UnsupportedNode(f"a memlet names {data}, which is at neither end, at {_source(src)}")
        return self.window(node), edge.data.subset

    # -- copies
    def copies_from(self, node: nd.AccessNode) -> list[Node]:
        out: list[Node] = []
        for edge in self.state.out_edges(node):
            if isinstance(edge.dst, nd.AccessNode) and not edge.data.is_empty() and not self.is_view_edge(edge):
                out.append(self.copy(edge, node, edge.dst))
        for edge in self.state.in_edges(node):
            # a copy that enters the scope of this node from outside
            if edge.data.is_empty() or not isinstance(edge.src, nd.EntryNode) or self.is_view_edge(edge):
                continue
            source = self.state.memlet_path(edge)[0].src
            if isinstance(source, nd.AccessNode):
                out.insert(0, self.copy(edge, source, node))
        for edge in self.state.out_edges(node):
            # a copy that leaves the scope through its exit
            if not edge.data.is_empty() and isinstance(edge.dst, nd.ExitNode):
                target = self.state.memlet_path(edge)[-1].dst
                out.append(self.copy(edge, node, target))
        return out

    def copy(self, edge: object, src: nd.AccessNode, dst: nd.AccessNode) -> Node:
        memlet = edge.data
        src_subset, dst_subset = _both_subsets(memlet, src, dst, self.sdfg)
        a, b = self.window(src), self.window(dst)
        return copy_leaf(self.env.containers[a.container], a.subset(self.env.range(src_subset)),
                         self.env.containers[b.container], b.subset(self.env.range(dst_subset)),
                         memlet.wcr, self.env.names, _source(src))

    # -- maps
    def map_scope(self, entry: nd.MapEntry) -> list[Node]:
        env, saved = self.env, dict(self.env.values)
        prelude: list[Node] = []
        for edge in self.state.in_edges(entry):
            if edge.dst_conn and not edge.dst_conn.startswith("IN_"):
                prelude += self.dynamic_bound(edge)
        renamed, fresh = param_symbols(entry.map.params, env)
        params = []
        for old, new, (b, e, s) in zip(entry.map.params, fresh, entry.map.range.ranges):
            params.append(Param(new, env.expr(b), env.expr(e), env.expr(s)))
            env.values[old] = renamed[old]
        before = set(env.containers)
        hidden = self.hide_locals(entry)
        body = self.scope(entry)
        made = tuple(c for n, c in env.containers.items() if n not in before and c.view_of is None)
        env.values = saved
        env.windows.update(hidden)
        inner = {c.name for n in walk(tuple(body)) if isinstance(n, Scope) for c in n.locals}
        scope = Scope(tuple(params), tuple(body), tuple(c for c in made if c.name not in inner), _source(entry),
                      entry.map.schedule == dace.ScheduleType.Sequential, entry.map.schedule)
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

    def dynamic_bound(self, edge: object) -> list[Node]:
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
                loads.append(Load(names.fresh(f"v_{edge.dst_conn}"), self.pipes[edge.src, edge.src_conn], (sympy.Integer(0),)))
                inputs[edge.dst_conn] = ScalarOperand(loads[-1].name)
                continue
            window, subset = self.outer(edge)
            ranges = self.env.range(subset)
            if _is_pointer(node.in_connectors[edge.dst_conn]) or ranges.num_elements() != 1:
                inputs[edge.dst_conn] = _array_operand(window, ranges)
                continue
            index = window.index(tuple(b for b, _, _ in ranges.ranges))
            loads.append(Load(names.fresh(f"v_{window.container}"), window.container, index))
            inputs[edge.dst_conn] = ScalarOperand(loads[-1].name)
        outputs, extra = self.outputs(node)
        symbols = {old: to_ast(new) for old, new in self.env.values.items()}
        for symbol, container in self.env.float_symbols.items():
            loads.append(Load(names.fresh(f"v_{symbol}"), container, (sympy.Integer(0),)))
            symbols[symbol] = code.name(loads[-1].name)
        body = node.code.code if isinstance(node.code.code, list) else ast.parse(node.code.as_string).body
        instrs, values = lift_code(body, inputs, outputs, symbols, names)
        used = {n for i in instrs for n in _mentioned(i)}
        stores = [Store(container, index, values[conn], mode) for conn, container, index, mode in extra if conn in values]
        used |= {s.value for s in stores}
        return Leaf((), (*(l for l in loads if l.name in used), *instrs, *stores), _source(node))

    def outputs(self, node: nd.Tasklet) -> tuple[dict[str, Output], list[tuple]]:
        outputs: dict[str, Output] = {}
        extra = []
        for edge in self.state.out_edges(node):
            if edge.src_conn is None:
                continue
            if isinstance(edge.dst, nd.Tasklet):
                if (node, edge.src_conn) not in self.pipes:
                    dtype = node.out_connectors[edge.src_conn]
                    pipe = self.env.declare(f"{node.label}_{edge.src_conn}", dt.Scalar(dtype or dace.float64, transient=True))
                    self.pipes[node, edge.src_conn] = pipe.name
                    outputs.setdefault(edge.src_conn, Output(None))
                    extra.append((edge.src_conn, pipe.name, (sympy.Integer(0),), "set"))
                continue
            window, subset = self.outer(edge)
            operand, mode = _array_operand(window, self.env.range(subset)), mode_of(edge.data.wcr)
            if mode == "custom":
                raise UnsupportedNode(f"write-conflict resolution '{edge.data.wcr}'")
            if edge.src_conn in outputs and outputs[edge.src_conn].operand is not None:
                extra.append((edge.src_conn, operand.container, tuple(b for b, _, _ in operand.subset.ranges), mode))
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
            return list(lift_region(node.sdfg, node.sdfg, inner))
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
            return list(reduce_leaves(a, self.env.range(src), b, self.env.range(dst), dtype, axes, node.wcr, node.identity,
                                      self.env.names, _source(node)))
        if type(node).__name__ == "Einsum" and symbolic.equal_valued(0, node.beta):
            def operand(edge: object) -> tuple:
                window, subset = self.outer(edge)
                return window, self.env.range(subset)

            inputs = {e.dst_conn: operand(e) for e in self.state.in_edges(node)}
            return [einsum_leaf(node.einsum_str, node.alpha, inputs, operand(self.state.out_edges(node)[0]), self.env.names,
                                _source(node))]
        return [self.call(node, "")]

    def call(self, node: nd.CodeNode, reason: str) -> NodeCall:
        """A node kept as it is, with the regions it reads and writes."""
        inputs, outputs = {}, {}
        for edge in self.state.in_edges(node):
            if not edge.data.is_empty():
                inputs[edge.dst_conn] = self.region(edge)
        for edge in self.state.out_edges(node):
            if not edge.data.is_empty():
                outputs[edge.src_conn] = self.region(edge)
        return NodeCall(node, inputs, outputs, _source(node), reason)

    def region(self, edge: object) -> Region:
        """An operand of a call. A view stays a view: the node wants an array of that shape."""
        window, subset = self.outer(edge)
        path = self.state.memlet_path(edge)
        node = path[0].src if isinstance(path[0].src, nd.AccessNode) else path[-1].dst
        if isinstance(node.desc(self.sdfg), dt.View) and not window.whole:
            window = as_view(node.data, resolve_symbols(node.desc(self.sdfg), self.env),
                             self.env.containers[window.container], self.viewed_subset(node), self.env)
        return Region(window.container, window.subset(self.env.range(subset)), edge.data.wcr)


def _mentioned(instr: object) -> set[str]:
    if isinstance(instr, Let):
        return code.names_in(instr.expr)
    names = {s.name for i in instr.index for s in i.free_symbols}
    if isinstance(instr, Store):
        names.add(instr.value)
    return names | ({instr.guard} if instr.guard else set())


def _is_pointer(dtype: object) -> bool:
    return isinstance(dtype, dace.dtypes.pointer)


def _array_operand(window: Window, ranges: subsets.Range) -> ArrayOperand:
    return ArrayOperand(window.container, window.subset(ranges))


def _both_subsets(memlet: dace.Memlet, src: nd.AccessNode, dst: nd.AccessNode,
                  sdfg: dace.SDFG) -> tuple[subsets.Range, subsets.Range]:
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
