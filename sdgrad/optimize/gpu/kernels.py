"""Offload a program to a GPU: arrays in device memory, parallel nests as kernels, the rest on the host.

The host runs control flow and library calls. It copies single elements that conditions and bounds read, and the
operands of its libraries. Arguments in host memory are copied in at the start and out at the end::

    argument x: float64[8]                local there_x: float64[8]     (device memory)
    map i=0:8: x[i] = 2 * x[i]            map i=0:8: there_x[i] = x[i]
                                          map i=0:8: there_x[i] = 2 * there_x[i]     (kernel)
                                          map i=0:8: x[i] = there_x[i]

Resident arguments are in device memory already. The pass never declines: a nest that cannot be parallel becomes a
kernel of one thread.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import dace
import sympy
from dace import data as dt
from dace.libraries.blas import Gemm, Gemv, MatMul

from sdgrad.analysis.loop_private import defined_first
from sdgrad.config import config
from sdgrad.optimize.gpu.extremes import with_host_extremes
from sdgrad.program.arrays import assign
from sdgrad.program.leaves import as_loops
from sdgrad.program.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.passes import Target
from sdgrad.program.prelude import calls_host
from sdgrad.program.rename import renamed, with_distinct_locals
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
    Source,
    Store,
    SymbolAssign,
    Value,
    children,
    local_names,
    map_blocks,
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
PRODUCTS = (Gemm, Gemv, MatMul)
"""Library nodes that cuBLAS runs on the device; without cuBLAS programs have none of them."""
ZERO, ONE = sympy.Integer(0), sympy.Integer(1)


def run_on_device(program: Program, names: Names, resident: bool = False) -> Program:
    """Offload a program to a GPU.

    :param resident: True if its arguments are in device memory.
    """
    program = with_distinct_locals(program, names)  # a local of one scope may become an array, another's not
    placer = Placer(program, names)
    body = with_host_extremes(placer.block(program.body))
    outside = () if resident else program.arguments
    moved = {n: placer.twin(program.containers[n]) for n in outside if placer.is_array(n)}
    arguments = {n: program.containers[n] for n in outside}
    containers = {**_stored(placer, body, moved), **arguments}
    written = {program.root(w) for node in program.body for w in writes(node)}
    live = _live_on_entry(program, written)
    entering = [n for n in moved if n in live]
    body = (
        *(assign(moved[n], program.containers[n], "set", names, f"{n} to the device") for n in entering),
        *renamed(body, {n: c.name for n, c in moved.items()}),
        *(assign(program.containers[n], moved[n], "set", names, f"{n} to the host") for n in moved if n in written),
    )
    return replace(program, body=body, containers=containers, symbols={**program.symbols, **placer.symbols})


def _live_on_entry(program: Program, written: set[str]) -> set[str]:
    """Return the containers whose initial content the program uses, or overwrites in part only."""
    read = {program.root(r) for node in program.body for r in reads(node)}
    return (read | written) - defined_first(program.body, program, program.arguments)


def _stored(placer: Placer, body: Block, moved: Mapping[str, Container]) -> dict[str, Container]:
    """Assign containers to memories: locals of kernels as they are, copies for host calls on the host, else the device.

    :param moved: by argument in host memory, its copy on the device, which takes its place here.
    """
    local = {c for n in walk(body) for c in local_names(n)}
    known = {**placer.program.containers, **placer.made}
    at_home = placer.at_home
    found = {
        n: c if n in local else placed(c, HOST if n in at_home else DEVICE) for n, c in known.items() if n not in moved
    }
    found |= {c.name: c for c in placer.hosted.values()}
    places = {n: c.name for n, c in moved.items()}
    views = {n: replace(c, view_of=places.get(c.view_of, c.view_of)) for n, c in found.items() if c.view_of}
    return {**found, **views, **{c.name: placed(c, DEVICE) for c in moved.values()}}


def beside(container: Container, name: str) -> Container:
    """Return local memory for a copy of a container; that of a view is an array."""
    found = container.local(name)
    return replace(found, desc=found.desc.as_array()) if isinstance(found.desc, dt.ArrayView) else found


def placed(container: Container, storage: dace.StorageType) -> Container:
    """Return a container in another memory; a local scalar becomes an array of one element, an argument stays."""
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
    """The mapping of nodes to the device or the host.

    ``made`` collects locals of scopes that become arrays of the device, ``hosted`` the copies in host memory.
    """

    program: Program
    names: Names
    made: dict[str, Container] = field(default_factory=dict)
    hosted: dict[str, Container] = field(default_factory=dict)
    symbols: dict[str, dace.typeclass] = field(default_factory=dict)

    @cached_property
    def assigned(self) -> set[str]:
        """Return the symbols that the program assigns."""
        return {n.symbol for n in walk(self.program.body) if isinstance(n, (SymbolAssign, Loop))}

    @cached_property
    def at_home(self) -> set[str]:
        """Return the temporaries that only calls of the host and control nodes use: they stay in its memory."""
        calls, others = set[str](), {c.view_of or "" for c in self.program.containers.values()}
        for node in walk(self.program.body):
            if isinstance(node, NodeCall) and not isinstance(node.node, PRODUCTS):
                calls |= reads(node) | writes(node)
            elif isinstance(node, (Leaf, NodeCall)):
                others |= reads(node) | writes(node)
        calls -= others | set(self.program.arguments)
        return {n for n in calls if self.program.containers[n].transient and self.program.containers[n].view_of is None}

    def is_array(self, name: str) -> bool:
        """True if a container is no scalar."""
        return not isinstance(self.program.containers[name].desc, dt.Scalar)

    def twin(self, container: Container) -> Container:
        """Make an array of the same shape for the other memory."""
        return beside(container, self.names.fresh(f"there_{container.name.strip('_')}"))

    def block(self, block: Block) -> Block:
        """Map the nodes of a block."""
        return tuple(n for node in block for n in self.node(node))

    def node(self, node: Node) -> Block:
        """Map a node: nests and scopes become kernels, calls and control flow stay on the host."""
        if isinstance(node, Leaf):
            return self.hosted_leaf(node) if calls_host(node) else (self.apart(self.kernel(node)),)
        if isinstance(node, Scope):
            return tuple(self.apart(n) for n in self.scope(node))
        if isinstance(node, NodeCall):
            return (node,) if isinstance(node.node, PRODUCTS) else self.hosted_call(node)
        return self.control(node)

    # -- kernels
    def one(self) -> Param:
        """Make the parameter of a kernel with one thread."""
        return Param(self.names.fresh("thread"), ZERO, ZERO, ONE)

    def apart(self, node: Node) -> Node:
        """Wrap a node in a graph of its own if it writes arrays whose sizes the program computes.

        DaCe does not propagate memlets of such arrays correctly. Other nodes are unchanged.
        """
        sized = {n for n in writes(node) if self.assigned & free_names(*self.shape(n))}
        return Scope((), (node,), (), node.source) if sized and isinstance(node, (Leaf, Scope)) else node

    def shape(self, name: str) -> tuple[sympy.Expr, ...]:
        """Return the shape of a container; empty if it is unknown, as for locals inside of kernels."""
        container = self.program.containers.get(name) or self.made.get(name)
        return container.shape if container is not None else ()

    def kernel(self, leaf: Leaf) -> Node:
        """Make a kernel of a leaf: a thread for each value of the independent parameters, which loops over the others.

        A leaf without parameters, or with sequential ones, gets one thread.
        """
        if not leaf.params:
            return replace(leaf, params=(self.one(),), schedule=KERNEL, sequential=False)
        if leaf.sequential:
            return Scope((self.one(),), (replace(leaf, schedule=INSIDE),), (), leaf.source, schedule=KERNEL)
        outer = independent(leaf.params)
        if len(outer) < len(leaf.params):
            inner = tuple(p for p in leaf.params if p not in outer)
            body = (replace(leaf, params=inner, schedule=INSIDE),)
            return Scope(outer or (self.one(),), body, (), leaf.source, schedule=KERNEL)
        return replace(leaf, schedule=KERNEL)

    def scope(self, node: Scope) -> Block:
        """Make one kernel of a scope if a thread can run its body; else a loop on the host around several kernels."""
        if self.fits_a_thread(node):
            own = tuple(placed(c, REGISTER) if self.is_array(c.name) else c for c in node.locals)
            if not _is_parallel(node):
                return (Scope((self.one(),), within(self.looped(node)), own, node.source, schedule=KERNEL),)
            outer = independent(node.params)
            inner = tuple(p for p in node.params if p not in outer)
            body = (Scope(inner, node.body, own, node.source),) if inner else node.body
            return (Scope(outer or (self.one(),), within(body), () if inner else own, node.source, schedule=KERNEL),)
        self.made |= {c.name: c for c in node.locals}
        return self.block(self.looped(node))

    def fits_a_thread(self, node: Scope) -> bool:
        """True if a thread can run a scope's body: no calls, small locals, and no parallelism is lost by that."""
        inside = list(walk(node.body))
        if any(isinstance(n, NodeCall) or isinstance(n, Leaf) and calls_host(n) for n in inside):
            return False
        if not all(self.is_small(c) for n in (node, *inside) if isinstance(n, Scope) for c in n.locals):
            return False
        return _is_parallel(node) or not any(map(_is_parallel, inside))

    def looped(self, node: Scope) -> Block:
        """Turn the parameters of a scope into loops around its body."""
        self.symbols |= {p.name: dace.int64 for p in node.params}
        return as_loops(node.params, node.body, node.source)

    def is_small(self, container: Container) -> bool:
        """True if a container has a fixed size and fits into the registers of a thread."""
        size = sympy.sympify(container.desc.total_size)
        return size.is_Integer and int(size) <= config.machine.gpu_local_elements

    # -- the host
    def hosted_call(self, call: NodeCall) -> Block:
        """Run a library call on the host: copy its operands in, call, and copy its results back."""
        used = (*call.inputs.values(), *call.outputs.values())
        copies = {r.container: self.host_array(r.container) for r in used if r.container not in self.at_home}
        written = {r.container for r in call.outputs.values()}
        taken = {r.container for r in call.inputs.values()}
        taken |= {r.container for r in call.outputs.values() if r.wcr or not self.is_whole(r)}
        moved = replace(call, inputs=_redirected(call.inputs, copies), outputs=_redirected(call.outputs, copies))
        return self.on_host(moved, copies, taken, written)

    def hosted_leaf(self, leaf: Leaf) -> Block:
        """Run a leaf that calls functions of the host there: copy what it takes in, and its results back."""
        written = writes(leaf)
        copies = {n: self.host_array(n) for n in sorted(reads(leaf) | written)}
        (moved,) = renamed((leaf,), {n: host.name for n, host in copies.items()})
        return self.on_host(moved, copies, copies.keys(), written)

    def on_host(
        self, moved: Node, copies: Mapping[str, Container], taken: Collection[str], written: Collection[str]
    ) -> Block:
        """Run a node on arrays of the host, with copies of what it takes before it, and of what it writes after it."""
        return (
            *(self.fetched(n, host) for n, host in copies.items() if n in taken),
            moved,
            *(self.returned(n, host) for n, host in copies.items() if n in written),
        )

    def is_whole(self, region: Region) -> bool:
        """True if a region covers its container."""
        return region.subset == whole_region(region.container, self.shape(region.container)).subset

    def host_array(self, name: str) -> Container:
        """Make a copy of an array in host memory."""
        found = placed(beside(self.program.containers[name], self.names.fresh(f"here_{name.strip('_')}")), HOST)
        self.hosted[found.name] = found
        return found

    def fetched(self, name: str, host: Container) -> Leaf:
        """Copy an array from the device to the host."""
        return assign(host, replace(self.program.containers[name]), "set", self.names, f"{name} to the host")

    def returned(self, name: str, host: Container) -> Leaf:
        """Copy an array from the host to the device."""
        return assign(replace(self.program.containers[name]), host, "set", self.names, f"{name} to the device")

    def control(self, node: Node) -> Block:
        """Keep a control node on the host, and fetch the elements that it reads before.

        A loop fetches them again at the end of each iteration.
        """
        fetches: list[Node] = []

        def here(value: Value) -> Value:
            return Value(tuple(self.fetched_load(load, node.source, fetches) for load in value.loads), value.expr)

        changed = with_values(node, here)
        changed = with_children(changed, tuple(self.block(b) for b in children(node)))
        if isinstance(changed, Loop) and fetches:
            changed = replace(changed, body=(*changed.body, *fetches))
        return (*fetches, changed)

    def fetched_load(self, load: Load, source: Source, fetches: list[Node]) -> Load:
        """Fetch an element to the host and load it there; scalar arguments are on the host already.

        :param fetches: gets the copy.
        """
        is_argument = not self.is_array(load.container) and not self.program.containers[load.container].transient
        if is_argument or load.container in self.at_home:
            return load
        dtype = self.program.containers[load.container].dtype
        name = self.names.fresh(f"here_{load.container.strip('_')}")
        self.hosted[name] = placed(Container(name, dt.Array(dtype, [1], transient=True)), HOST)
        v = self.names.fresh("v")
        fetches.append(Leaf((), (Load(v, load.container, load.index), Store(name, (ZERO,), v)), source))
        return replace(load, container=name, index=(ZERO,))


def _is_parallel(node: Node) -> bool:
    """True for a leaf or scope whose instances run in any order."""
    return isinstance(node, (Leaf, Scope)) and bool(node.params) and not node.sequential


def _redirected(regions: Mapping[str, Region], copies: Mapping[str, Container]) -> dict[str, Region]:
    """Replace the containers of operands by their copies."""
    places = {n: c.name for n, c in copies.items()}
    return {c: replace(r, container=places.get(r.container, r.container)) for c, r in regions.items()}


def independent(params: tuple[Param, ...]) -> tuple[Param, ...]:
    """Return the parameters whose ranges depend on no other: the threads of a kernel form a box."""
    names = {p.name for p in params}
    return tuple(p for p in params if not names & free_names(p.start, p.stop, p.step))


def within(block: Block) -> Block:
    """Schedule the maps of a block sequentially, inside of one thread."""
    return tuple(
        replace(n, schedule=INSIDE, sequential=n.sequential) if isinstance(n, (Leaf, Scope)) else n
        for n in (map_blocks(n, within) for n in block)
    )


def place_on_device(program: Program, target: Target) -> Program:
    """Place a program on a GPU: kernels, and copies of arguments that are not resident."""
    return run_on_device(program, all_names(program), target.resident)
