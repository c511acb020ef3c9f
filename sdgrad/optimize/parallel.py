"""Threads where the work pays for them: small maps run in one."""

from __future__ import annotations

from dataclasses import replace

import dace
import sympy

from sdgrad.program.tree import Block, Expr, Leaf, Node, Program, Scope, children, with_children
from sdgrad.symbolic.expr import free_names

SMALLEST_PARALLEL_WORK = 50_000  # instructions below which waking a second thread costs more than it saves
UNKNOWN_TRIPS = 16  # assumed for ranges that depend on other parameters or on symbols inside a body


def choose_threads(program: Program) -> Program:
    """The program with small maps of known size sequential."""
    return replace(program, body=_block(program.body))


def _block(block: Block) -> Block:
    return tuple(_node(n) for n in block)


def _node(node: Node) -> Node:
    if isinstance(node, (Leaf, Scope)):
        amount = work(node)
        small = amount is not None and amount < SMALLEST_PARALLEL_WORK
        if node.params and small and node.schedule == dace.ScheduleType.Default:
            return replace(node, schedule=dace.ScheduleType.Sequential)
        return node
    return with_children(node, tuple(_block(b) for b in children(node)))


def work(node: Node) -> int | None:
    """About how many instructions a node runs; None where the sizes are symbols."""
    own = len(node.body) if isinstance(node, Leaf) else 0
    inner = [work(n) for block in children(node) for n in block]
    if any(w is None for w in inner):
        return None
    amount: Expr = sympy.Integer(max(1, own + sum(w for w in inner if w is not None)))
    names = {p.name for p in getattr(node, "params", ())}
    for p in getattr(node, "params", ()):
        amount = amount * (UNKNOWN_TRIPS if free_names(p.start, p.stop) & names else p.count)
    return int(amount) if amount.is_number else None
