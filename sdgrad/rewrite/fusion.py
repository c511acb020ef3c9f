"""Fuse leaves over one iteration domain (loop fusion, Allen & Kennedy 2001, ch. 6), and remove dead stores.

Differentiation comes after fusion: the intermediates of a fused leaf are scalars, its adjoint recomputes them in
registers, and nothing of them is kept in memory. Before and after::

    map i=0:n:                      map i=0:n:
      t[i] = sin(x[i])                v = sin(x[i])
    map i=0:n:                        y[i] = v * w[i]
      y[i] = t[i] * w[i]

Declines where a dependence would cross instances, as with ``t[i - 1]`` in the second leaf.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sdgrad.config import config
from sdgrad.program.leaves import rename_params
from sdgrad.program.symbols import used_symbols
from sdgrad.program.tree import (
    Block,
    Instr,
    Leaf,
    Let,
    Load,
    Loop,
    Node,
    Program,
    Scope,
    Store,
    SymbolAssign,
    local_names,
    map_blocks,
    reads,
    walk,
    writes,
)
from sdgrad.rewrite.dead_code import drop_dead, drop_stores
from sdgrad.rewrite.merging import Merger
from sdgrad.symbolic.expr import free_names, same, substitute, sym


def fuse(program: Program) -> Program:
    """Collapse nests, fuse leaves and remove dead stores, in a few rounds."""
    body = tuple(collapse(n) for n in program.body)
    for _ in range(config.machine.fusion_rounds):
        fused = drop_dead(replace(program, body=fuse_block(body, program)))
        if fused.body == body:
            break
        body = fused.body
    return replace(program, body=body)


# --- nests -------------------------------------------------------------------------------------------------------
def collapse(node: Node) -> Node:
    """Merge a map that holds a single map or leaf with it (loop coalescing of perfect nests)."""
    node = map_blocks(node, lambda b: tuple(collapse(n) for n in b))
    if not isinstance(node, Scope) or node.sequential or len(node.body) != 1 or node.locals:
        return node
    inner = node.body[0]
    if not isinstance(inner, (Leaf, Scope)) or inner.sequential:
        return node
    source = inner.source if inner.source.line else replace(inner.source, file=node.source.file, line=node.source.line)
    return replace(inner, params=node.params + inner.params, schedule=node.schedule, source=source)


# --- fusion ------------------------------------------------------------------------------------------------------
def fuse_block(block: Block, program: Program) -> Block:
    """Fuse the leaves of a block with their nearest partner."""
    out: list[Node] = []
    merger = Merger(program)
    for node in block:
        node = map_blocks(node, lambda b: fuse_block(b, program))
        node = collapse_fused(node, program)
        partner = find_partner(out, node, program) if isinstance(node, Leaf) else None
        if partner is not None:
            out[partner] = merger.merge(out[partner], node)  # type: ignore[arg-type]
            continue
        late = find_late_partner(out, node, program) if isinstance(node, Leaf) else None
        out.append(node if late is None else merger.merge(out.pop(late), node))  # type: ignore[arg-type]
    return tuple(out)


def collapse_fused(node: Node, program: Program) -> Node:
    """Turn a scope into a leaf if its body has fused to one leaf that keeps its locals in registers."""
    if isinstance(node, Scope) and not node.sequential and len(node.body) == 1 and isinstance(node.body[0], Leaf):
        locals_ = local_names(node)
        leaf = node.body[0]
        kept = drop_stores(
            leaf, lambda s: s.container in locals_ and s.container not in {x.container for x in leaf.loads}
        )
        if not locals_ & (reads(kept) | writes(kept)):
            return collapse(replace(node, body=(kept,), locals=()))
    return node


def find_partner(before: list[Node], leaf: Leaf, program: Program) -> int | None:
    """Return the nearest earlier leaf that this one can move up to and fuse with.

    None if a dependence is in the way.
    """
    for k in range(len(before) - 1, max(-1, len(before) - 1 - config.machine.fusion_window), -1):
        node = before[k]
        if isinstance(node, Leaf) and fusable(node, leaf, program):
            return k
        if depends(node, leaf, program):
            return None
    return None


def find_late_partner(before: list[Node], leaf: Leaf, program: Program) -> int | None:
    """Return the nearest earlier leaf that can move down to this one. None if a dependence is in the way."""
    for k in range(len(before) - 2, max(-1, len(before) - 1 - config.machine.fusion_window), -1):
        node = before[k]
        if isinstance(node, Leaf) and same_domain(node, leaf) and fusable(node, leaf, program):
            return k if not any(depends(node, x, program) for x in before[k + 1 :]) else None
    return None


def depends(first: Node, second: Node, program: Program) -> bool:
    """True if two nodes may not be exchanged."""
    r1, w1 = roots(reads(first), program), roots(writes(first), program)
    r2, w2 = roots(reads(second), program), roots(writes(second), program)
    symbols = {n.symbol for n in walk((first,)) if isinstance(n, (SymbolAssign, Loop))}
    if symbols and symbols & used_symbols(second, program):
        return True
    return bool(w1 & r2 or w1 & w2 or r1 & w2)


def roots(names: set[str], program: Program) -> set[str]:
    """Return the containers whose memory some names are."""
    return {program.root(n) for n in names}


def fusable(first: Leaf, second: Leaf, program: Program) -> bool:
    """True if two leaves run over one domain, and depend on each other within an instance only."""
    if first.sequential or second.sequential or len(first.body) + len(second.body) > config.machine.fused_instructions:
        return False
    if not same_domain(first, second):
        return False
    apart = not depends(first, second, program)  # found without names of the first one in the second one
    return apart or _keeps_dependences(first, _meeting(second, first, program), program)


def _meeting(second: Leaf, first: Leaf, program: Program) -> tuple[Instr, ...]:
    """Return the accesses of a leaf to memory that another one accesses, over the parameters of that one."""
    met = roots({x.container for x in first.accesses}, program)
    body = tuple(i for i in second.body if not isinstance(i, Let) and program.root(i.container) in met)
    return rename_params(replace(second, body=body), first.params)


def _keeps_dependences(first: Leaf, second: Sequence[Instr], program: Program) -> bool:
    """True if fusion preserves every flow, output and anti dependence between a leaf and the body of a later one."""
    loads = [i for i in second if isinstance(i, Load)]
    stores = [i for i in second if isinstance(i, Store)]
    return (
        all(flows(s, x, first, program) for s in first.stores for x in loads)
        and all(overwrites(s, x, first, program) for s in first.stores for x in stores)
        and (not first.params or all(same_instance(s, x, first, program) for s in stores for x in first.loads))
    )


def same_domain(first: Leaf, second: Leaf) -> bool:
    """True if two leaves have the same parameters, up to names."""
    if first.params == second.params:
        return True
    if len(first.params) != len(second.params):
        return False
    env = {b.name: sym(a.name) for a, b in zip(first.params, second.params, strict=False)}
    return all(
        same((a.start, a.stop, a.step), (substitute(x, env) for x in (b.start, b.stop, b.step)))
        for a, b in zip(first.params, second.params, strict=False)
    )


def same_instance(store: Store, other: Load | Store, leaf: Leaf, program: Program) -> bool:
    """True if two accesses never meet, or only within one instance."""
    if program.root(store.container) != program.root(other.container) or elsewhere(store, other, leaf):
        return True
    return store.container == other.container and same(store.index, other.index) and injective_by_position(store, leaf)


def elsewhere(store: Store, other: Load | Store, leaf: Leaf) -> bool:
    """True if two accesses differ by a constant in a dimension free of parameters: ``v[j, i]``, ``v[j + 1, i]``."""
    params = {p.name for p in leaf.params} | leaf.defined
    pairs = zip(store.index, other.index, strict=False) if store.container == other.container else ()
    return any(not free_names(a, b) & params and (a - b).is_nonzero and (a - b).is_number for a, b in pairs)


def flows(store: Store, load: Load, leaf: Leaf, program: Program) -> bool:
    """True if a later load of the fused leaf still finds what the store puts there, or reads other memory."""
    if program.root(store.container) != program.root(load.container):
        return True
    return store.mode == "set" and store.guard is None and same_instance(store, load, leaf, program)


def overwrites(first: Store, second: Store, leaf: Leaf, program: Program) -> bool:
    """True if fusion keeps the order of two stores, or the order does not matter."""
    if program.root(first.container) == program.root(second.container) and first.mode == second.mode != "set":
        return not (first.fresh or second.fresh)  # both only accumulate
    plain = first.mode == second.mode == "set"
    return same_instance(first, second, leaf, program) and (
        plain or program.root(first.container) != program.root(second.container)
    )


def injective_by_position(store: Store, leaf: Leaf) -> bool:
    """True if each parameter is alone in some dimension, up to a constant: cheap and sufficient."""
    alone = set()
    params = {p.name for p in leaf.params}
    for expr in store.index:
        found = free_names(expr) & params
        if len(found) == 1:
            (name,) = found
            rest = expr - sym(name)
            if not free_names(rest) & params:
                alone.add(name)
    return alone == params
