"""Sums by chunks that threads can share out: each chunk adds to memory of its own, and a second step adds these up.

The number of chunks does not depend on that of threads, so results are the same with any number of them.
"""

from __future__ import annotations

from dataclasses import replace

import sympy
from dace import data as dt

from sdgrad.optimize.locality.threads import SMALLEST_PARALLEL_WORK, work
from sdgrad.program.leaves import params_of, rename_instr
from sdgrad.program.names import Names
from sdgrad.program.tree import Container, Leaf, Load, Param, Program, Store
from sdgrad.symbolic.expr import free_names, sym

CHUNKS = 16
LEAST_TURNS = 2  # of a chunk
SMALL = 8  # by how much the second step has to be smaller than the first
LARGEST = 2**20  # elements of what the chunks add to
ZERO, ONE = sympy.Integer(0), sympy.Integer(1)


def in_chunks(
    leaf: Leaf, row: Param | None, program: Program, names: Names
) -> tuple[Leaf, list[Leaf], list[Container]] | None:
    """A leaf with a chunk as its first parameter, what adds up its sums, and memory; None where that does not pay.

    :param row: a parameter that is to stay as it is.
    """
    amount = work(leaf, {}, program)
    if amount is None or amount < 2 * SMALLEST_PARALLEL_WORK or any(p.step != 1 for p in leaf.params):
        return None
    if not all(p.start.is_number and p.stop.is_number for p in leaf.params):
        return None
    long = [p for p in leaf.params if p != row and p.count >= CHUNKS * LEAST_TURNS]
    if not long:
        return None
    split = max(long, key=lambda p: int(p.count))
    turns = -(-int(split.count) // CHUNKS)
    chunk = Param(names.fresh("chunk"), ZERO, sympy.Integer(-(-int(split.count) // turns) - 1), ONE)
    turn = names.fresh("turn")
    left = split.stop - split.start - turns * sym(chunk.name)
    stop = sympy.Integer(turns - 1) if split.count % turns == 0 else sympy.Min(turns - 1, left)
    place = {split.name: split.start + turns * sym(chunk.name) + sym(turn)}
    body, ends, made = [], [], []
    for i in leaf.body:
        if not isinstance(i, Store) or split.name in free_names(*i.index):
            body.append(rename_instr(i, {}, place))
            continue
        own = params_of(i, leaf)
        container = program.containers[i.container]
        shape = [CHUNKS, *(int(p.count) for p in own)]
        if sympy.prod(shape) > LARGEST:
            return None
        part = Container(names.fresh(f"part_{i.container}"), dt.Array(container.dtype, shape, transient=True))
        made.append(part)
        index = (sym(chunk.name), *(sym(p.name) - p.start for p in own))
        body.append(Store(part.name, index, i.value, i.mode, None, True))
        value = names.fresh("v")
        ends.append(Leaf((chunk, *own), (Load(value, part.name, index), replace(i, value=value)), leaf.source))
    if SMALL * sum(work(end, {}, program) or 0 for end in ends) > amount:
        return None
    params = (chunk, *(Param(turn, ZERO, stop, ONE) if p is split else p for p in leaf.params))
    return replace(leaf, params=params, body=tuple(body)), ends, made
