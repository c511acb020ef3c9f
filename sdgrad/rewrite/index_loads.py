"""Symbols that a loop's trip reads from data, as local values of the leaves that index with them.

``k = idx[i]; x[k] += w[i]`` is an assignment of a symbol, and a leaf that mentions it: a loop with a state of its own
for each. With the value read in the leaf, it is a leaf, and the loop may be a nest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sdgrad.program.leaves import live, rename_instr
from sdgrad.program.names import Names
from sdgrad.program.symbols import used_symbols, view_symbols
from sdgrad.program.tree import Block, Instr, Leaf, Let, Loop, Node, Program, SymbolAssign, reads, walk, writes
from sdgrad.symbolic.expr import free_names, sym


def assigned_symbols(block: Block) -> Counter[str]:
    """How many nodes give a symbol its value."""
    return Counter(n.symbol for n in walk(block) if isinstance(n, (SymbolAssign, Loop)))


@dataclass(frozen=True)
class Known:
    """A symbol's value, and whether what it was read from is still there."""

    assign: SymbolAssign
    stale: bool = False


def with_local_indices(block: Block, symbols: set[str], names: Names, program: Program) -> Sequence[Node] | None:
    """Leaves that read the values of these symbols themselves, and no assignments; None where that is not possible.

    :param symbols: those that the block assigns, each once, and nobody else mentions.
    """
    known: dict[str, Known] = {}
    out: list[Node] = []
    for node in block:
        if isinstance(node, SymbolAssign) and node.symbol in symbols:
            if any(known[s].stale for s in used_symbols(node, program) & known.keys()):
                return None
            known[node.symbol] = Known(node)
            continue
        if not isinstance(node, Leaf):
            return None
        mentioned = used_symbols(node, program) & symbols
        of_views = {s for c in reads(node) | writes(node) for s in view_symbols(c, program)}
        of_bounds = {s for p in node.params for s in free_names(p.start, p.stop, p.step)}
        if mentioned - known.keys() or (of_views | of_bounds) & symbols or any(known[s].stale for s in mentioned):
            return None
        out.append(_with_values(node, known, names) if mentioned else node)
        written = {program.root(c) for c in writes(node)}
        for s, k in known.items():  # and what was computed from it is stale as well
            sources = used_symbols(k.assign, program) & known.keys()
            lost = any(program.root(x.container) in written for x in k.assign.value.loads)
            known[s] = replace(k, stale=k.stale or lost or any(known[o].stale for o in sources))
    return out


def _with_values(leaf: Leaf, known: dict[str, Known], names: Names) -> Leaf:
    local = {s: sym(names.fresh(s)) for s in known}
    values: list[Instr] = []
    for s, k in known.items():
        own = {x.name: names.fresh(x.name) for x in k.assign.value.loads}
        found: list[Instr] = [*k.assign.value.loads, Let(s, k.assign.value.expr)]
        values += [rename_instr(i, {**own, s: str(local[s])}, local) for i in found]
    body = (rename_instr(i, {}, local) for i in leaf.body)
    return replace(leaf, body=live((*values, *body), set()))
