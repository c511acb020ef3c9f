"""Write a leaf as one tasklet, inside a map if the leaf has parameters."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

import dace
import sympy
from dace import nodes as nd
from dace import subsets
from dace.sdfg.state import SDFGState

from sdgrad.config import config
from sdgrad.program.dataflow import Dataflow, close, identifier, schedule_of
from sdgrad.program.naming import APART, STREAMED
from sdgrad.program.prelude import is_vectorized
from sdgrad.program.tree import Container, Leaf, Let, Load, Program, Store
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


@dataclass
class LeafWriter:
    """Write one leaf as a tasklet, inside a map if the leaf has parameters."""

    flow: Dataflow
    state: SDFGState
    leaf: Leaf
    inputs: dict[str, tuple[str, dace.Memlet]] = field(default_factory=dict)
    outputs: dict[str, tuple[str, dace.Memlet]] = field(default_factory=dict)
    pointers: dict[str, dace.typeclass] = field(default_factory=dict)
    text: list[str] = field(default_factory=list)
    local: set[str] = field(default_factory=set)
    in_place: frozenset[str] = frozenset()  # containers whose accesses stay where they are in the body

    def write(self) -> None:
        """Write the tasklet and its map into the state."""
        self.in_place = out_of_order(self.leaf, self.flow.program)
        for instr in self.leaf.body:
            if isinstance(instr, Load):
                self.load(instr)
            elif isinstance(instr, Let):
                self.text.append(f"{instr.name} = {instr.text}")
                self.local.add(instr.name)
            else:
                self.store(instr)
        tasklet = self.tasklet()
        entry, exit_ = self.enclosing_map()
        cache: dict = {}
        for connector, (container, memlet) in self.inputs.items():
            self.flow.connect_in(self.state, cache, container, entry, tasklet, connector, memlet)
        for connector, (container, memlet) in self.outputs.items():
            self.flow.connect_out(self.state, cache, container, exit_, tasklet, connector, memlet)
        if entry is not None:
            close(self.state, entry, exit_, tasklet, bool(self.inputs), bool(self.outputs))

    def tasklet(self) -> nd.Tasklet:
        """Add the tasklet; its name tells whether instances are independent."""
        label = identifier(self.leaf.source.label) or "compute"
        return self.state.add_tasklet(
            label + APART if self.leaf.params and not self.leaf.sequential else label,
            {k: self.pointers.get(k) for k in self.inputs},
            {k: None for k in self.outputs},
            "\n".join(self.text),
            debuginfo=self.flow.info,
        )

    def enclosing_map(self) -> tuple[nd.MapEntry | None, nd.MapExit | None]:
        """Add the map over the leaf's parameters; (None, None) if it has none."""
        leaf = self.leaf
        if not leaf.params:
            return None, None
        entry, exit_ = self.flow.enter(self.state, leaf.params, schedule_of(leaf), leaf.source.label)
        if len(leaf.params) == 1 and is_vectorized(leaf):
            entry.map.omp_schedule, entry.map.omp_chunk_size = dace.OMPScheduleType.Static, config.machine.vector_chunk
        return entry, exit_

    def indirect(self, index: tuple, guard: str | None) -> bool:
        """True if an access needs the whole container: a value of the leaf is in its subscript, or it has a guard."""
        return bool(free_names(*index) & self.local) or guard is not None

    def element(self, container: str, index: tuple) -> dace.Memlet:
        """Return the memlet of one element."""
        return dace.Memlet(
            data=self.flow.spelled(container),
            subset=subsets.Range([(i, i, 1) for i in index]),
            debuginfo=self.flow.info,
        )

    def load(self, instr: Load) -> None:
        """Read an element through a memlet of its own, or from the whole container."""
        self.local.add(instr.name)
        index = written_index(instr, self.flow.program)
        if not self.indirect(index, instr.guard) and instr.container not in self.in_place:
            self.inputs[instr.name] = (instr.container, self.element(instr.container, index))
            return
        connector = self.free(f"all_{instr.container}")
        self.inputs[connector] = (instr.container, self.flow.whole(instr.container))
        container = self.flow.program.containers[instr.container]
        if container.shape == (1,):  # DaCe would pass the element, which has no subscript, and which a store may change
            self.pointers[connector] = dace.pointer(container.dtype)
        read = f"{connector}[{_subscript(index, container)}]"
        self.text.append(
            f"{instr.name} = ({read} if {instr.guard} else 0)" if instr.guard else f"{instr.name} = {read}"
        )

    def free(self, connector: str) -> str:
        """Return a connector's name that is no container's: in C++ it would hide that container."""
        while connector in self.flow.program.containers:
            connector += "_"
        return connector

    def store(self, instr: Store) -> None:
        """Write an element through a memlet of its own, or into the whole container."""
        wcr = None if instr.mode == "set" else WCR[instr.mode]
        index = written_index(instr, self.flow.program)
        if free_names(*index) & self.local:
            memlet = self.flow.whole(instr.container)
            connector = self.free(f"into{len(self.outputs)}_{instr.container}")
            target = f"{connector}[{_subscript(index, self.flow.program.containers[instr.container])}]"
            memlet.dynamic = True
        else:
            stem = STREAMED if instr.streamed else "out"
            memlet, connector = self.element(instr.container, index), self.free(f"{stem}{len(self.outputs)}")
            target = connector
        memlet.wcr, memlet.wcr_nonatomic = wcr, wcr is not None
        memlet.dynamic |= bool(instr.guard) or instr.container in self.in_place
        if instr.guard:
            self.text.append(f"if {instr.guard}:\n    {target} = {instr.value}")
        else:
            self.text.append(f"{target} = {instr.value}")
        self.outputs[connector] = (instr.container, memlet)


def written_index(access: Load | Store, program: Program) -> tuple:
    """Return a subscript; of a container with one element DaCe does not take a computed one."""
    alone = all(n == 1 for n in program.containers[access.container].shape)
    return (sympy.Integer(0),) * len(access.index) if alone else access.index


def out_of_order(leaf: Leaf, program: Program) -> frozenset[str]:
    """Return containers of which an element may be read or written too early or too late by memlets of single elements.

    DaCe reads such elements before the body, and writes them after it; all other accesses stay where they are.
    """
    accesses: dict[str, list[tuple[int, Load | Store]]] = {}
    for access in leaf.accesses:
        stays = access.guard is not None or bool(free_names(*written_index(access, program)) & leaf.defined)
        when = 1 if stays else 2 * isinstance(access, Store)
        accesses.setdefault(program.root(access.container), []).append((when, access))
    return frozenset(a.container for known in accesses.values() if _may_swap(known) for _, a in known)


def _may_swap(accesses: list[tuple[int, Load | Store]]) -> bool:
    """True if a later access comes first, and one of the two may write the element of the other one."""
    return any(
        when > later and (isinstance(a, Store) or isinstance(b, Store)) and not _differ(a, b)
        for k, (when, a) in enumerate(accesses)
        for later, b in accesses[k + 1 :]
    )


def _differ(a: Load | Store, b: Load | Store) -> bool:
    """True if two accesses never touch one element."""
    pairs = zip(a.index, b.index, strict=True) if a.container == b.container else ()
    return any((gap := sympy.expand(x - y)).is_number and gap != 0 for x, y in pairs)


def _subscript(index: tuple, container: Container) -> str:
    """Return a subscript as DaCe counts dimensions: without those of extent one, if there are others."""
    long = [i for i, n in zip(index, container.shape, strict=True) if n != 1]
    return ", ".join(ast.unparse(to_ast(i)) for i in long or index)
