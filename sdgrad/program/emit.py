"""A program tree as an SDFG: one state a node, exact memlets at the tasklets, whole arrays outside of maps."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import dace
from dace import data as dt
from dace import nodes as nd
from dace import subsets
from dace.properties import CodeBlock
from dace.sdfg.state import ConditionalBlock, ControlFlowRegion, LoopRegion, SDFGState

from sdgrad.program.distinct import distinct_names
from sdgrad.program.naming import APART, STREAMED
from sdgrad.program.prelude import CHUNK, is_vectorized, prelude
from sdgrad.program.tree import (
    Block,
    Branch,
    Leaf,
    Let,
    Load,
    Loop,
    Node,
    NodeCall,
    Param,
    Program,
    Region,
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
from sdgrad.symbolic.expr import free_names, to_ast

WCR = {
    "sum": "lambda x, y: x + y",
    "prod": "lambda x, y: x * y",
    "max": "lambda x, y: max(x, y)",
    "min": "lambda x, y: min(x, y)",
    "and": "lambda x, y: x and y",
    "or": "lambda x, y: x or y",
    "bitand": "lambda x, y: x & y",
    "bitor": "lambda x, y: x | y",
    "bitxor": "lambda x, y: x ^ y",
    "xor": "lambda x, y: x != y",
}


THREADS = 128  # of a block of a GPU, along the innermost parameter: neighbours read what lies side by side


def emit(program: Program) -> dace.SDFG:
    """The SDFG of a program."""
    program = distinct_names(program)
    sdfg = dace.SDFG(program.name)
    for name, (desc, value) in program.constants.items():
        sdfg.add_constant(name, value, desc)
    sdfg.callback_mapping.update(program.callback_mapping)
    local = {c for node in walk(program.body) for c in local_names(node)}
    used = (
        set(program.arguments).union(*(_touched(n) for n in program.body)) if program.body else set(program.arguments)
    )
    names = _with_bases(used, program)
    for symbol in sorted({str(s) for n in names for s in program.containers[n].desc.free_symbols}):
        sdfg.add_symbol(symbol, program.symbols.get(symbol, dace.int64))
    for name in names:
        if name not in local:
            sdfg.add_datadesc(name, copy.deepcopy(program.containers[name].desc))
    emitter = Emitter(program, sdfg)
    emitter.block(program.body, sdfg)
    device = any(d.storage == dace.StorageType.GPU_Global for d in sdfg.arrays.values())
    if needed := prelude(program.body, {program.containers[n].dtype for n in names}, device):
        sdfg.append_global_code(needed, "cuda" if device else "frame")
    declare_symbols(sdfg, program)
    return sdfg


def _touched(node: Node) -> set[str]:
    return reads(node) | writes(node)


def _with_bases(names: Iterable[str], program: Program) -> list[str]:
    """The names, and every container they are views of, in order of declaration."""
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
class Emitter:
    """Writes blocks of one program into the regions of one SDFG."""

    program: Program
    sdfg: dace.SDFG
    last: dict[int, object] = field(default_factory=dict)
    nested: bool = False
    info: dace.dtypes.DebugInfo = field(default_factory=lambda: dace.dtypes.DebugInfo(0))  # of the node being written

    def spelled(self, name: str) -> str:
        """A container's name in this SDFG: DaCe reserves ``__return`` for the outermost one."""
        return name.replace("__return", "returned") if self.nested else name

    # -- control flow
    def block(self, block: Block, region: ControlFlowRegion) -> None:
        if not block:
            self.state(region, "empty")
        for node in block:
            self.node(node, region)

    def append(self, element: object, region: ControlFlowRegion, assignments: dict[str, str] | None = None) -> None:
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
        state = SDFGState(_identifier(label) or "state", self.sdfg)
        self.append(state, region, assignments)
        return state

    def node(self, node: Node, region: ControlFlowRegion) -> None:
        if isinstance(node, SymbolAssign):
            self.state(region, f"set_{node.symbol}", {node.symbol: self.text(node.value)})
        elif isinstance(node, Branch):
            self.branch(node, region)
        elif isinstance(node, Loop):
            self.loop(node, region)
        else:
            state = self.state(region, node.source.label)
            line = node.source.line or 0
            self.info = dace.dtypes.DebugInfo(line, 0, line, 0, node.source.file)
            if isinstance(node, Leaf) and self.is_transfer(node):
                self.transfer(node, state)
            elif isinstance(node, Leaf):
                LeafWriter(self, state, node).write()
            elif isinstance(node, Scope):
                self.scope(node, state)
            else:
                self.call(node, state)

    def is_transfer(self, leaf: Leaf) -> bool:
        """Whether a leaf moves something from one memory to another: from the host to a GPU, or back."""
        if self.nested or [type(i) for i in leaf.body] != [Load, Store]:
            return False
        names = leaf.loads[0].container, leaf.stores[0].container
        stored = (self.sdfg.arrays.get(n) for n in names)
        kinds = {d.storage == dace.StorageType.GPU_Global for d in stored if d is not None}
        return len(kinds) == 2

    def transfer(self, leaf: Leaf, state: SDFGState) -> None:
        """A copy between memories."""
        ranges = {p.name: (p.start, p.stop, p.step) for p in leaf.params}
        load, store = leaf.loads[0], leaf.stores[0]

        def subset(index: tuple) -> subsets.Range:
            return subsets.Range([ranges.get(str(i), (i, i, 1)) for i in index])

        source = state.add_access(self.spelled(load.container), debuginfo=self.info)
        target = state.add_access(self.spelled(store.container), debuginfo=self.info)
        memlet = dace.Memlet(
            data=source.data, subset=subset(load.index), other_subset=subset(store.index), debuginfo=self.info
        )
        state.add_nedge(source, target, memlet)

    def branch(self, node: Branch, region: ControlFlowRegion) -> None:
        block = ConditionalBlock("branch", self.sdfg)
        self.append(block, region)
        for k, (condition, body) in enumerate(node.arms):
            arm = ControlFlowRegion(f"{block.label}_arm{k}", self.sdfg)
            text = self.text(condition) if condition is not None else None
            block.add_branch(CodeBlock(text) if text is not None else None, arm)
            self.block(body, arm)

    def loop(self, node: Loop, region: ControlFlowRegion) -> None:
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
        try:
            return f"{symbol} {'<=' if int(step) > 0 else '>='} {stop}"
        except ValueError:
            return f"(({step}) > 0 and {symbol} <= {stop}) or (({step}) < 0 and {symbol} >= {stop})"

    def text(self, value: Value) -> str:
        return print_value(value, self.program, self.spelled)

    # -- data
    def access(
        self, state: SDFGState, name: str, write: bool, cache: dict[tuple[str, bool], nd.AccessNode]
    ) -> nd.AccessNode:
        """The access node of a container in a state, with the chain of views that leads to it."""
        if (name, write) in cache:
            return cache[name, write]
        node = cache[name, write] = state.add_access(self.spelled(name), debuginfo=self.info)
        container = self.program.containers[name]
        if container.view_of is not None:
            base = self.access(state, container.view_of, write, cache)
            memlet = dace.Memlet(data=self.spelled(container.view_of), subset=copy.deepcopy(container.view_subset))
            if write:
                state.add_edge(node, "views", base, None, memlet)
                node.add_out_connector("views")
            else:
                state.add_edge(base, None, node, "views", memlet)
                node.add_in_connector("views")
        return node

    def whole(self, name: str) -> dace.Memlet:
        spelled = self.spelled(name)
        subset = subsets.Range.from_array(self.sdfg.arrays[spelled])
        return dace.Memlet(data=spelled, subset=subset, debuginfo=self.info)

    # -- maps around something
    def enter(
        self, state: SDFGState, params: tuple[Param, ...], schedule: dace.ScheduleType, label: str
    ) -> tuple[nd.MapEntry, nd.MapExit]:
        ranges = {p.name: subsets.Range([(p.start, p.stop, p.step)]) for p in params}
        entry, exit_ = state.add_map(_identifier(label) or "map", ranges, schedule=schedule, debuginfo=self.info)
        if schedule == dace.ScheduleType.GPU_Device:
            entry.map.gpu_block_size = [THREADS, 1, 1]
        return entry, exit_

    def connect_in(
        self,
        state: SDFGState,
        cache: dict,
        name: str,
        scope: nd.MapEntry | None,
        dst: nd.Node,
        connector: str | None,
        memlet: dace.Memlet,
    ) -> None:
        outer = self.access(state, name, False, cache)
        if scope is None:
            state.add_edge(outer, None, dst, connector, memlet)
            return
        if scope.add_in_connector(f"IN_{name}"):
            scope.add_out_connector(f"OUT_{name}")
            state.add_edge(outer, None, scope, f"IN_{name}", self.whole(name))
        state.add_edge(scope, f"OUT_{name}", dst, connector, memlet)

    def connect_out(
        self,
        state: SDFGState,
        cache: dict,
        name: str,
        scope: nd.MapExit | None,
        src: nd.Node,
        connector: str | None,
        memlet: dace.Memlet,
    ) -> None:
        outer = self.access(state, name, True, cache)
        if scope is None:
            state.add_edge(src, connector, outer, None, memlet)
            return
        if scope.add_in_connector(f"IN_{name}"):
            scope.add_out_connector(f"OUT_{name}")
            whole = self.whole(name)
            whole.wcr, whole.wcr_nonatomic, whole.dynamic = memlet.wcr, memlet.wcr_nonatomic, memlet.dynamic
            state.add_edge(scope, f"OUT_{name}", outer, None, whole)
        state.add_edge(src, connector, scope, f"IN_{name}", memlet)

    def scope(self, node: Scope, state: SDFGState) -> None:
        """A structured map: its body becomes a nested SDFG that sees the containers whole, under their own names."""
        inner = dace.SDFG(_identifier(node.source.label) or "body")
        emitter = Emitter(self.program, inner, nested=True)
        ins, outs = reads(node), writes(node)
        bases = {b for n in ins | outs for b in _with_bases([n], self.program)}
        locals_ = {c.name for c in node.locals}
        for name in _with_bases(ins | outs | bases | _inner_views(node, self.program), self.program):
            if name in locals_:
                continue
            desc = copy.deepcopy(self.program.containers[name].desc)
            desc.transient = isinstance(desc, dt.View)
            inner.add_datadesc(emitter.spelled(name), desc)
        for container in node.locals:
            spelled = emitter.spelled(container.name)
            if spelled not in inner.arrays:
                inner.add_datadesc(spelled, copy.deepcopy(container.desc))
        emitter.block(node.body, inner)
        if self.program.constants:
            free = inner.free_symbols
            for name, (desc, value) in self.program.constants.items():
                if name in free:
                    inner.add_constant(name, value, desc)
        ins = {n for n in _roots(ins, self.program)}
        outs = {n for n in _roots(outs, self.program)}
        declare_symbols(inner, self.program)
        mapping = {s: s for s in sorted(map(str, inner.free_symbols)) if s not in inner.constants_prop}
        inputs, outputs = ({emitter.spelled(n): None for n in sorted(names)} for names in (ins, outs))
        nested = state.add_nested_sdfg(inner, inputs, outputs, mapping, debuginfo=self.info)
        entry = exit_ = None
        if node.params:
            entry, exit_ = self.enter(state, node.params, _schedule(node), node.source.label)
        cache: dict = {}
        for name in sorted(ins):
            self.connect_in(state, cache, name, entry, nested, emitter.spelled(name), self.whole(name))
        for name in sorted(outs):
            self.connect_out(state, cache, name, exit_, nested, emitter.spelled(name), self.whole(name))
        if entry is not None:
            close(state, entry, exit_, nested, bool(ins), bool(outs))

    def operand(self, region: Region) -> dace.Memlet:
        return dace.Memlet(data=self.spelled(region.container), subset=copy.deepcopy(region.subset), wcr=region.wcr)

    def call(self, node: NodeCall, state: SDFGState) -> None:
        copied = copy.deepcopy(node.node)
        state.add_node(copied)
        cache: dict = {}
        for connector, region in node.inputs.items():
            self.connect_in(state, cache, region.container, None, copied, connector, self.operand(region))
        for connector, region in node.outputs.items():
            self.connect_out(state, cache, region.container, None, copied, connector, self.operand(region))


def _inner_views(node: Node, program: Program) -> set[str]:
    return {
        n
        for inner in walk((node,))
        for n in reads(inner) | writes(inner)
        if not isinstance(inner, Scope) and program.containers[n].view_of is not None
    }


def _roots(names: set[str], program: Program) -> set[str]:
    return {program.root(n) for n in names}


def _schedule(node: Leaf | Scope) -> dace.ScheduleType:
    return dace.ScheduleType.Sequential if node.sequential else node.schedule


def close(
    state: SDFGState, entry: nd.MapEntry, exit_: nd.MapExit, inside: nd.Node, has_in: bool, has_out: bool
) -> None:
    """Empty edges where a map body has nothing to read or nothing to write."""
    if not has_in:
        state.add_edge(entry, None, inside, None, dace.Memlet())
    if not has_out:
        state.add_edge(inside, None, exit_, None, dace.Memlet())


def _identifier(text: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in text).strip("_")[:40]


def print_value(value: Value, program: Program, spelled: Callable[[str], str]) -> str:
    """A value as DaCe's interstate code has it: loads in place."""
    env: dict[str, ast.expr] = {}
    for load in value.loads:
        if isinstance(program.containers[load.container].desc, dt.Scalar):
            env[load.name] = code.name(spelled(load.container))
            continue
        index = [code.rename(to_ast(i), env) for i in load.index]
        subscript = index[0] if len(index) == 1 else ast.Tuple(elts=index, ctx=ast.Load())
        env[load.name] = ast.Subscript(value=code.name(spelled(load.container)), slice=subscript, ctx=ast.Load())
    return ast.unparse(code.rename(value.expr, env))


@dataclass
class LeafWriter:
    """One leaf as a tasklet, in a map where it has parameters."""

    emitter: Emitter
    state: SDFGState
    leaf: Leaf
    inputs: dict[str, tuple[str, dace.Memlet]] = field(default_factory=dict)
    outputs: dict[str, tuple[str, dace.Memlet]] = field(default_factory=dict)
    text: list[str] = field(default_factory=list)
    local: set[str] = field(default_factory=set)

    def write(self) -> None:
        for instr in self.leaf.body:
            if isinstance(instr, Load):
                self.load(instr)
            elif isinstance(instr, Let):
                self.text.append(f"{instr.name} = {ast.unparse(instr.expr)}")
                self.local.add(instr.name)
            else:
                self.store(instr)
        label = _identifier(self.leaf.source.label) or "compute"
        tasklet = self.state.add_tasklet(
            label + APART if self.leaf.params and not self.leaf.sequential else label,
            {k: None for k in self.inputs},
            {k: None for k in self.outputs},
            "\n".join(self.text),
            debuginfo=self.emitter.info,
        )
        entry = exit_ = None
        if self.leaf.params:
            entry, exit_ = self.emitter.enter(
                self.state, self.leaf.params, _schedule(self.leaf), self.leaf.source.label
            )
            if len(self.leaf.params) == 1 and is_vectorized(self.leaf):
                entry.map.omp_schedule, entry.map.omp_chunk_size = dace.OMPScheduleType.Static, CHUNK
        cache: dict = {}
        for connector, (container, memlet) in self.inputs.items():
            self.emitter.connect_in(self.state, cache, container, entry, tasklet, connector, memlet)
        for connector, (container, memlet) in self.outputs.items():
            self.emitter.connect_out(self.state, cache, container, exit_, tasklet, connector, memlet)
        if entry is not None:
            close(self.state, entry, exit_, tasklet, bool(self.inputs), bool(self.outputs))

    def indirect(self, index: tuple, guard: str | None) -> bool:
        return bool(free_names(*index) & self.local) or guard is not None

    def element(self, container: str, index: tuple) -> dace.Memlet:
        return dace.Memlet(
            data=self.emitter.spelled(container),
            subset=subsets.Range([(i, i, 1) for i in index]),
            debuginfo=self.emitter.info,
        )

    def load(self, instr: Load) -> None:
        self.local.add(instr.name)
        if not self.indirect(instr.index, instr.guard):
            self.inputs[instr.name] = (instr.container, self.element(instr.container, instr.index))
            return
        connector = self.free(f"all_{instr.container}")
        self.inputs[connector] = (instr.container, self.emitter.whole(instr.container))
        read = f"{connector}[{_subscript(instr.index)}]"
        self.text.append(
            f"{instr.name} = ({read} if {instr.guard} else 0)" if instr.guard else f"{instr.name} = {read}"
        )

    def free(self, connector: str) -> str:
        """A connector that is called as no container is: in C++ it would hide that."""
        while connector in self.emitter.program.containers:
            connector += "_"
        return connector

    def store(self, instr: Store) -> None:
        wcr = None if instr.mode == "set" else WCR[instr.mode]
        if free_names(*instr.index) & self.local:
            memlet = self.emitter.whole(instr.container)
            connector = self.free(f"into{len(self.outputs)}_{instr.container}")
            target = f"{connector}[{_subscript(instr.index)}]"
            memlet.dynamic = True
        else:
            stem = STREAMED if instr.streamed else "out"
            memlet, connector = self.element(instr.container, instr.index), self.free(f"{stem}{len(self.outputs)}")
            target = connector
        memlet.wcr, memlet.wcr_nonatomic = wcr, wcr is not None
        if instr.guard:
            memlet.dynamic = True
            self.text.append(f"if {instr.guard}:\n    {target} = {instr.value}")
        else:
            self.text.append(f"{target} = {instr.value}")
        self.outputs[connector] = (instr.container, memlet)


def _subscript(index: tuple) -> str:
    return ", ".join(ast.unparse(to_ast(i)) for i in index)
