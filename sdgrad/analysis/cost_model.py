"""What it costs to run programs: instances of leaves and instructions, with a guess for what is not known."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import cache

import sympy

from sdgrad.analysis.access_relations import loop_param
from sdgrad.config import config
from sdgrad.program.tree import Block, Instr, Leaf, Let, Loop, Node, Param, Scope, children
from sdgrad.symbolic.expr import free_names, substitute

Middle = Mapping[str, sympy.Expr]  # values of parameters


def instances(block: Block) -> float:
    """Instances of leaves, with other parameters in the middle of their ranges where bounds depend on these."""
    return _of_block(block, {}, lambda leaf: 1)


def instructions(block: Block) -> float:
    """Instructions of leaves, in as many instances."""
    return _of_block(block, {}, lambda leaf: sum(map(_of_instr, leaf.body)))


@cache
def trips(params: tuple[Param, ...]) -> int:
    """About how many instances a nest has."""
    size = sympy.Mul(*(p.count for p in params))
    return max(1, int(size.subs({s: config.machine.unknown_size for s in size.free_symbols})))


def _of_instr(instr: Instr) -> int:
    functions = isinstance(instr, Let) and any(isinstance(n, ast.Call) for n in ast.walk(instr.expr))
    return config.machine.function_cost if functions else 1


def _of_block(block: Block, around: Middle, each: Callable[[Leaf], int]) -> float:
    return sum(_of_node(n, around, each) for n in block)


def _of_node(node: Node, around: Middle, each: Callable[[Leaf], int]) -> float:
    if isinstance(node, Leaf):
        return counted(node.params, around)[0] * each(node)
    count, inner = entered(node, around)
    return count * sum(_of_block(b, inner, each) for b in children(node))


def entered(node: Node, around: Middle) -> tuple[float, Middle]:
    """How often what a node holds runs, and the middle of the node's ranges beside what is ``around``."""
    if isinstance(node, Scope):
        return counted(node.params, around)
    if isinstance(node, Loop):
        param = loop_param(node)
        return counted((param,), around) if param is not None else (float(config.machine.unknown_size), around)
    return 1.0, around


def counted(params: tuple[Param, ...], around: Middle) -> tuple[float, Middle]:
    """How many instances parameters have, and the middle of their ranges beside what is ``around``."""
    middle, total = dict(around), 1.0
    for p in params:
        count, start, stop = (_value(e, middle) for e in (p.count, p.start, p.stop))
        total *= max(0.0, count)
        middle[p.name] = sympy.Float((start + stop) / 2)
    return total, middle


def _value(expr: sympy.Expr, middle: Middle) -> float:
    expr = sympy.sympify(expr)
    known = {n: middle.get(n, sympy.Integer(config.machine.unknown_size)) for n in free_names(expr)}
    try:
        return float(substitute(expr, known))
    except TypeError:  # of a function of the program
        return float(config.machine.unknown_size)
