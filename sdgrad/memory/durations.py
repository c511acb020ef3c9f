"""Estimate how long the nodes of a program take: what it costs to run one of them again.

A node takes as long as its arithmetic, or as the memory that it walks through, whichever is longer (the roofline of
Williams, Waterman & Patterson, CACM 52, 2009). Estimates serve to rank plans, and not to predict a clock.
"""

from __future__ import annotations

import math

from sdgrad.analysis.cost_model import Middle, counted, entered, instructions
from sdgrad.config import config
from sdgrad.program.tree import Block, Leaf, Node, NodeCall, Program, Region, children

CUBIC = ("Lapack", "Factor", "Cholesky", "Solve", "Eig", "Svd", "QR", "Inv")
"""Parts of the names of calls that take as many operations as the largest matrix has elements, to the power of 3/2."""
CONVOLUTIONS = ("Conv",)
OPERATIONS_PER_ELEMENT = 20  # of any other call


def seconds(block: Block, program: Program, around: Middle | None = None) -> float:
    """Estimate the time of a block, with a guess for numbers that only a run knows."""
    return sum(_of_node(node, program, around or {}) for node in block)


def _of_node(node: Node, program: Program, around: Middle) -> float:
    start, bandwidth = config.machine.seconds_per_call, config.machine.bytes_per_second
    if isinstance(node, Leaf):
        count = counted(node.params, around)[0]
        arithmetic = count * instructions((_single(node),)) / config.machine.instructions_per_second
        width = sum(program.containers[x.container].dtype.bytes for x in node.accesses)
        return start + max(arithmetic, count * width / bandwidth)
    if isinstance(node, NodeCall):
        return start + _of_call(node, program)
    count, inner = entered(node, around)
    return count * sum(seconds(block, program, inner) for block in children(node))


def _single(leaf: Leaf) -> Leaf:
    """Return one instance of a leaf."""
    return Leaf((), leaf.body)


def _of_call(call: NodeCall, program: Program) -> float:
    """Estimate the time of a call from the sizes of its operands."""
    sizes = sorted((_elements(r) for r in call.regions.values()), reverse=True)
    width = max((program.containers[r.container].dtype.bytes for r in call.regions.values()), default=8)
    kind, rate = call.kind, config.machine.flops_per_second
    moved = sum(sizes) * width / config.machine.bytes_per_second
    if any(part in kind for part in CONVOLUTIONS) and len(sizes) >= 3:
        return max(moved, 2 * math.sqrt(math.prod(sizes[:3])) * 3 / rate)
    if any(part in kind for part in CUBIC):
        return max(moved, sizes[0] ** 1.5 / rate)
    if len(sizes) >= 3 and len(call.inputs) >= 2:  # m k, k n and m n elements: their product is (m k n) ** 2
        return max(moved, 2 * math.sqrt(math.prod(sizes[:3])) / rate)
    return max(moved, sum(sizes) * OPERATIONS_PER_ELEMENT / config.machine.instructions_per_second)


def _elements(region: Region) -> float:
    size = region.subset.num_elements()
    return float(size.subs({s: config.machine.unknown_size for s in getattr(size, "free_symbols", ())}))
