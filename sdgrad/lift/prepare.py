"""Prepare a graph for lifting: expand library nodes, raise control flow, infer connector types."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Sequence
from typing import Any

import dace
from dace import nodes as nd
from dace import subsets
from dace.config import set_temporary
from dace.sdfg import InvalidSDFGError, infer_types
from dace.sdfg.state import ControlFlowRegion, SDFGState
from dace.transformation.interstate.loop_lifting import LoopLifting
from dace.transformation.passes.simplification.control_flow_raising import ControlFlowRaising

from sdgrad.errors import InvalidGraph
from sdgrad.lift.data_access import source_of
from sdgrad.lift.unit_extents import replace_unit_nodes
from sdgrad.program.implementations import choose_implementation
from sdgrad.program.integer_powers import with_plain_powers
from sdgrad.program.lowered import Lowered
from sdgrad.program.names import Names
from sdgrad.program.naming import is_returned
from sdgrad.program.registry import RULES
from sdgrad.runtime.compile.python_call import CallsPython
from sdgrad.runtime.libraries.communication import is_of_dace

LIFTED = ("Reduce", "Einsum")  # library nodes read as leaves


def prepare(sdfg: dace.SDFG, own: bool = False) -> dace.SDFG:
    """Copy an SDFG for lifting: expand library nodes without a rule or a program, and infer connector types.

    DaCe's ``simplify`` is not used. It turns floats into symbols, captures parameters of nested SDFGs and drops views
    that nested SDFGs need; fusion does its useful part.

    :param own: the graph itself may be changed.
    :raises InvalidGraph: the graph fails DaCe's validation.
    """
    work = sdfg if own else copy.deepcopy(sdfg)
    specialize(work)
    clamp_indirect(work)
    name_inner_results(work)
    replace_unit_nodes(work)
    if own:
        distinct_labels(work)
        read_single_indices(work)
    try:
        work.validate()
    except (InvalidSDFGError, ValueError) as error:
        raise InvalidGraph(f"the graph '{sdfg.name}' is not valid: {error}") from error
    if any(is_unstructured(r) for r in work.all_control_flow_regions(recursive=True)):
        # the pass fails on irreducible graphs; lifting reports these, with their source
        with contextlib.suppress(TypeError, KeyError, ValueError):
            ControlFlowRaising().apply_pass(work, {})
            work.apply_transformations_repeated(LoopLifting, validate=False)
    with_plain_powers(work)
    expand_calls(work)
    infer_types.infer_connector_types(work)
    return work


def specialize(sdfg: dace.SDFG) -> None:
    """Write the values of symbols that are constants, as ``sdfg.specialize`` makes them: sizes are numbers then."""
    for graph in sdfg.all_sdfgs_recursive():
        known = [n for n in graph.constants_prop if n in graph.symbols]
        values = {n: str(graph.constants_prop.pop(n)[1]) for n in known}
        for name in known:
            del graph.symbols[name]
        if known:
            graph.replace_dict(values)


def name_inner_results(sdfg: dace.SDFG) -> None:
    """Rename temporaries that are called like returned values: the frontend leaves them in programs it inlines."""
    for graph in sdfg.all_sdfgs_recursive():
        names = Names(graph.symbols.keys() | graph.arrays.keys())
        for name in [n for n, desc in graph.arrays.items() if desc.transient and is_returned(n)]:
            graph.replace(name, names.fresh(f"inner{name}"))


def distinct_labels(sdfg: dace.SDFG) -> None:
    """Make labels of blocks unique: the frontend gives the copies of an unrolled loop body the same ones."""
    for region in sdfg.all_control_flow_regions(recursive=True):
        names = Names()
        for block in region.nodes():
            block.label = names.fresh(block.label)


def read_single_indices(sdfg: dace.SDFG) -> None:
    """Give each one-element array in a subscript a symbol: the frontend leaves the array's name in memlets."""
    for graph in sdfg.all_sdfgs_recursive():
        names = Names(graph.symbols.keys() | graph.arrays.keys())
        for state in list(graph.states()):
            _read_indices_before(state, graph, names)


def _read_indices_before(state: SDFGState, graph: dace.SDFG, names: Names) -> None:
    """Assign the one-element arrays in a state's memlets to symbols in a state before it."""
    memlets = [e.data for e in state.edges() if e.data.data is not None]
    mentioned = {str(s) for m in memlets for s in m.free_symbols} & graph.arrays.keys()
    symbols = {n: names.fresh(f"__sym_{n}") for n in sorted(mentioned) if graph.arrays[n].total_size == 1}
    if not symbols:
        return
    for name in symbols.values():
        graph.add_symbol(name, dace.int64)
    for memlet in memlets:
        memlet.replace(symbols)
    values = {s: f"{n}[{', '.join('0' * len(graph.arrays[n].shape))}]" for n, s in symbols.items()}
    state.parent_graph.add_state_before(state, f"{state.label}_index", assignments=values)


def clamp_indirect(sdfg: dace.SDFG) -> None:
    """Clamp memlets of indirect accesses to their containers: the frontend gives them the index array's extent."""
    for state, graph in ((st, g) for g in sdfg.all_sdfgs_recursive() for st in g.states()):
        for edge in state.edges():
            summary = isinstance(edge.src, nd.MapExit) or isinstance(edge.dst, nd.MapEntry)
            if edge.data.data is not None and (edge.data.volume == 1 or summary):
                _clamp(edge.data.subset, graph.arrays[edge.data.data].shape)


def _clamp(subset: subsets.Subset, shape: Sequence[Any]) -> None:
    """Cut the dimensions of a range that start at 0 and reach beyond a shape."""
    for d, (begin, end, step) in enumerate(subset.ranges if isinstance(subset, subsets.Range) else ()):
        if begin == 0 and end != 0 and d < len(shape) and (end >= shape[d]) == True:  # noqa: E712 (symbolic)
            subset.ranges[d] = (begin, shape[d] - 1, step)


def is_unstructured(region: object) -> bool:
    """True if a region is not a chain of blocks with unconditional edges."""
    return isinstance(region, ControlFlowRegion) and (
        any(region.out_degree(b) > 1 or region.in_degree(b) > 1 for b in region.nodes())
        or any(not e.data.is_unconditional() for e in region.edges())
    )


def expand_calls(sdfg: dace.SDFG) -> None:
    """Expand library nodes into maps until all that are left are read as leaves or have a rule."""
    while found := _expandable(sdfg):
        for node, state in found:
            choices = [c for c in ("pure", "specialize", "MappedTasklet", "pure-seq") if c in node.implementations]
            node.implementation = choices[0] if choices else None
            choose_implementation(node)
            # without line information, which DaCe looks up on the stack, and without a copy of the graph before
            with set_temporary("compiler", "lineinfo", value="none"), set_temporary("store_history", value=False):
                _expand(node, state)


def _expand(node: nd.LibraryNode, state: SDFGState) -> None:
    """Expand a library node.

    :raises InvalidGraph: DaCe cannot expand it.
    """
    try:
        node.expand(state)
    except Exception as error:  # those of expansions are of many kinds
        what = f"{type(node).__name__} '{node.label}' at {source_of(node)}"
        raise InvalidGraph(f"DaCe cannot expand the library node {what}: {error}") from error


def _expandable(sdfg: dace.SDFG) -> list[tuple[nd.LibraryNode, SDFGState]]:
    """Return the library nodes that neither a rule, a lowered program nor a leaf stands for, with their states.

    What calls Python stays: the declarations that its code needs would be lost.
    """
    kept = {*LIFTED, *RULES}
    states = [state for graph in sdfg.all_sdfgs_recursive() for state in graph.states()]
    nodes = [(n, state) for state in states for n in state.nodes() if isinstance(n, nd.LibraryNode)]
    nodes = [(n, s) for n, s in nodes if not isinstance(n, (Lowered, CallsPython)) and not is_of_dace(n)]
    return [(n, s) for n, s in nodes if type(n).__name__ not in kept]
