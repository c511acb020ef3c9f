"""Say which loops ask whether the user interrupts the program: those that may take long."""

from __future__ import annotations

import math

from sdgrad.program.tree import Block, Leaf, Loop, Node, NodeCall, Param, Scope, Value, children, walk
from sdgrad.symbolic import code

POLL = "sdgrad::poll();"
"""Asks (``sdgrad_interrupt.h``)."""
SHORT = 100_000
"""Statements of a loop that need not ask: what is around it asks soon enough, and compilers unroll short loops."""


def polls(loop: Loop) -> bool:
    """True of a loop that nobody knows the end of, and of one with loops in it that is not short."""
    if loop.stop is None or loop.also is not None:
        return True
    inner = any(isinstance(n, (Loop, NodeCall)) or isinstance(n, (Leaf, Scope)) and n.params for n in walk(loop.body))
    return inner and _work((loop,)) > SHORT


def _work(block: Block) -> float:
    """Return how many statements a block runs; infinity if nobody knows."""
    return sum(map(_of_node, block))


def _of_node(node: Node) -> float:
    if isinstance(node, Leaf):
        return math.prod(map(_count, node.params)) * len(node.body)
    if isinstance(node, NodeCall):
        return math.inf
    inner = sum(map(_work, children(node)))
    if isinstance(node, Scope):
        return math.prod(map(_count, node.params)) * inner
    return _trips(node) * inner if isinstance(node, Loop) else inner


def _count(param: Param) -> float:
    return float(param.count) if param.count.is_number else math.inf


def _trips(loop: Loop) -> float:
    start, stop, step = map(_number, (loop.start, loop.stop, loop.step))
    return max(0.0, (stop - start) // step + 1) if math.isfinite(start + stop + step) and step else math.inf


def _number(value: Value | None) -> float:
    found = None if value is None else code.number_of(value.expr)
    return math.inf if found is None or isinstance(found, complex) else float(found)
