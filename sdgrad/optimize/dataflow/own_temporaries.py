"""Give each part of a program temporaries of its own, where none of them reads what another one left there.

A loop that runs again on the way backwards uses the temporaries of the first run::

    for t: s[:] = sin(x[t]); y += s * s             for t: s[:] = sin(x[t]); y += s * s
    ..                                      -->     ..
    for t: s[:] = sin(x[t]); dx[t] = ..             for t: s_0[:] = sin(x[t]); dx[t] = ..

Each of them sets the elements of ``s`` before it reads them (Tu & Padua 1993). With a name of its own for each, ``s``
is private to an iteration in both: it takes memory for as long as an iteration runs, or becomes a row, or a scalar.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sdgrad.analysis.loop_private import defined_before_read, defined_first
from sdgrad.analysis.uses import used, users
from sdgrad.program.names import Names
from sdgrad.program.own_memory import viewed
from sdgrad.program.rename import renamed, renamed_container
from sdgrad.program.tree import Block, Container, Program, children, with_children

Place = tuple[int, ...]
"""Where a block stands: a node's number and that of the block in it, and so on."""


def own_temporaries(program: Program, names: Names) -> Program:
    """Rename temporaries such that no two blocks share one if each sets what it reads of it."""
    everywhere = users(program.body, program)
    seen = viewed(program)
    own = (n for n, c in program.containers.items() if c.transient and c.view_of is None and n not in seen)
    search = _Search(program, everywhere)
    places = search.places(program.body, (), {n for n in own if everywhere[n] > 1})
    found = {n: places[n][1:] for n in sorted(places) if len(places[n]) > 1}  # the first one keeps its name
    if not found:
        return program
    renames: dict[Place, dict[str, str]] = {}
    made: dict[str, Container] = {}
    for name, others in found.items():
        for place in others:
            fresh = names.fresh(name)
            renames.setdefault(place, {})[name] = fresh
            made[fresh] = renamed_container(program.containers[name], {name: fresh}, {})
    body = _renamed(program.body, (), renames)
    return replace(program, body=body, containers={**program.containers, **made})


@dataclass
class _Search:
    """Find the blocks that set a temporary before they read it.

    :param everywhere: number of users in the whole program, by container.
    """

    program: Program
    everywhere: Counter[str]

    def places(self, block: Block, place: Place, asked: set[str]) -> dict[str, list[Place]]:
        """Return the innermost such blocks in a block, by temporary, if all that use it are such blocks."""
        here = {n for node in block for n in used(node, self.program)} & asked
        found: dict[str, list[Place]] = {}
        failed: set[str] = set(here)
        for k, node in enumerate(block):
            for arm, inner in enumerate(children(node)):
                below = users(inner, self.program)
                wanted = asked & below.keys()
                if not wanted:
                    continue
                deeper = self.places(inner, (*place, k, arm), wanted - here)
                failed |= wanted - deeper.keys()
                for name, where in deeper.items():
                    found.setdefault(name, []).extend(where)
        within = users(block, self.program)
        shared = {n for n in here if within[n] < self.everywhere[n]}
        first = defined_first(block, self.program, shared)
        begun = first | defined_before_read(block, self.program, shared - first)
        return {n: w for n, w in found.items() if n not in failed} | {n: [place] for n in begun}


def _renamed(block: Block, place: Place, renames: Mapping[Place, Mapping[str, str]]) -> Block:
    """Return a block with other temporaries in some blocks."""
    if place in renames:
        block = renamed(block, renames[place])

    def within(k: int, arm: int) -> bool:
        return any(p[: len(place) + 2] == (*place, k, arm) for p in renames)

    made = []
    for k, node in enumerate(block):
        inner = [
            _renamed(b, (*place, k, arm), renames) if within(k, arm) else b for arm, b in enumerate(children(node))
        ]
        made.append(with_children(node, tuple(inner)) if inner else node)
    return tuple(made)
