"""Keep the larger and the smaller of two numbers as the host has them: CUDA's own functions drop a NaN."""

from __future__ import annotations

import ast
from dataclasses import replace

from sdgrad.program.tree import Block, Leaf, Let, map_blocks
from sdgrad.symbolic import code

OF_THE_HOST = {"max": "sdgrad_larger", "min": "sdgrad_smaller"}


def with_host_extremes(block: Block) -> Block:
    """Replace the calls of ``max`` and ``min`` in all leaves by functions of one comparison."""
    return tuple(_of_leaf(n) if isinstance(n, Leaf) else map_blocks(n, with_host_extremes) for n in block)


def _of_leaf(leaf: Leaf) -> Leaf:
    body = (replace(i, expr=code.bottom_up(i.expr, _named)) if isinstance(i, Let) else i for i in leaf.body)
    return replace(leaf, body=tuple(body))


def _named(expr: ast.expr) -> ast.expr:
    if isinstance(expr, ast.Call) and (own := OF_THE_HOST.get(code.callee(expr))):
        first, *rest = expr.args
        return code.call(own, first, rest[0] if len(rest) == 1 else _named(code.call(code.callee(expr), *rest)))
    return expr
