"""Arguments that loops walk across are turned first: copies that lie as the loops walk take their places.

``for k: c[:, :, k] = .. c[:, :, k - 1] ..`` takes one number of each line of the cache, trip by trip. The layout of
temporaries is free (:mod:`sdgrad.optimize.locality.data_layout`), and that of arguments the caller's; but copies take
less time than some of such loops.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import sympy

from sdgrad.analysis.access_relations import loop_param
from sdgrad.analysis.cost_model import trips
from sdgrad.analysis.definite_assignment import filled_in_parts
from sdgrad.analysis.loop_private import defined_first
from sdgrad.optimize.locality.data_layout import FAR, LOOP_GUESS, along, only_elements
from sdgrad.optimize.locality.strides import known_bytes, known_trips, steps
from sdgrad.program.arrays import assign
from sdgrad.program.names import Names
from sdgrad.program.rename import renamed
from sdgrad.program.tree import Block, Leaf, Let, Loop, Node, Param, Program, children, reads, writes
from sdgrad.symbolic.expr import free_names

SMALLEST = 2**17
"""Bytes of an array that lines are not read of for long."""
LARGEST = 2**18
"""Bytes that a copy goes through in another order, for them to be in the cache of a core meanwhile."""
COPY = 6
"""What it takes to copy an element, and what it is worth to have another array."""


def turn_arguments(program: Program, names: Names) -> Program:
    """The program with copies of such arguments, which it reads first and writes back last."""
    able = {n for n in only_elements(program, program.arguments) if known_bytes(program.containers[n]) >= SMALLEST}
    if not able or not any(isinstance(n, Loop) for n in program.body):
        return program
    written = {program.root(w) for n in program.body for w in writes(n)}
    read = {program.root(r) for n in program.body for r in reads(n)}
    made = defined_first(program.body, program, able)
    made |= filled_in_parts(program, able - made)
    kept = {n for n in able if n in read | written and n not in made}  # what is there when the program begins
    turned = _worth(program, able, {n: (n in kept) + (n in written) for n in able})
    if not turned:
        return program
    twins = {n: along(program.containers[n].local(names.fresh(f"turned_{n}")), turned[n]) for n in sorted(turned)}
    body = (
        *(assign(twins[n], program.containers[n], "set", names, twins[n].name) for n in twins if n in kept),
        *renamed(program.body, {n: c.name for n, c in twins.items()}),
        *(assign(program.containers[n], twins[n], "set", names, n) for n in twins if n in written),
    )
    return replace(program, body=body, containers={**program.containers, **{c.name: c for c in twins.values()}})


def _worth(program: Program, able: set[str], copies: dict[str, int]) -> dict[str, int]:
    """The arguments whose copies spare more than they take, and the dimensions that these are to lie along."""
    found = {}
    votes = Counter(_walks(program.body, 1, False, able, program))
    for name in able:
        container = program.containers[name]
        last = len(container.shape) - 1
        best = max(range(last + 1), key=lambda d: votes[name, d])
        spared = (votes[name, best] - votes[name, last]) * (FAR - 1)
        near = sympy.prod(container.shape[best:]) * container.dtype.bytes <= LARGEST
        if near and spared > COPY * copies[name] * known_bytes(container) // container.dtype.bytes:
            found[name] = best
    return found


def _walks(block: Block, weight: int, looped: bool, able: set[str], program: Program) -> Counter[tuple[str, int]]:
    """How often nests in loops move along each dimension of some arrays."""
    found: Counter[tuple[str, int]] = Counter()
    for node in block:
        if isinstance(node, Leaf) and looped and node.params:
            moving = _innermost(node, program)
            for access in (i for i in node.body if not isinstance(i, Let) and i.container in able):
                for d, e in enumerate(access.index):
                    found[access.container, d] += weight * trips(node.params) * (moving.name in free_names(e))
        for inner in children(node):
            found += _walks(inner, weight * _trips(node), looped or isinstance(node, Loop), able, program)
    return found


def _innermost(leaf: Leaf, program: Program) -> Param:
    """The parameter that will be innermost: the one that walks through memory, where there is one."""
    found = (p for p in reversed(leaf.params) if any(steps(x, p, program) == 1 for x in leaf.loads))
    return next(found, leaf.params[-1])


def _trips(node: Node) -> int:
    if not isinstance(node, Loop):
        return 1
    found = loop_param(node)
    return (known_trips(found) if found is not None else 0) or LOOP_GUESS
