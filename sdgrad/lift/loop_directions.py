"""Find which way a loop counts: up or down by its condition, and by its step if that is a number.

A step is a number if it is made of numbers, and of containers and symbols that only ever hold one number.
"""

from __future__ import annotations

import ast
from typing import Any

import dace
import sympy
from dace import nodes as nd
from dace import symbolic
from dace.sdfg.state import ControlFlowRegion, LoopRegion, SDFGState

from sdgrad.symbolic.expr import Expr


def direction_of_condition(loop: LoopRegion) -> int:
    """Return 1 if a loop runs while its variable is below a bound, -1 if above, 0 for any other condition."""
    condition = symbolic.pystr_to_symbolic(loop.loop_condition.as_string)
    variable = loop.loop_variable
    if isinstance(condition, (sympy.StrictLessThan, sympy.LessThan)):
        return 1 if str(condition.lhs) == variable else -1
    if isinstance(condition, (sympy.StrictGreaterThan, sympy.GreaterThan)):
        return -1 if str(condition.lhs) == variable else 1
    return 0


def trips(way: int, start: str, last: str, step: str, as_python: bool) -> str:
    """Return code for the number of iterations of a loop whose step may have either sign.

    :param way: where its condition lets it count.
    :param as_python: a step of the other sign counts the other way, as ``range`` does; else the loop has no iterations.
    """
    ends = {way: last} | ({-way: f"{last} + {2 * way}"} if as_python else {})
    counts = []
    for to, end in ends.items():
        size, distance = (step, f"{end} - {start}") if to > 0 else (f"-{step}", f"{start} - ({end})")
        counts.append(f"min(1, max(0, {size})) * max(0, int_floor({distance} + max(1, {size}), max(1, {size})))")
    return " + ".join(counts)


def constant(expr: Any, region: ControlFlowRegion) -> int | None:
    """Return the integer that an expression in a region always is; None if only a run knows it."""
    known = sympy.sympify(expr)
    found = {s: _held(str(s), region.sdfg) for s in known.free_symbols}
    if any(v is None for v in found.values()):
        return None
    value = known.subs(found)
    return int(value) if value.is_Integer else None


def _held(name: str, sdfg: dace.SDFG) -> Expr | None:
    """Return the only number that a symbol or a container of a (nested) SDFG holds; None if there is none."""
    numbers = _numbers(name, sdfg)
    node = sdfg.parent_nsdfg_node
    if numbers or node is None:
        return numbers.pop() if len(numbers) == 1 else None
    if name in node.symbol_mapping:
        value = constant(node.symbol_mapping[name], sdfg.parent.parent_graph)
        return None if value is None else sympy.Integer(value)
    sources = [e.data.data for e in sdfg.parent.in_edges_by_connector(node, name)]
    return _held(sources[0], sdfg.parent.sdfg) if sources and sources[0] is not None else None


def _numbers(name: str, sdfg: dace.SDFG) -> set[Expr | None]:
    """Return what a symbol or a transient is set to in an SDFG; None stands for what is no number."""
    assigned = {e.data.assignments[name] for e in sdfg.all_interstate_edges() if name in e.data.assignments}
    found = {_number(text) for text in assigned}
    if name in sdfg.arrays and sdfg.arrays[name].transient:
        writes = [(s, n) for s in sdfg.states() for n in s.data_nodes() if n.data == name and s.in_degree(n)]
        found |= {_stored(state, node) for state, node in writes}
    return found


def _number(text: str) -> Expr | None:
    """Return the value of an integer literal; None for any other text."""
    try:
        value = ast.literal_eval(text.strip())
    except (SyntaxError, ValueError):
        return None
    return sympy.Integer(value) if type(value) is int else None


def _stored(state: SDFGState, node: nd.AccessNode) -> Expr | None:
    """Return the number that a tasklet without inputs assigns to a container; None for any other write."""
    edges = state.in_edges(node)
    source = edges[0].src
    if len(edges) != 1 or not isinstance(source, nd.Tasklet) or state.in_degree(source):
        return None
    name, _, value = source.code.as_string.partition("=")
    return _number(value) if name.strip() == edges[0].src_conn and edges[0].data.wcr is None else None
