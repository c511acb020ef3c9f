"""Differentiate raw graphs: ``add_backward_pass`` and ``add_forward_tangent``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import dace
from dace import data as dt
from dace import nodes as nd

from sdgrad.api.gradient import MemoryLimit
from sdgrad.autodiff.differentiate import Differentiated
from sdgrad.autodiff.request import Request
from sdgrad.autodiff.seeds import gradient_name
from sdgrad.errors import ArgumentError
from sdgrad.machine.limits import Limit
from sdgrad.memory.limited import UnknownSize
from sdgrad.pipeline import differentiate, pushed, to_graph, to_limited_graph

Names: TypeAlias = "str | nd.AccessNode | Sequence[str | nd.AccessNode]"


def add_backward_pass(
    sdfg: dace.SDFG,
    inputs: Names = (),
    outputs: Names = (),
    state: dace.SDFGState | None = None,
    *,
    separate_sdfgs: bool = False,
    simplify: bool = True,
    strong_zero: bool = True,
    unused: str = "zero",
    stop: Names = (),
    memory_limit: MemoryLimit = None,
) -> dace.SDFG:
    """Extend a graph by its backward pass.

    After it, the graph also takes ``gradient_<name>`` for each input and output, of the same shape (scalars: one
    element). Those of the outputs hold the cotangents on entry; to those of the inputs the gradients are added. A
    container that is both is seeded in its gradient, and the gradient returns there.

    :param sdfg: the graph; extended in place. If differentiation fails, it is left as it was.
    :param inputs: containers to differentiate by, as names or access nodes. Their *initial* content is meant.
    :param outputs: containers to differentiate. Their *final* content is meant.
    :param state: the state that holds the program, as DaCeML's function wants it; the whole graph is differentiated.
    :param separate_sdfgs: leave ``sdfg`` the forward pass and return the backward pass as a graph of its own; what the
        latter needs of the former is an output of the one and an input of the other.
    :param simplify: as ``dace.autodiff`` has it. The graphs come out of this library's own passes either way; DaCe's
        are not run.
    :param stop: containers that are read as constants, as :func:`sdgrad.stop_gradient` makes values of functions.
    :param memory_limit: the most memory that a run of the graph may take beside its arguments, as
        :func:`value_and_grad` has it. Sizes have to be numbers: specialize a graph with symbols first, or make it a
        function by :func:`~sdgrad.from_sdfg`, whose gradients have a plan for each size.
    :returns: the graph that holds the backward pass.
    :raises NameNotFound: an input or output names no container.
    :raises ArgumentError: the graph never writes an output that is no input.
    :raises DifferentiationError: with every reason why the graph cannot be differentiated.
    :raises MemoryLimitError: it takes more than that.
    """
    _check(sdfg)
    request = Request(_names(inputs), _names(outputs), True, strong_zero, unused, memory_limit=Limit.of(memory_limit))
    return _extended(sdfg, request, _names(stop), separate_sdfgs)


def _extended(sdfg: dace.SDFG, request: Request, stop: tuple[str, ...], separate: bool) -> dace.SDFG:
    """Extend a graph by its backward pass, or return that as another one.

    :raises ArgumentError: two graphs are wanted, and a limit of memory is given; or an output is never written.
    """
    _check_outputs(sdfg, request)
    if request.memory_limit is not None:
        if separate:
            raise ArgumentError("memory_limit is for one graph of both passes: leave out separate_sdfgs")
        try:
            take_over(sdfg, to_limited_graph(sdfg, request, stop))
        except UnknownSize as error:
            told = "sdgrad.from_sdfg makes a graph with symbols a function, whose gradients have a plan for each size"
            raise UnknownSize(f"{error}. {told}") from None
        return sdfg
    result = differentiate(sdfg, request, stop)
    if separate:
        return _two_graphs(sdfg, result, request)
    take_over(sdfg, to_graph(result.program))
    return sdfg


def _two_graphs(sdfg: dace.SDFG, result: Differentiated, request: Request) -> dace.SDFG:
    """Make a graph the forward pass, and return the backward pass, which takes the gradients that it leaves, too."""
    forward, backward = result.halves()
    asked = [gradient_name(n, result.normalized) for n in (*request.inputs, *request.outputs)]
    idle = [n for n in dict.fromkeys(asked) if n in backward.containers and n not in backward.arguments]
    take_over(sdfg, to_graph(forward))
    return to_graph(replace(backward, arguments=(*backward.arguments, *idle)))


def add_forward_tangent(
    sdfg: dace.SDFG, inputs: Names = (), outputs: Names = (), *, unused: str = "zero", stop: Names = ()
) -> dace.SDFG:
    """Extend a graph by its tangents (forward mode; Griewank & Walther 2008, 3.1).

    After it, the graph also takes ``tangent_<name>`` for each input and output, of the same shape (scalars: one
    element) and dtype. Those of the inputs hold tangents on entry. Those of the outputs hold, on return, the
    derivative of the outputs' final content in the direction of the inputs' tangents. A container that is both, or an
    input that the graph writes, has its tangent overwritten as it is overwritten itself.

    :param sdfg: the graph; extended in place. If differentiation fails, it is left as it was.
    :param inputs: containers whose initial content is moved, as names or access nodes.
    :param outputs: containers whose final content is asked for.
    :param stop: containers that are read as constants.
    :returns: the graph.
    :raises NameNotFound: an input or output names no container.
    :raises ArgumentError: the graph never writes an output that is no input.
    :raises DifferentiationError: with every reason why the graph cannot be differentiated.
    """
    _check(sdfg)
    request = Request(_names(inputs), _names(outputs), unused=unused)
    _check_outputs(sdfg, request)
    program = pushed(sdfg, request, _names(stop))
    take_over(sdfg, to_graph(program))
    return sdfg


def _check(sdfg: Any) -> None:
    """Check that a graph is one.

    :raises ArgumentError: it is something else.
    """
    if not isinstance(sdfg, dace.SDFG):
        raise ArgumentError(
            f"a dace.SDFG is wanted, not a {type(sdfg).__name__}: of a function, sdgrad.to_sdfg(f, ..) makes one, and "
            "sdgrad.grad(f) needs none"
        )


def _check_outputs(sdfg: dace.SDFG, request: Request) -> None:
    """Check that outputs are what a graph computes: most often inputs and outputs are exchanged where they are not.

    :raises ArgumentError: the graph never writes one of them, nor is it an input, whose gradient is what it is seeded.
    """
    written = {n.data for state in sdfg.states() for n in state.data_nodes() if state.in_degree(n)}
    idle = [n for n in request.outputs if n not in written | set(request.inputs) and _has_memory_of_its_own(sdfg, n)]
    if idle:
        results = sorted(n for n in written if not sdfg.arrays[n].transient)
        exchanged = bool(request.inputs) and written.issuperset(request.inputs)
        raise ArgumentError(
            f"the graph never writes the output '{idle[0]}', so that all its derivatives would be zero. It writes "
            f"{', '.join(results) or 'nothing'}" + ": are inputs and outputs exchanged?" * exchanged
        )


def _has_memory_of_its_own(sdfg: dace.SDFG, name: str) -> bool:
    """True of arrays and scalars, which no other name means, too."""
    aliases = any(isinstance(d, (dt.View, dt.Reference)) for d in sdfg.arrays.values())
    return type(sdfg.arrays.get(name)) in (dt.Array, dt.Scalar) and not aliases


def _names(given: Names) -> tuple[str, ...]:
    """Return names of containers: a string is one name, not its letters.

    :raises ArgumentError: something is neither a name nor an access node.
    """
    several = (given,) if isinstance(given, (str, nd.AccessNode)) else tuple(given)
    for one in several:
        if not isinstance(one, (str, nd.AccessNode)):
            raise ArgumentError(f"containers are given as names or access nodes, not as {type(one).__name__}")
    return tuple(n.data if isinstance(n, nd.AccessNode) else n for n in several)


def take_over(sdfg: dace.SDFG, new: dace.SDFG) -> None:
    """Give ``sdfg`` the content of ``new``; its identity and name stay, and the symbols that its callers give."""
    given = sdfg.free_symbols
    for block in list(sdfg.nodes()):
        sdfg.remove_node(block)
    for name in list(sdfg.arrays):
        del sdfg._arrays[name]
    for name in sdfg.symbols.keys() - new.symbols.keys() - given:
        sdfg.remove_symbol(name)
    for name, desc in new.arrays.items():
        sdfg.add_datadesc(name, desc)
    for name, dtype in new.symbols.items():
        if name not in sdfg.symbols:
            sdfg.add_symbol(name, dtype)
    for name, (desc, value) in new.constants_prop.items():
        sdfg.add_constant(name, value, desc)
    for location, text in new.global_code.items():
        sdfg.append_global_code(text.as_string, location)
    for block in new.nodes():
        sdfg.add_node(block, is_start_block=block is new.start_block)
    for edge in new.edges():
        sdfg.add_edge(edge.src, edge.dst, edge.data)
    for inner in sdfg.all_control_flow_regions():
        inner.sdfg = sdfg
    for nested in sdfg.states():
        nested.sdfg = sdfg
    for state in sdfg.states():
        for node in state.nodes():
            if isinstance(node, nd.NestedSDFG):
                node.sdfg.parent_sdfg = sdfg
                node.sdfg.parent = state
    sdfg.reset_cfg_list()
