"""Privatize a sum: strip-mine one loop into chunks, give each chunk a copy of the result, and merge the copies.

::

    map i=0:n:                     map chunk=0:16:
      t = x[i]                       map turn=0:n/16:
      s[0] += t                        t = x[n/16 * chunk + turn]
                                       part[chunk] += t (fresh)
                                   map chunk=0:16:
                                     v = part[chunk]
                                     s[0] += v

Threads share the chunks. The number of chunks does not depend on the number of threads, so that results do not either.
Declined are sums with too little work, ranges that are no numbers, results that are too large, and sums for which
merging would take too long. (Allen & Kennedy 2001, on privatization and reductions.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import sympy
from dace import data as dt

from sdgrad.config import config
from sdgrad.optimize.locality.threads import work
from sdgrad.program.leaves import params_of, rename_instr
from sdgrad.program.names import Names
from sdgrad.program.tree import Container, Expr, Instr, Leaf, Load, Param, Program, Store
from sdgrad.symbolic.expr import sym

ZERO, ONE = sympy.Integer(0), sympy.Integer(1)


@dataclass(frozen=True)
class Chunks:
    """A strip-mined parameter: the loop over chunks, the loop within one, and the old parameter in terms of both."""

    split: Param
    chunk: Param
    turn: Param
    place: Mapping[str, Expr]


@dataclass(frozen=True)
class Private:
    """A sum into private copies: the copies, the store into one of them, and the leaf that merges them."""

    copies: Container
    store: Store
    merge: Leaf


def in_chunks(
    leaf: Leaf, row: Param | None, program: Program, names: Names
) -> tuple[Leaf, list[Leaf], list[Container]] | None:
    """Privatize the sums of a leaf: return its chunked form, the leaves that merge the copies, and these; or None.

    :param row: a parameter that must stay one loop.
    """
    amount = work(leaf, {}, program)
    if amount is None or amount < 2 * config.machine.parallel_instructions:
        return None
    if (split := longest(leaf, row)) is None:
        return None
    chunks = strip_mined(split, names)
    found = privatized(leaf, chunks, program, names)
    if found is None:
        return None
    body, private = found
    merges = [p.merge for p in private]
    if config.machine.private_merge_share * sum(work(m, {}, program) or 0 for m in merges) > amount:
        return None
    params = (chunks.chunk, *(chunks.turn if p is split else p for p in leaf.params))
    return replace(leaf, params=params, body=tuple(body)), merges, [p.copies for p in private]


def longest(leaf: Leaf, row: Param | None) -> Param | None:
    """Choose the longest parameter for strip mining; None if ranges are no numbers, or all are too short."""
    if any(p.step != 1 or not (p.start.is_number and p.stop.is_number) for p in leaf.params):
        return None
    least = config.machine.private_copies * config.machine.private_trips
    long = [p for p in leaf.params if p != row and p.count >= least]
    return max(long, key=lambda p: int(p.count), default=None)


def strip_mined(split: Param, names: Names) -> Chunks:
    """Strip-mine a parameter; the last chunk is shorter if the chunks do not divide the range."""
    turns = -(-int(split.count) // config.machine.private_copies)
    chunk = Param(names.fresh("chunk"), ZERO, sympy.Integer(-(-int(split.count) // turns) - 1), ONE)
    name = names.fresh("turn")
    left = split.stop - split.start - turns * sym(chunk.name)
    stop = sympy.Integer(turns - 1) if split.count % turns == 0 else sympy.Min(turns - 1, left)
    place = {split.name: split.start + turns * sym(chunk.name) + sym(name)}
    return Chunks(split, chunk, Param(name, ZERO, stop, ONE), place)


def privatized(leaf: Leaf, chunks: Chunks, program: Program, names: Names) -> tuple[list[Instr], list[Private]] | None:
    """Redirect the sums that chunks share to private copies; None if the copies would be too large."""
    body: list[Instr] = []
    private: list[Private] = []
    for i in leaf.body:
        if not isinstance(i, Store) or chunks.split.name in i.index_names:
            body.append(rename_instr(i, {}, chunks.place))
            continue
        found = _copied(i, leaf, chunks.chunk, program, names)
        if found is None:
            return None
        private.append(found)
        body.append(found.store)
    return body, private


def _copied(store: Store, leaf: Leaf, chunk: Param, program: Program, names: Names) -> Private | None:
    """Give each chunk a copy of the elements that a sum reaches; None if the copies would be too large."""
    own = params_of(store, leaf)
    shape = [config.machine.private_copies, *(int(p.count) for p in own)]
    if sympy.prod(shape) > config.machine.private_elements:
        return None
    dtype = program.containers[store.container].dtype
    copies = Container(names.fresh(f"part_{store.container}"), dt.Array(dtype, shape, transient=True))
    index = (sym(chunk.name), *(sym(p.name) - p.start for p in own))
    value = names.fresh("v")
    merge = Leaf((chunk, *own), (Load(value, copies.name, index), replace(store, value=value)), leaf.source)
    return Private(copies, Store(copies.name, index, store.value, store.mode, None, True), merge)
