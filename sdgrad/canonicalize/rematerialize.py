"""Recompute an array at its uses if it is a short function of another array (rematerialization, Briggs et al. 1992).

``t = 2 * b`` is fused with the definition of ``b``, because both go through the same elements. A stencil over ``b`` and
``t`` then reads two arrays, and its adjoint accumulates into two. It can read ``b`` alone, and double its elements::

    map i: b[i] = f(x[i]); t[i] = 2 * b[i]          map i: b[i] = f(x[i])
    map i: y[i] = t[i] - b[i - 1] - b[i]            map i: y[i] = 2 * b[i] - b[i - 1] - b[i]

Declines where ``t`` has a reader that does not read ``b`` as well, or where ``b`` changes before the reader.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import dace

from sdgrad.config import config
from sdgrad.program.leaves import rename_instr, slice_for
from sdgrad.program.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.tree import (
    Block,
    Expr,
    Instr,
    Leaf,
    Let,
    Load,
    Node,
    Program,
    Store,
    children,
    map_blocks,
    own_reads,
    reads,
    walk,
    writes,
)
from sdgrad.rewrite.dead_code import drop_dead
from sdgrad.rewrite.fusion import fuse
from sdgrad.symbolic.expr import free_names, substitute, sym

WHOLE = (
    dace.float32,
    dace.float64,
    dace.complex64,
    dace.complex128,
)  # types that memory holds as precisely as registers


@dataclass(frozen=True)
class Shadow:
    """A temporary whose elements are a short function of those of another array, set by the same leaf.

    :param place: the parameters of the leaf as functions of the temporary's subscript ``e0, e1, ..``.
    :param index: the subscript of the original.
    :param value: the name of the stored value.
    :param source: the name of the original's value.
    :param steps: the instructions from one to the other.
    """

    name: str
    original: str
    place: dict[str, Expr]
    index: tuple[Expr, ...]
    value: str
    source: str
    steps: tuple[Let, ...]


def sink_shadows(program: Program, names: Names) -> Program:
    """Rematerialize shadows at their uses; the program unchanged if it has none."""
    body = _block(program.body, program, _set_once(program), names)
    return drop_dead(replace(program, body=body)) if body != program.body else program


def _set_once(program: Program) -> set[str]:
    """Return the temporaries with a single store in the text of the program, and no view."""
    written: Counter[str] = Counter()
    for node in walk(program.body):
        if isinstance(node, Leaf):
            written.update(s.container for s in node.stores)
        elif not children(node):
            written.update(writes(node))
    viewed = {c.view_of for c in program.containers.values()} | set(program.arguments)
    own = {n for n, c in program.containers.items() if c.transient and c.view_of is None}
    return {n for n in own - viewed if written[n] == 1}


def _block(block: Block, program: Program, own: set[str], names: Names) -> Block:
    """Rematerialize the shadows that leaves of a block define for later ones."""
    nodes = [map_blocks(n, lambda b: _block(b, program, own, names)) for n in block]
    for k, node in enumerate(nodes):
        for shadow in _shadows(node, program, own) if isinstance(node, Leaf) else ():
            users = [j for j, n in enumerate(nodes) if shadow.name in reads(n)]
            if users and users[0] > k and _is_known(shadow, nodes, k, users, block, program):
                for j in users:
                    nodes[j] = _computed(nodes[j], shadow, names)  # type: ignore[arg-type]
    return tuple(nodes)


def _shadows(leaf: Leaf, program: Program, own: set[str]) -> Iterator[Shadow]:
    """Return the temporaries of a leaf that a few instructions compute from an array the leaf stores beside them."""
    if leaf.sequential:
        return
    places = _invertible_stores(leaf, program)
    originals = {s.value: s for s in places if program.containers[s.container].dtype in WHOLE}
    for store, place in places.items():
        found = _shadow(store, place, leaf, originals, program) if store.container in own else None
        if found is not None:
            yield found


def _invertible_stores(leaf: Leaf, program: Program) -> dict[Store, dict[str, Expr]]:
    """Return the unconditional stores whose subscript determines the instance, each the only one to its memory."""
    plain = [s for s in leaf.stores if s.mode == "set" and s.guard is None and not s.index_names & leaf.defined]
    count = Counter(program.root(s.container) for s in leaf.stores)
    places = {s: _placed(s, leaf) for s in plain if count[program.root(s.container)] == 1}
    return {s: p for s, p in places.items() if p is not None}


def _shadow(
    store: Store, place: dict[str, Expr], leaf: Leaf, originals: dict[str, Store], program: Program
) -> Shadow | None:
    """Return the shadow that a store defines.

    None if its value needs loads or too many steps from the nearest original.
    """
    steps: tuple[Instr, ...] = slice_for(leaf.body, {store.value})
    names = [i.name for i in steps if not isinstance(i, Store)]
    known = [n for n in names if n != store.value and n in originals]
    if not known:
        return None
    original = originals[known[-1]]
    rest = _after(steps, known[-1], store.value)
    lets = tuple(i for i in rest if isinstance(i, Let))
    same = program.containers[store.container].dtype == program.containers[original.container].dtype
    short = len(lets) == len(rest) <= config.machine.rematerialized_instructions
    if not same or not short:
        return None
    return Shadow(store.container, original.container, place, original.index, store.value, known[-1], lets)


def _after(steps: tuple[Instr, ...], source: str, value: str) -> tuple[Instr, ...]:
    """Return the instructions that a value still needs once another one is known."""
    at = next(k for k, i in enumerate(steps) if not isinstance(i, Store) and i.name == source)
    return slice_for([i for k, i in enumerate(steps) if k != at], {value})


def _placed(store: Store, leaf: Leaf) -> dict[str, Expr] | None:
    """Invert a subscript: each parameter as a function of it. None if the subscript does not determine all."""
    found: dict[str, Expr] = {}
    for k, e in enumerate(store.index):
        names = free_names(e) & {p.name for p in leaf.params}
        if len(names) == 1 and (e - sym(name := names.pop())).is_number and name not in found:
            found[name] = sym(f"e{k}") - (e - sym(name))
        elif not e.is_number:
            return None
    return found if found.keys() == {p.name for p in leaf.params} else None


def _is_known(shadow: Shadow, nodes: list[Node], at: int, users: list[int], block: Block, program: Program) -> bool:
    """True if all readers are leaves of the block that read the original as well, which is still unchanged."""
    everywhere = sum(_reads(n, shadow.name) for n in walk(program.body))
    here = sum(_reads(n, shadow.name) for n in block)
    root = program.root(shadow.original)
    changed = any(root in {program.root(w) for w in writes(n)} for n in nodes[at + 1 : users[-1]])
    return everywhere == here and not changed and all(_has_both(nodes[j], shadow, program) for j in users)


def _reads(node: Node, name: str) -> bool:
    """True if a node reads a container directly."""
    return name in (own_reads(node) if children(node) else reads(node))


def _has_both(node: Node, shadow: Shadow, program: Program) -> bool:
    """True if a leaf reads the original of a shadow, and does not write it."""
    if not isinstance(node, Leaf) or not any(x.container == shadow.original for x in node.loads):
        return False
    # a leaf that changes the original reads it first, as it reads the temporary
    changed = {program.root(s.container) for s in node.stores}
    return not node.sequential and program.root(shadow.original) not in changed


def _computed(leaf: Leaf, shadow: Shadow, names: Names) -> Leaf:
    """Recompute the elements of a shadow in a leaf that reads them."""
    body: list[Instr] = []
    for i in leaf.body:
        if not isinstance(i, Load) or i.container != shadow.name:
            body.append(i)
            continue
        place = {f"e{k}": e for k, e in enumerate(i.index)}
        params = {p: e.subs({sym(n): x for n, x in place.items()}) for p, e in shadow.place.items()}
        v = names.fresh(f"v_{shadow.original}")
        own = {shadow.source: v, shadow.value: i.name}
        own |= {s.name: names.fresh(s.name) for s in shadow.steps if s.name != shadow.value}
        index = tuple(substitute(e, params) for e in shadow.index)
        body += [Load(v, shadow.original, index, i.guard), *(rename_instr(s, own, params) for s in shadow.steps)]
    return replace(leaf, body=tuple(body))


def rematerialize(program: Program) -> Program:
    """Rematerialize cheap temporaries, and fuse again; the program itself if there are none."""
    sunk = sink_shadows(program, all_names(program))
    return program if sunk is program else fuse(sunk)
