"""Estimate the cost of a block: instances of leaves and instructions, with a guess for unknown sizes.

Bounds that depend on outer variables are evaluated at the middle of the variables' ranges: a triangular nest counts
half of its rectangle.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

import sympy

from sdgrad.analysis.access_relations import loop_param
from sdgrad.config import config
from sdgrad.program.kept import kept
from sdgrad.program.tree import Block, Instr, Leaf, Let, Loop, Node, Param, Scope, children
from sdgrad.symbolic.expr import free_names, substitute
from sdgrad.symbolic.slow_functions import slow_calls_in

Middle = Mapping[str, sympy.Expr]
"""Middle of the range of each enclosing parameter."""


def instances(block: Block) -> float:
    """Estimate the number of instances of all leaves of a block."""
    return _of_block(block, {}, lambda leaf: 1)


def instructions(block: Block) -> float:
    """Estimate the number of instructions that a block runs; a function counts as several."""
    return _of_block(block, {}, lambda leaf: sum(map(_of_instr, leaf.body)))


def trips(params: tuple[Param, ...]) -> int:
    """Estimate the number of instances of a nest."""
    return _trips(params, config.machine.unknown_size)


@lru_cache(maxsize=1 << 12)
def _trips(params: tuple[Param, ...], unknown_size: int) -> int:
    size = sympy.Mul(*(p.count for p in params))
    return max(1, int(size.subs({s: unknown_size for s in size.free_symbols})))


def _of_instr(instr: Instr) -> int:
    """Cost of one instruction."""
    functions = isinstance(instr, Let) and any(isinstance(n, ast.Call) for n in instr.parts)
    return config.machine.function_cost if functions else 1


def of_body(body: Sequence[Instr]) -> int:
    """Cost of one instance of a leaf: that of its instructions, and more for slow functions."""
    return len(body) + config.machine.function_cost * slow_calls(body)


def slow_calls(body: Iterable[Instr]) -> int:
    """Count the functions that a body calls and that take longer than memory."""
    return sum(_slow_calls_of(i) for i in body if isinstance(i, Let))


@kept
def _slow_calls_of(instr: Let) -> int:
    """Count those of one instruction, which passes ask for again and again."""
    return slow_calls_in(instr.expr)


def _of_block(block: Block, around: Middle, each: Callable[[Leaf], int]) -> float:
    """Cost of a block, given the cost of one instance of each leaf."""
    return sum(_of_node(n, around, each) for n in block)


def _of_node(node: Node, around: Middle, each: Callable[[Leaf], int]) -> float:
    """Cost of a node, given the cost of one instance of each leaf."""
    if isinstance(node, Leaf):
        return counted(node.params, around)[0] * each(node)
    count, inner = entered(node, around)
    return count * sum(_of_block(b, inner, each) for b in children(node))


def entered(node: Node, around: Middle) -> tuple[float, Middle]:
    """Estimate how often the body of a node runs, and add the middle of its range to those ``around``."""
    if isinstance(node, Scope):
        return counted(node.params, around)
    if isinstance(node, Loop):
        param = loop_param(node)
        return counted((param,), around) if param is not None else (float(config.machine.unknown_size), around)
    return 1.0, around


def counted(params: tuple[Param, ...], around: Middle) -> tuple[float, Middle]:
    """Estimate the number of instances of parameters, and add the middle of their ranges to those ``around``."""
    middle, total = dict(around), 1.0
    for p in params:
        count, start, stop = (_value(e, middle) for e in (p.count, p.start, p.stop))
        total *= max(0.0, count)
        middle[p.name] = sympy.Float((start + stop) / 2)
    return total, middle


def _value(expr: sympy.Expr, middle: Middle) -> float:
    """Evaluate a bound, with a guess for each unknown symbol and for functions of the program."""
    expr = sympy.sympify(expr)
    known = {n: middle.get(n, sympy.Integer(config.machine.unknown_size)) for n in free_names(expr)}
    try:
        return float(substitute(expr, known))
    except TypeError:  # of a function of the program
        return float(config.machine.unknown_size)
