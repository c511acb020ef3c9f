"""Count the iterations of loops ahead: run the slice of a node that decides about them on copies of its containers.

A tape inside a loop with an iteration count not known on entry needs its size before the loop runs. A program slice
(Weiser 1984) keeps conditions, bounds, and all statements these depend on. It runs first and leaves every container as
it was::

    while r > tol:                  r_ = copy(r); total = 0
        x = f(x, r)         -->     while r_ > tol: r_ = g(r_); total += 1
        r = g(r)                    tape = empty(total); the loop itself
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import dace
from dace import data as dt

from sdgrad.analysis.paths import Path
from sdgrad.program.arrays import assign as copy_of
from sdgrad.program.leaves import set_scalar, value_of_scalar
from sdgrad.program.names import Names
from sdgrad.program.rename import renamed
from sdgrad.program.tree import (
    Container,
    Node,
    Program,
    SymbolAssign,
    Value,
    writes,
)
from sdgrad.symbolic import code
from sdgrad.tape.plan import Counter
from sdgrad.tape.slices import Criterion, closed, part_of


def count_trips(
    node: Node, path: Path, counters: Mapping[Path, Counter], program: Program, names: Names
) -> tuple[list[Node], dict[str, Container]]:
    """Return nodes that give the ``total`` of each counter its value, and the containers they work on."""
    totals = {p: Container(names.fresh(c.total), dt.Scalar(dace.int64, transient=True)) for p, c in counters.items()}
    control = deciding(node, path, {p: c.name for p, c in totals.items()}, program)
    written = sorted({program.root(w) for w in writes(control)} - {c.name for c in totals.values()})
    copies = _copies(written, program, names)
    mapping = {n: c.name for n, c in copies.items()}
    filled = {program.root(w) for n in program.body[: path[0]] for w in writes(n)} | set(program.arguments)
    before = [copy_of(copies[n], program.containers[n], "set", names, f"trial_{n}") for n in written if n in filled]
    v = names.fresh("v")
    zeros = [set_scalar(c.name, Value((), code.constant(0)), v, node.source) for c in totals.values()]
    after = [SymbolAssign(counters[p].total, value_of_scalar(c.name, v), dace.int64) for p, c in totals.items()]
    made = {c.name: c for c in (*totals.values(), *copies.values())}
    return [*zeros, *before, *renamed((control,), mapping), *after], made


def _copies(written: Sequence[str], program: Program, names: Names) -> dict[str, Container]:
    """Make working copies of containers, and of all views of these, by the name of the original."""
    views = [c for c in program.containers.values() if c.view_of is not None and program.root(c.name) in written]
    copies = {n: program.containers[n].local(names.fresh(f"trial_{n}")) for n in written}
    for view in views:
        copies[view.name] = replace(view, name=names.fresh(f"trial_{view.name}"))
    for view in views:
        base = copies[view.view_of or ""].name
        copies[view.name] = replace(copies[view.name], view_of=base)
    return copies


def deciding(node: Node, path: Path, counted: Mapping[Path, str], program: Program) -> Node:
    """Return the part of a node that decides how often some loops run, and counts that in containers."""
    control = part_of(node, path, closed([(path, node)], Criterion(set(), set(), counted), program), program)
    assert control is not None
    return control
