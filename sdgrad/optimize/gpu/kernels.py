"""Programs for a GPU: arrays in its memory, parallel nests as kernels, control flow and library calls on the host.

What the host decides by data (conditions, bounds) is fetched before; arrays that a library on the host needs are copied
there and back. Arguments are arrays of the host, unless they are said to be resident: what the program reads of them is
copied in first, what it writes is copied out last.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from functools import cached_property

import dace
import sympy
from dace import data as dt
from dace.libraries.blas import Gemm, Gemv, MatMul

from sdgrad.analysis.loop_private import defined_first
from sdgrad.config import config
from sdgrad.program.arrays import assign
from sdgrad.program.leaves import as_loops
from sdgrad.program.names import Names
from sdgrad.program.rename import renamed
from sdgrad.program.tree import (
    Block,
    Container,
    Leaf,
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
    children,
    local_names,
    reads,
    walk,
    whole_region,
    with_children,
    with_values,
    writes,
)
from sdgrad.symbolic.expr import free_names

DEVICE, HOST, REGISTER = dace.StorageType.GPU_Global, dace.StorageType.CPU_Heap, dace.StorageType.Register
KERNEL, INSIDE = dace.ScheduleType.GPU_Device, dace.ScheduleType.Sequential
PRODUCTS = (Gemm, Gemv, MatMul)  # cuBLAS's: without it there are no calls of them
ZERO, ONE = sympy.Integer(0), sympy.Integer(1)


def run_on_device(program: Program, names: Names, resident: bool = False) -> Program:
    """The program on a GPU.

    :param resident: its arguments are in the GPU's memory.
    """
    placer = Placer(program, names)
    body = placer.block(program.body)
    outside = () if resident else program.arguments
    moved = {n: placer.twin(program.containers[n]) for n in outside if placer.is_array(n)}
    places = {n: c.name for n, c in moved.items()}
    local = {c for n in walk(body) for c in local_names(n)}
    known = {**program.containers, **placer.made}
    inside = {n: c if n in local else placed(c, DEVICE) for n, c in known.items() if n not in moved}
    inside |= {c.name: c for c in placer.hosted.values()}
    views = {n: replace(c, view_of=places.get(c.view_of, c.view_of)) for n, c in inside.items() if c.view_of}
    arguments = {n: program.containers[n] for n in outside}
    containers = {**inside, **views, **{c.name: placed(c, DEVICE) for c in moved.values()}, **arguments}
    written = {program.root(w) for node in program.body for w in writes(node)}
    read = {program.root(r) for node in program.body for r in reads(node)}
    defined = defined_first(program.body, program, program.arguments)
    entering = [n for n in moved if n not in defined and (n in read or n in written)]
    body = (
        *(assign(moved[n], program.containers[n], "set", names, f"{n} to the device") for n in entering),
        *renamed(body, places),
        *(assign(program.containers[n], moved[n], "set", names, f"{n} to the host") for n in moved if n in written),
    )
    return replace(program, body=body, containers=containers, symbols={**program.symbols, **placer.symbols})


def placed(container: Container, storage: dace.StorageType) -> Container:
    """A container in some memory; a scalar that the program makes is an array there."""
    desc = container.desc
    if isinstance(desc, dt.Scalar):
        if not desc.transient:
            return container
        desc = dt.Array(desc.dtype, [1], transient=True)
    desc = copy.deepcopy(desc)
    desc.storage = storage
    return replace(container, desc=desc)


@dataclass
class Placer:
    """Decides what runs where."""

    program: Program
    names: Names
    made: dict[str, Container] = field(default_factory=dict)  # on the device
    hosted: dict[str, Container] = field(default_factory=dict)  # on the host
    symbols: dict[str, dace.typeclass] = field(default_factory=dict)

    @cached_property
    def assigned(self) -> set[str]:
        """Symbols whose values the program computes."""
        return {n.symbol for n in walk(self.program.body) if isinstance(n, (SymbolAssign, Loop))}

    def is_array(self, name: str) -> bool:
        return not isinstance(self.program.containers[name].desc, dt.Scalar)

    def twin(self, container: Container) -> Container:
        """The same array in another memory."""
        return container.local(self.names.fresh(f"there_{container.name.strip('_')}"))

    def block(self, block: Block) -> Block:
        return tuple(n for node in block for n in self.node(node))

    def node(self, node: Node) -> Block:
        if isinstance(node, Leaf):
            return (self.apart(self.kernel(node)),)
        if isinstance(node, Scope):
            return tuple(self.apart(n) for n in self.scope(node))
        if isinstance(node, NodeCall):
            return (node,) if isinstance(node.node, PRODUCTS) else self.hosted_call(node)
        return self.control(node)

    # -- kernels
    def one(self) -> Param:
        """A parameter of one value: a kernel of one thread."""
        return Param(self.names.fresh("thread"), ZERO, ZERO, ONE)

    def apart(self, node: Node) -> Node:
        """In a graph of its own where it writes what only data tells the size of: DaCe loses sight of such arrays."""
        sized = {n for n in writes(node) if self.assigned & free_names(*self.shape(n))}
        return Scope((), (node,), (), node.source) if sized and isinstance(node, (Leaf, Scope)) else node

    def shape(self, name: str) -> tuple[sympy.Expr, ...]:
        container = self.program.containers.get(name) or self.made.get(name)
        return container.shape if container is not None else ()

    def kernel(self, leaf: Leaf) -> Node:
        if not leaf.params:
            return replace(leaf, params=(self.one(),), schedule=KERNEL)
        if leaf.sequential:
            return Scope((self.one(),), (replace(leaf, schedule=INSIDE),), (), leaf.source, schedule=KERNEL)
        outer = independent(leaf.params)
        if len(outer) < len(leaf.params):
            inner = tuple(p for p in leaf.params if p not in outer)
            body = (replace(leaf, params=inner, schedule=INSIDE),)
            return Scope(outer or (self.one(),), body, (), leaf.source, schedule=KERNEL)
        return replace(leaf, schedule=KERNEL)

    def scope(self, node: Scope) -> Block:
        """A kernel where a thread can run what is inside, one after another; else loops of the host around kernels."""
        calls = any(isinstance(n, NodeCall) for n in walk(node.body))
        small = all(self.is_small(c) for n in walk((node,)) if isinstance(n, Scope) for c in n.locals)
        wide = [n for n in walk(node.body) if isinstance(n, (Leaf, Scope)) and n.params and not n.sequential]
        if not calls and small and (node.params and not node.sequential or not wide):
            params = (self.one(),) if node.sequential or not node.params else node.params
            body = node.body if params == node.params else self.around(node)
            own = tuple(placed(c, REGISTER) if self.is_array(c.name) else c for c in node.locals)
            return (Scope(params, within(body), own, node.source, schedule=KERNEL),)
        self.made |= {c.name: c for c in node.locals}
        self.symbols |= {p.name: dace.int64 for p in node.params}
        return self.block(as_loops(node.params, node.body, node.source))

    def around(self, node: Scope) -> Block:
        """The body of a map whose instances come one after another."""
        self.symbols |= {p.name: dace.int64 for p in node.params}
        return as_loops(node.params, node.body, node.source)

    def is_small(self, container: Container) -> bool:
        size = sympy.sympify(container.desc.total_size)
        return size.is_Integer and int(size) <= config.machine.gpu_local_elements

    # -- the host
    def hosted_call(self, call: NodeCall) -> Block:
        """A call of a library of the host, on copies of its operands."""
        roots = {r.container: self.host_array(r.container) for r in (*call.inputs.values(), *call.outputs.values())}
        inputs, outputs = (
            {c: Region(roots[r.container].name, r.subset, r.wcr) for c, r in x.items()}
            for x in (call.inputs, call.outputs)
        )
        written = {r.container for r in call.outputs.values()}
        taken = {r.container for r in call.inputs.values()}
        taken |= {r.container for r in call.outputs.values() if r.wcr or not self.is_whole(r)}
        return (
            *(self.fetched(n, host) for n, host in roots.items() if n in taken),
            replace(call, inputs=inputs, outputs=outputs),
            *(self.returned(n, host) for n, host in roots.items() if n in written),
        )

    def is_whole(self, region: Region) -> bool:
        """Whether a region is all of its container."""
        return region.subset == whole_region(region.container, self.shape(region.container)).subset

    def host_array(self, name: str) -> Container:
        found = placed(self.program.containers[name].local(self.names.fresh(f"here_{name.strip('_')}")), HOST)
        self.hosted[found.name] = found
        return found

    def fetched(self, name: str, host: Container) -> Leaf:
        return assign(host, replace(self.program.containers[name]), "set", self.names, f"{name} to the host")

    def returned(self, name: str, host: Container) -> Leaf:
        return assign(replace(self.program.containers[name]), host, "set", self.names, f"{name} to the device")

    def control(self, node: Node) -> Block:
        """What the host decides, by elements that are fetched before (and, for a loop, after each trip)."""
        fetches: list[Node] = []

        def here(value: Value) -> Value:
            loads = []
            for load in value.loads:
                if not self.is_array(load.container) and not self.program.containers[load.container].transient:
                    loads.append(load)
                    continue
                dtype = self.program.containers[load.container].dtype
                name = self.names.fresh(f"here_{load.container.strip('_')}")
                self.hosted[name] = placed(Container(name, dt.Array(dtype, [1], transient=True)), HOST)
                v = self.names.fresh("v")
                move = (Load(v, load.container, load.index), Store(name, (ZERO,), v))
                fetches.append(Leaf((), move, node.source))
                loads.append(replace(load, container=name, index=(ZERO,)))
            return Value(tuple(loads), value.expr)

        changed = with_values(node, here)
        changed = with_children(changed, tuple(self.block(b) for b in children(node)))
        if isinstance(changed, Loop) and fetches:
            changed = replace(changed, body=(*changed.body, *fetches))
        return (*fetches, changed)


def independent(params: tuple[Param, ...]) -> tuple[Param, ...]:
    """Parameters whose ranges do not depend on others: a kernel has a rectangle of threads."""
    names = {p.name for p in params}
    return tuple(p for p in params if not names & free_names(p.start, p.stop, p.step))


def within(block: Block) -> Block:
    """What one thread of a kernel does: maps inside of it run one instance after another."""
    return tuple(
        replace(n, schedule=INSIDE, sequential=n.sequential) if isinstance(n, (Leaf, Scope)) else n
        for n in (with_children(n, tuple(within(b) for b in children(n))) for n in block)
    )
