"""Write memory accesses and map scopes into the states of an SDFG, with exact memlets at tasklets."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import dace
from dace import nodes as nd
from dace import subsets
from dace.sdfg.state import SDFGState

from sdgrad.config import config
from sdgrad.program.tree import Leaf, Param, Program, Region, Scope


@dataclass
class Dataflow:
    """Write access nodes, memlets and maps of one program into one SDFG.

    :param nested: it is not the outermost one.
    :param defined: the symbols that get their values in it.
    """

    program: Program
    sdfg: dace.SDFG
    nested: bool = False
    defined: frozenset[str] = frozenset()
    info: dace.dtypes.DebugInfo = field(default_factory=lambda: dace.dtypes.DebugInfo(0))  # of the node being written

    def spelled(self, name: str) -> str:
        """Return a container's name in this SDFG: DaCe reserves ``__return`` for the outermost one."""
        return name.replace("__return", "returned") if self.nested else name

    def access(
        self, state: SDFGState, name: str, write: bool, cache: dict[tuple[str, bool], nd.AccessNode]
    ) -> nd.AccessNode:
        """Return the access node of a container in a state, with the chain of views that leads to it."""
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
        """Return the memlet of a whole container."""
        spelled = self.spelled(name)
        subset = subsets.Range.from_array(self.sdfg.arrays[spelled])
        return dace.Memlet(data=spelled, subset=subset, debuginfo=self.info)

    def enter(
        self, state: SDFGState, params: tuple[Param, ...], schedule: dace.ScheduleType, label: str
    ) -> tuple[nd.MapEntry, nd.MapExit]:
        """Return the entry and exit of a new map over parameters."""
        ranges = {p.name: subsets.Range([(p.start, p.stop, p.step)]) for p in params}
        entry, exit_ = state.add_map(identifier(label) or "map", ranges, schedule=schedule, debuginfo=self.info)
        if schedule == dace.ScheduleType.GPU_Device:
            entry.map.gpu_block_size = [config.machine.gpu_block, 1, 1]
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
        """Connect a container to what reads it, through the entry of the map ``scope`` if there is one."""
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
        """Connect what writes a container to it, through the exit of the map ``scope`` if there is one."""
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

    def operand(self, region: Region) -> dace.Memlet:
        """Return the memlet of an operand."""
        return dace.Memlet(data=self.spelled(region.container), subset=copy.deepcopy(region.subset), wcr=region.wcr)


def schedule_of(node: Leaf | Scope) -> dace.ScheduleType:
    """Return the schedule of a map; instances in order run sequentially."""
    return dace.ScheduleType.Sequential if node.sequential else node.schedule


def close(
    state: SDFGState, entry: nd.MapEntry, exit_: nd.MapExit, inside: nd.Node, has_in: bool, has_out: bool
) -> None:
    """Add an empty edge where a map's body reads nothing, and one where it writes nothing."""
    if not has_in:
        state.add_edge(entry, None, inside, None, dace.Memlet())
    if not has_out:
        state.add_edge(inside, None, exit_, None, dace.Memlet())


def identifier(text: str) -> str:
    """Return a label as an identifier of at most 40 characters; it may be empty."""
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in text).strip("_").lstrip("_0123456789")[:40]
