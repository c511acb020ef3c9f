"""How much there is to do in a program: instances of leaves, to compare versions of it."""

from __future__ import annotations

from collections.abc import Mapping

import sympy

from sdgrad.analysis.relations import loop_param
from sdgrad.program.tree import Block, Leaf, Loop, Node, Param, Program, Scope, children
from sdgrad.symbolic.expr import free_names, substitute

UNKNOWN = sympy.Integer(64)
"""What sizes and trips are taken to be that only show when the program runs."""

Middle = Mapping[str, sympy.Expr]


def instances(program: Program) -> float:
    """Instances of leaves, with other parameters in the middle of their ranges where bounds depend on these."""
    return _of_block(program.body, {})


def _of_block(block: Block, around: Middle) -> float:
    return sum(_of_node(n, around) for n in block)


def _of_node(node: Node, around: Middle) -> float:
    if isinstance(node, Leaf):
        return _trips(node.params, around)[0]
    if isinstance(node, Scope):
        trips, around = _trips(node.params, around)
    elif isinstance(node, Loop):
        param = loop_param(node)
        trips, around = _trips((param,), around) if param is not None else (float(UNKNOWN), around)
    else:
        trips = 1.0
    return trips * sum(_of_block(b, around) for b in children(node))


def _trips(params: tuple[Param, ...], around: Middle) -> tuple[float, Middle]:
    middle, total = dict(around), 1.0
    for p in params:
        count, start, stop = (_value(e, middle) for e in (p.count, p.start, p.stop))
        total *= max(0.0, count)
        middle[p.name] = sympy.Float((start + stop) / 2)
    return total, middle


def _value(expr: sympy.Expr, middle: Middle) -> float:
    expr = sympy.sympify(expr)
    known = {n: middle.get(n, UNKNOWN) for n in free_names(expr)}
    try:
        return float(substitute(expr, known))
    except TypeError:  # of a function of the program
        return float(UNKNOWN)
