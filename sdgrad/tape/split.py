"""Split a differentiated program in two: a forward half that fills the tape, and a backward half that reads it.

Containers that the forward half writes and the backward half uses become arguments of both halves: the *residuals* of a
pullback. If a caller limits what may be stored, the backward half recomputes the rest from the arguments. This is
rematerialization: the backward half starts with the slice of the forward half that computes it.
"""

from __future__ import annotations

from collections.abc import Collection, Set
from dataclasses import dataclass, replace
from functools import cached_property

from dace import data as dt

from sdgrad.program.arrays import boundary
from sdgrad.program.leaves import set_scalar, value_of_scalar
from sdgrad.program.names import Names
from sdgrad.program.symbols import assigned_symbols, unbound_symbols, used_symbols
from sdgrad.program.tree import Block, Container, Node, Program, SymbolAssign, Value, reads, walk, writes
from sdgrad.symbolic import code


@dataclass(frozen=True)
class Halves:
    """Hold the forward and the backward half.

    ``kept`` are the residuals, arguments of both. ``restarted`` are arguments that the backward half takes with their
    values from before the forward half, since it recomputes from them.
    """

    forward: Program
    backward: Program
    kept: frozenset[str]
    restarted: frozenset[str]

    @cached_property
    def sizes(self) -> tuple[SymbolAssign, ...] | None:
        """Assignments, from unchanged arguments only, of the symbols in the residuals' sizes.

        None if a size is known only after the forward half has run.
        """
        shapes = [self.forward.containers[n].desc for n in self.kept]
        assigned = assigned_symbols(self.forward.body)
        needed = {str(s) for d in shapes for s in d.free_symbols} & assigned
        found: list[SymbolAssign] = []
        changed: set[str] = set()
        for node in self.forward.body:
            if isinstance(node, SymbolAssign):
                known = {n.symbol for n in found} | self.forward.symbols.keys() - assigned
                given = set(self.forward.arguments) - changed
                if _is_determined(node.value, given, known):
                    found.append(node)
            changed |= {self.forward.root(w) for w in writes(node)}
        return tuple(found) if needed <= {n.symbol for n in found} else None

    @property
    def programs(self) -> tuple[Program, Program]:
        """The forward and the backward half."""
        return self.forward, self.backward


def _is_determined(value: Value, containers: Set[str], symbols: Set[str]) -> bool:
    """True if a value depends on some containers and symbols only."""
    if any(x.container not in containers for x in value.loads):
        return False
    mentioned = code.names_in(value.expr) | {s for x in value.loads for s in x.index_names}
    return mentioned - {x.name for x in value.loads} <= symbols


def split(program: Program, forward: Block, backward: Block, stored: Collection[str] | None = None) -> Halves:
    """Split a program into its two halves.

    :param stored: local containers that may be residuals; the backward half recomputes all others. None: no limit.
    """
    forward, backward, carried = carry_symbols(program, forward, backward)
    program = replace(program, containers={**program.containers, **carried})

    shared = {n for n in between(program, forward, backward) if program.containers[n].transient}
    restarted: set[str] = set()
    if stored is not None:
        written = {program.root(n) for node in forward for n in writes(node)}
        local = {n for n in written if program.containers[n].transient}
        again, kept, restarted = computed_again(program, forward, shared, local & (set(stored) | set(carried)))
        backward = (*again, *backward)
        shared = kept & _used(backward, program)
    containers = dict(program.containers)
    for name in shared:
        containers[name] = boundary(name, program.containers[name])

    def half(block: Block, suffix: str) -> Program:
        """Make one half a program, with the arguments and residuals it uses."""
        mentioned = _used(block, program)
        names = [n for n in (*program.arguments, *sorted(shared)) if n in mentioned]
        return replace(
            program, name=f"{program.name}_{suffix}", containers=containers, body=block, arguments=tuple(names)
        )

    return Halves(half(forward, "forward"), half(backward, "backward"), frozenset(shared), frozenset(restarted))


def between(program: Program, forward: Block, backward: Block) -> set[str]:
    """Return the containers with memory of their own that the forward half writes and the backward half uses."""
    return {program.root(n) for node in forward for n in writes(node)} & _used(backward, program)


def _used(block: Block, program: Program) -> set[str]:
    """Collect the containers with memory of their own that a block reads or writes."""
    return {program.root(n) for node in block for n in reads(node) | writes(node)}


def computed_again(
    program: Program, forward: Block, shared: set[str], kept: set[str]
) -> tuple[Block, set[str], set[str]]:
    """Return the slice of the forward half to recompute, the containers still kept, and the arguments it overwrites.

    A kept container holds its final content. If a node of the slice writes one, or reads what it held before, the slice
    recomputes that container, too, and it is kept no longer.

    :param shared: what the backward half reads.
    :param kept: what may be kept, to read it there or to start from it.
    """
    arguments = {program.root(n) for n in program.arguments}
    last = {program.root(n): k for k, node in enumerate(forward) for n in writes(node)}
    needed = shared - kept
    symbols: set[str] = set()
    chosen: set[int] = set()
    while True:
        before = len(chosen)
        for k, node in enumerate(forward):
            assigned = assigned_symbols((node,))
            made = {program.root(n) for n in writes(node)}
            if k not in chosen and (made & needed or assigned & symbols):
                chosen.add(k)
                read = {program.root(n) for n in reads(node)}
                kept = kept - made - {n for n in read if last.get(n, k) > k}
                needed |= (read | made | shared) - kept
                symbols |= used_symbols(node, program)
        if len(chosen) == before:
            break
    again = tuple(forward[k] for k in sorted(chosen))
    rewritten = {program.root(n) for node in again for n in writes(node)}
    return again, kept, rewritten & arguments


def carry_symbols(program: Program, forward: Block, backward: Block) -> tuple[Block, Block, dict[str, Container]]:
    """Pass integer symbols that the forward half assigns and the backward half reads first on in containers.

    Return both halves, with the stores and the assignments added, and the new containers.
    """
    needed = unbound_symbols(backward, program)
    assigned = {n.symbol: n for n in walk(forward) if isinstance(n, SymbolAssign) and n.symbol in needed}
    names, made = Names(program.containers), {}
    stores: list[Node] = []
    loads: list[Node] = []
    for symbol, node in sorted(assigned.items()):
        kept = Container(names.fresh(f"symbol_{symbol}"), dt.Array(node.dtype, (1,), transient=True))
        made[kept.name] = kept
        v = names.fresh(f"v_{symbol}")
        stores.append(set_scalar(kept.name, Value((), code.name(symbol)), v, node.source))
        loads.append(replace(node, value=value_of_scalar(kept.name, v)))
    return (*forward, *stores), (*loads, *backward), made
