"""Write a program tree as an SDFG: one state a node, exact memlets at tasklets, whole arrays outside of maps.

A leaf becomes a tasklet, inside a map if it has parameters (:mod:`sdgrad.program.leaf_tasklet`). A scope becomes a map
around a nested SDFG. Loops and branches become DaCe's control flow regions::

    loop i = 1 .. n - 1 step 1:          LoopRegion i = 1; i <= n - 1; i = i + 1
      do:                                  state
        v = x[i]                             x[i] -> tasklet "out0 = sin(v)" -> y[i]
        v_0 = sin(v)
        y[i] = v_0
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import dace
from dace import data as dt
from dace import nodes as nd
from dace import subsets
from dace.properties import CodeBlock
from dace.sdfg.state import ConditionalBlock, ControlFlowRegion, LoopRegion, SDFGState

from sdgrad.program.allocation import allocate_outside
from sdgrad.program.dataflow import Dataflow, close, identifier, schedule_of
from sdgrad.program.descriptors import lasting
from sdgrad.program.distinct import distinct_names
from sdgrad.program.function_tasklet import write_call
from sdgrad.program.implementations import choose_implementation
from sdgrad.program.integer_powers import has_powers, with_integer_powers
from sdgrad.program.leaf_tasklet import LeafWriter
from sdgrad.program.outlining import Outliner
from sdgrad.program.prelude import host_prelude, prelude
from sdgrad.program.symbols import defined_symbols
from sdgrad.program.tree import (
    Block,
    Branch,
    Leaf,
    Load,
    Loop,
    Node,
    NodeCall,
    Program,
    Scope,
    Store,
    SymbolAssign,
    Value,
    local_names,
    reads,
    walk,
    writes,
)
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import to_ast


def emit(program: Program, outlines: bool = False) -> dace.SDFG:
    """Return the SDFG of a program, with the headers and declarations that its functions need.

    :param outlines: nodes that DaCe need not look into become functions, if no GPU runs them.
    """
    program = allocate_outside(distinct_names(program))
    sdfg = dace.SDFG(program.name)
    for name, (desc, value) in program.constants.items():
        sdfg.add_constant(name, value, desc)
    sdfg.callback_mapping.update(program.callback_mapping)
    names = _with_bases(set(program.arguments).union(*(_touched(n) for n in program.body)), program)
    _declare_containers(sdfg, names, program)
    device = any(d.storage == dace.StorageType.GPU_Global for d in sdfg.arrays.values())
    outliner = Outliner(program) if outlines and not device else None
    emitter = Emitter(program, sdfg, defined=defined_symbols(program.body), outliner=outliner)
    emitter.block(program.body, sdfg)
    dtypes = {program.containers[n].dtype for n in names}
    if needed := prelude(program.body, dtypes, device):
        sdfg.append_global_code(needed, "cuda" if device else "frame")
    for text in outliner.functions if outliner is not None else ():
        sdfg.append_global_code(text, "frame")
    if device and (needed := host_prelude(program.body, dtypes)):
        sdfg.append_global_code(needed, "frame")
    declare_symbols(sdfg, program)
    if has_powers(program):
        with_integer_powers(sdfg)
    return sdfg


def _declare_containers(sdfg: dace.SDFG, names: list[str], program: Program) -> None:
    """Declare containers that no scope has to itself, and first the symbols of all shapes."""
    for symbol in sorted({s for n in names for s in program.containers[n].symbols}):
        sdfg.add_symbol(symbol, program.symbols.get(symbol, dace.int64))
    local = {c for node in walk(program.body) for c in local_names(node)}
    for name in names:
        if name not in local:
            sdfg.add_datadesc(name, copy.copy(program.containers[name].desc))


def _touched(node: Node) -> set[str]:
    return reads(node) | writes(node)


def _with_bases(names: Iterable[str], program: Program) -> list[str]:
    """Return the names and every container they are views of, in order of declaration."""
    found = set(names)
    for name in list(found):
        while (base := program.containers[name].view_of) is not None:
            found.add(base)
            name = base
    # DaCe wants returned values in the order of their numbers
    return sorted((n for n in program.containers if n in found), key=lambda n: int(n[9:]) if _is_numbered(n) else -1)


def _is_numbered(name: str) -> bool:
    return name.startswith("__return_") and name[9:].isdigit()


def declare_symbols(sdfg: dace.SDFG, program: Program) -> None:
    """Give every free or assigned symbol of the SDFG its type."""
    assigned = {s for e in sdfg.all_interstate_edges() for s in e.data.assignments}
    for name in sorted({str(s) for s in sdfg.free_symbols} | assigned | _shape_symbols(sdfg)):
        if name not in sdfg.symbols and name not in sdfg.arrays and name not in sdfg.constants_prop:
            sdfg.add_symbol(name, program.symbols.get(name, dace.int64))


def _shape_symbols(sdfg: dace.SDFG) -> set[str]:
    return {str(s) for d in sdfg.arrays.values() for s in d.free_symbols}


@dataclass
class Emitter(Dataflow):
    """Write blocks of one program into the control flow regions of one SDFG.

    :param outliner: writes nodes as functions; None: each becomes states.
    :param shared: several threads may run what is written.
    """

    outliner: Outliner | None = None
    shared: bool = False
    last: dict[int, object] = field(default_factory=dict)  # the last element of each region, by the region's id

    # -- control flow
    def block(self, block: Block, region: ControlFlowRegion) -> None:
        """Append a block to a region; an empty block becomes an empty state."""
        if not block:
            self.state(region, "empty")
        if self.outliner is None:
            for node in block:
                self.node(node, region)
            return
        for is_outlined, run in self.outliner.runs(block, region is self.sdfg and not self.nested):
            if is_outlined:
                self.outlined(run, self.state(region, run[0].source.label))
                continue
            for node in run:
                self.node(node, region)

    def outlined(self, nodes: Block, state: SDFGState, *around: nd.MapEntry | nd.MapExit) -> None:
        """Write nodes as a function, and its call into a state."""
        assert self.outliner is not None
        self.locate(nodes[0])
        made = self.outliner.outlined(nodes, inline=bool(around), asks=not (around or self.shared))
        write_call(self, state, made, identifier(nodes[0].source.label) or "part", *around)

    def locate(self, node: Node) -> None:
        """Tell DaCe where the node that is written comes from."""
        line = node.source.line or 0
        self.info = dace.dtypes.DebugInfo(line, 0, line, 0, node.source.file)

    def append(self, element: object, region: ControlFlowRegion, assignments: dict[str, str] | None = None) -> None:
        """Append a state or region, with assignments of symbols on the edge that leads to it."""
        previous = self.last.get(id(region))
        if previous is None:
            if assignments:
                self.state(region, "start")
                return self.append(element, region, assignments)
            region.add_node(element, is_start_block=True, ensure_unique_name=True)
        else:
            region.add_node(element, ensure_unique_name=True)
            region.add_edge(previous, element, dace.InterstateEdge(assignments=assignments))
        self.last[id(region)] = element

    def state(self, region: ControlFlowRegion, label: str, assignments: dict[str, str] | None = None) -> SDFGState:
        """Append an empty state."""
        state = SDFGState(identifier(label) or "state", self.sdfg)
        self.append(state, region, assignments)
        return state

    def node(self, node: Node, region: ControlFlowRegion) -> None:
        """Append a node of the tree: a control flow region, or a state with its dataflow."""
        if isinstance(node, SymbolAssign):
            self.state(region, f"set_{node.symbol}", {node.symbol: self.text(node.value)})
        elif isinstance(node, Branch):
            self.branch(node, region)
        elif isinstance(node, Loop):
            self.loop(node, region)
        else:
            state = self.state(region, node.source.label)
            self.locate(node)
            self.dataflow(node, state)

    def dataflow(self, node: Leaf | Scope | NodeCall, state: SDFGState) -> None:
        """Write a node without control flow into its state."""
        if isinstance(node, Leaf) and self.is_transfer(node):
            self.transfer(node, state)
        elif isinstance(node, Leaf):
            LeafWriter(self, state, node).write()
        elif isinstance(node, Scope):
            self.scope(node, state)
        else:
            self.call(node, state)

    def branch(self, node: Branch, region: ControlFlowRegion) -> None:
        """Append a branch as a conditional block with a region for each arm."""
        block = ConditionalBlock("branch", self.sdfg)
        self.append(block, region)
        for k, (condition, body) in enumerate(node.arms):
            arm = ControlFlowRegion(f"{block.label}_arm{k}", self.sdfg)
            text = self.text(condition) if condition is not None else None
            block.add_branch(CodeBlock(text) if text is not None else None, arm)
            self.block(body, arm)

    def loop(self, node: Loop, region: ControlFlowRegion) -> None:
        """Append a loop: a ``for`` region if DaCe can read its bounds, else a ``while`` region."""
        start, step = self.text(node.start), self.text(node.step)
        following = f"{node.symbol} + ({step})"
        tests = [f"({self.bound(node.symbol, self.text(node.stop), step)})"] if node.stop is not None else []
        if node.also is None and step.lstrip("-").isdigit():
            loop = LoopRegion(
                f"loop_{node.symbol}",
                " and ".join(tests),
                node.symbol,
                f"{node.symbol} = {start}",
                f"{node.symbol} = {following}",
                sdfg=self.sdfg,
            )
            self.append(loop, region)
            self.block(node.body, loop)
            return
        # DaCe wants a loop with a variable to end where the variable does, and to know the way it goes
        self.state(region, f"start_{node.symbol}", {node.symbol: start})
        tests += [f"({self.text(node.also)})"] if node.also is not None else []
        loop = LoopRegion(f"while_{node.symbol}", " and ".join(tests), sdfg=self.sdfg)
        self.append(loop, region)
        self.block(node.body, loop)
        self.state(loop, f"next_{node.symbol}", {node.symbol: following})

    def bound(self, symbol: str, stop: str, step: str) -> str:
        """Return the condition under which a loop goes on; it depends on the sign of the step."""
        try:
            return f"{symbol} {'<=' if int(step) > 0 else '>='} {stop}"
        except ValueError:
            return f"(({step}) > 0 and {symbol} <= {stop}) or (({step}) < 0 and {symbol} >= {stop})"

    def text(self, value: Value) -> str:
        """Return a value as code of an interstate edge."""
        return print_value(value, self.program, self.spelled)

    # -- transfers between memories
    def is_transfer(self, leaf: Leaf) -> bool:
        """True if a leaf copies from the host to a GPU, or back; kernels read numbers of the host as they are."""
        if self.nested or [type(i) for i in leaf.body] != [Load, Store]:
            return False
        names = leaf.loads[0].container, leaf.stores[0].container
        if isinstance(self.program.containers[names[0]].desc, dace.data.Scalar):
            return False
        stored = (self.sdfg.arrays.get(n) for n in names)
        kinds = {d.storage == dace.StorageType.GPU_Global for d in stored if d is not None}
        return len(kinds) == 2

    def transfer(self, leaf: Leaf, state: SDFGState) -> None:
        """Write a copy between memories as an edge between two access nodes."""
        ranges = {p.name: (p.start, p.stop, p.step) for p in leaf.params}
        load, store = leaf.loads[0], leaf.stores[0]

        def subset(index: tuple) -> subsets.Range:
            return subsets.Range([ranges.get(str(i), (i, i, 1)) for i in index])

        source, target = (self.access(state, n, w, {}) for n, w in ((load.container, False), (store.container, True)))
        memlet = dace.Memlet(
            data=source.data, subset=subset(load.index), other_subset=subset(store.index), debuginfo=self.info
        )
        state.add_nedge(source, target, memlet)

    # -- scopes and calls
    def scope(self, node: Scope, state: SDFGState) -> None:
        """Write a scope as a nested SDFG, which sees the containers whole and under their own names."""
        inside = replace(node, params=())
        if self.outliner is not None and node.params and self.outliner.is_outlined(inside):
            around = self.enter(state, node.params, schedule_of(node), node.source.label)
            self.outlined((inside,), state, *around)
            return
        inner = self.nested_sdfg(node)
        ins, outs = (sorted({self.program.root(n) for n in names}) for names in (reads(node), writes(node)))
        mapping = {s: s for s in sorted(map(str, inner.sdfg.free_symbols)) if s not in inner.sdfg.constants_prop}
        connectors = ({inner.spelled(n): None for n in names} for names in (ins, outs))
        nested = nd.NestedSDFG(inner.sdfg.label, inner.sdfg, *connectors, symbol_mapping=mapping, debuginfo=self.info)
        _place(nested, state)
        entry = exit_ = None
        if node.params:
            entry, exit_ = self.enter(state, node.params, schedule_of(node), node.source.label)
        cache: dict[tuple[str, bool], nd.AccessNode] = {}
        for name in ins:
            self.connect_in(state, cache, name, entry, nested, inner.spelled(name), self.whole(name))
        for name in outs:
            self.connect_out(state, cache, name, exit_, nested, inner.spelled(name), self.whole(name))
        if entry is not None:
            close(state, entry, exit_, nested, bool(ins), bool(outs))

    def nested_sdfg(self, node: Scope) -> Emitter:
        """Return the emitter of a new SDFG that holds the body of a scope."""
        sdfg = dace.SDFG(identifier(node.source.label) or "body")
        inner = Emitter(
            self.program,
            sdfg,
            nested=True,
            defined=defined_symbols(node.body),
            outliner=self.outliner,
            shared=self.shared or (bool(node.params) and schedule_of(node) != dace.ScheduleType.Sequential),
        )
        self.declare_for_scope(node, inner)
        inner.block(node.body, sdfg)
        if self.program.constants:
            free = sdfg.free_symbols
            for name, (desc, value) in self.program.constants.items():
                if name in free:
                    sdfg.add_constant(name, value, desc)
        declare_symbols(sdfg, self.program)
        return inner

    def declare_for_scope(self, node: Scope, inner: Emitter) -> None:
        """Declare in the SDFG of a scope what its body touches, then the scope's own containers."""
        local = local_names(node)
        for name in _with_bases(_touched(node) | _inner_views(node, self.program), self.program):
            if name not in local:
                desc = self.program.containers[name].desc
                inner.sdfg.add_datadesc(inner.spelled(name), lasting(desc, isinstance(desc, dt.View)))
        for container in node.locals:
            spelled = inner.spelled(container.name)
            if spelled not in inner.sdfg.arrays:
                inner.sdfg.add_datadesc(spelled, copy.copy(container.desc))

    def call(self, node: NodeCall, state: SDFGState) -> None:
        """Write a node call as a copy of its node, with an edge for each operand."""
        copied = copy.deepcopy(node.node)
        choose_implementation(copied)
        state.add_node(copied)
        cache: dict[tuple[str, bool], nd.AccessNode] = {}
        for connector, region in node.inputs.items():
            self.connect_in(state, cache, region.container, None, copied, connector, self.operand(region))
        for connector, region in node.outputs.items():
            self.connect_out(state, cache, region.container, None, copied, connector, self.operand(region))


def _place(nested: nd.NestedSDFG, state: SDFGState) -> None:
    """Add a nested SDFG whose symbols are declared to a state; DaCe would look through all arrays around for types."""
    sdfg = nested.sdfg
    sdfg.parent, sdfg.parent_sdfg, sdfg.parent_nsdfg_node = state, state.sdfg, nested
    sdfg.update_cfg_list([])
    state.add_node(nested)


def _inner_views(node: Node, program: Program) -> set[str]:
    """Return the views that nodes inside a node touch, those of inner scopes excepted."""
    return {
        n
        for inner in walk((node,))
        for n in _touched(inner)
        if not isinstance(inner, Scope) and program.containers[n].view_of is not None
    }


def print_value(value: Value, program: Program, spelled: Callable[[str], str]) -> str:
    """Return a value as code of DaCe's interstate edges, with subscripts in place of its loads."""
    env: dict[str, ast.expr] = {}
    for load in value.loads:
        if isinstance(program.containers[load.container].desc, dt.Scalar):
            env[load.name] = code.name(spelled(load.container))
            continue
        index = [code.rename(to_ast(i), env) for i in load.index]
        subscript = index[0] if len(index) == 1 else ast.Tuple(elts=index, ctx=ast.Load())
        env[load.name] = ast.Subscript(value=code.name(spelled(load.container)), slice=subscript, ctx=ast.Load())
    return ast.unparse(code.rename(value.expr, env))
