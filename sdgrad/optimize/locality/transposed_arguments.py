"""Transpose arguments that loops access with large strides: copy them in, and copy results back.

The caller chooses the layout of arguments; the program chooses that of temporaries
(:mod:`sdgrad.optimize.locality.data_layout`). Here each iteration uses one number of every cache line of ``c``::

    loop k = 1 .. 99: c[:, k] = .. c[:, k - 1] ..

    turned_c[:, :] = c[:, :]                          (turned_c has unit stride along its first dimension)
    loop k = 1 .. 99: turned_c[:, k] = .. turned_c[:, k - 1] ..
    c[:, :] = turned_c[:, :]

Declines if the copies cost more than they save, or if anything but elements of nests uses the argument.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import sympy

from sdgrad.analysis.access_relations import loop_param
from sdgrad.analysis.cost_model import trips
from sdgrad.analysis.definite_assignment import filled_in_parts
from sdgrad.analysis.loop_private import defined_first
from sdgrad.config import config
from sdgrad.optimize.locality.data_layout import along, only_elements
from sdgrad.optimize.locality.strides import known_bytes, known_trips, steps
from sdgrad.program.arrays import assign
from sdgrad.program.names import Names
from sdgrad.program.rename import renamed
from sdgrad.program.tree import Block, Leaf, Let, Loop, Node, Param, Program, children, reads, writes
from sdgrad.symbolic.expr import free_names


@dataclass(frozen=True)
class Traffic:
    """Arguments to copy in (live on entry) and arguments to copy out (written)."""

    entering: frozenset[str]
    leaving: frozenset[str]

    @staticmethod
    def of(program: Program, candidates: set[str]) -> Traffic:
        """Find which of some arguments are live on entry, and which are written."""
        written = {program.root(w) for n in program.body for w in writes(n)}
        read = {program.root(r) for n in program.body for r in reads(n)}
        made = defined_first(program.body, program, candidates)
        made |= filled_in_parts(program, candidates - made)
        return Traffic(frozenset((candidates & (read | written)) - made), frozenset(candidates & written))

    def copies(self, name: str) -> int:
        """Count the copies of an argument: none, one, or one in each direction."""
        return (name in self.entering) + (name in self.leaving)


def turn_arguments(program: Program, names: Names) -> Program:
    """Replace strided arguments by transposed copies; the program is unchanged if no copy pays."""
    candidates = _candidates(program)
    if not candidates:
        return program
    traffic = Traffic.of(program, candidates)
    turned = _worth(program, candidates, traffic)
    if not turned:
        return program
    twins = {n: along(program.containers[n].local(names.fresh(f"turned_{n}")), turned[n]) for n in sorted(turned)}
    body = (
        *(assign(twins[n], program.containers[n], "set", names, twins[n].name) for n in twins if n in traffic.entering),
        *renamed(program.body, {n: c.name for n, c in twins.items()}),
        *(assign(program.containers[n], twins[n], "set", names, n) for n in twins if n in traffic.leaving),
    )
    return replace(program, body=body, containers={**program.containers, **{c.name: c for c in twins.values()}})


def _candidates(program: Program) -> set[str]:
    """Return the large arguments of which only nests access elements; none if the program has no outer loop."""
    if not any(isinstance(n, Loop) for n in program.body):
        return set()
    return {
        n
        for n in only_elements(program, program.arguments)
        if known_bytes(program.containers[n]) >= config.machine.transposed_bytes
    }


def _worth(program: Program, candidates: set[str], traffic: Traffic) -> dict[str, int]:
    """Return the arguments whose transposition pays, each with the dimension to make contiguous."""
    found = {}
    votes = Counter(_walks(program.body, 1, False, candidates, program))
    for name in candidates:
        container = program.containers[name]
        last = len(container.shape) - 1
        best = max(range(last + 1), key=lambda d: votes[name, d])
        saved = (votes[name, best] - votes[name, last]) * (config.machine.cache_line_cost - 1)
        near = sympy.prod(container.shape[best:]) * container.dtype.bytes <= config.machine.transposing_bytes
        elements = known_bytes(container) // container.dtype.bytes
        if near and saved > config.machine.copy_cost * traffic.copies(name) * elements:
            found[name] = best
    return found


def _walks(block: Block, weight: int, looped: bool, able: set[str], program: Program) -> Counter[tuple[str, int]]:
    """Estimate how many accesses of nests in loops advance along each dimension of some arrays.

    :param weight: iterations of the enclosing loops.
    :param looped: True inside a loop; other nests do not count.
    """
    found: Counter[tuple[str, int]] = Counter()
    for node in block:
        if isinstance(node, Leaf) and looped and node.params:
            found += _advances(node, weight * trips(node.params), able, program)
        for inner in children(node):
            found += _walks(inner, weight * _trips(node), looped or isinstance(node, Loop), able, program)
    return found


def _advances(leaf: Leaf, instances: int, able: set[str], program: Program) -> Counter[tuple[str, int]]:
    """Count the accesses of a leaf that advance along each dimension with its innermost parameter."""
    found: Counter[tuple[str, int]] = Counter()
    moving = _innermost(leaf, program).name
    for access in (i for i in leaf.body if not isinstance(i, Let) and i.container in able):
        for d, e in enumerate(access.index):
            found[access.container, d] += instances * (moving in free_names(e))
    return found


def _innermost(leaf: Leaf, program: Program) -> Param:
    """Predict which parameter loop interchange will place innermost: one of unit stride, else the last one."""
    found = (p for p in reversed(leaf.params) if any(steps(x, p, program) == 1 for x in leaf.loads))
    return next(found, leaf.params[-1])


def _trips(node: Node) -> int:
    """Estimate the iterations of a loop; 1 for other nodes."""
    if not isinstance(node, Loop):
        return 1
    found = loop_param(node)
    return (known_trips(found) if found is not None else 0) or config.machine.layout_trips
