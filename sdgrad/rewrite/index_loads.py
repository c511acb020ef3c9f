"""Substitute symbols that an iteration reads from data by loads in the leaves that use them as subscripts.

``k = idx[i]; x[k] += w[i]`` is a symbol assignment and a leaf: a loop with a state of its own for each. With the load
in the leaf it is a single leaf, and the loop may become a nest. Declines where the data change between assignment and
use, or where a bound or a view depends on the symbol.
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
    """Return the number of nodes that assign each symbol."""
    return Counter(n.symbol for n in walk(block) if isinstance(n, (SymbolAssign, Loop)))


@dataclass(frozen=True)
class Known:
    """A symbol's assignment; ``stale`` if the data it was read from have changed."""

    assign: SymbolAssign
    stale: bool = False


def with_local_indices(block: Block, symbols: set[str], names: Names, program: Program) -> Sequence[Node] | None:
    """Substitute index symbols by loads in the leaves that use them, and drop their assignments.

    None if a symbol's data change before its use, or if a bound, a view or another node than a leaf uses it.

    :param symbols: those that the block assigns, each once, and nobody else mentions.
    """
    known: dict[str, Known] = {}
    out: list[Node] = []
    for node in block:
        if isinstance(node, SymbolAssign) and node.symbol in symbols:
            if any(known[s].stale for s in used_symbols(node, program) & known.keys()):
                return None
            known[node.symbol] = Known(node)
        elif isinstance(node, Leaf) and _is_substitutable(node, known, symbols, program):
            mentioned = used_symbols(node, program) & symbols
            out.append(_with_values(node, known, names) if mentioned else node)
            known = _after_leaf(node, known, program)
        else:
            return None
    return out


def _is_substitutable(leaf: Leaf, known: dict[str, Known], symbols: set[str], program: Program) -> bool:
    """True if a leaf uses only symbols with a current value, and these neither in its bounds nor in its views."""
    mentioned = used_symbols(leaf, program) & symbols
    of_views = {s for c in reads(leaf) | writes(leaf) for s in view_symbols(c, program)}
    of_bounds = {s for p in leaf.params for s in free_names(p.start, p.stop, p.step)}
    current = mentioned <= known.keys() and not any(known[s].stale for s in mentioned)
    return current and not (of_views | of_bounds) & symbols


def _after_leaf(leaf: Leaf, known: dict[str, Known], program: Program) -> dict[str, Known]:
    """Update the known values after a leaf: stale if it overwrites their data, or those of a symbol they use."""
    written = {program.root(c) for c in writes(leaf)}
    found: dict[str, Known] = dict(known)
    for s, k in known.items():
        sources = used_symbols(k.assign, program) & known.keys()
        lost = any(program.root(x.container) in written for x in k.assign.value.loads)
        found[s] = replace(k, stale=k.stale or lost or any(found[o].stale for o in sources))
    return found


def _with_values(leaf: Leaf, known: dict[str, Known], names: Names) -> Leaf:
    """Load the values of symbols in a leaf."""
    local = {s: sym(names.fresh(s)) for s in known}
    values: list[Instr] = []
    for s, k in known.items():
        own = {x.name: names.fresh(x.name) for x in k.assign.value.loads}
        found: list[Instr] = [*k.assign.value.loads, Let(s, k.assign.value.expr)]
        values += [rename_instr(i, {**own, s: str(local[s])}, local) for i in found]
    body = (rename_instr(i, {}, local) for i in leaf.body)
    return replace(leaf, body=live((*values, *body), set()))
