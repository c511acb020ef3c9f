"""Find containers private to an iteration of a loop: no iteration reads what another one, or other code, left there.

This is the legality test of array privatization (Tu & Padua 1993). A container is private to a block if nothing outside
of the block uses it, and if the block defines each element before it reads it::

    for i:
        map j: t[j] = x[i, j]          t is private to an iteration of i
        map j: y[i] += t[j] * t[j]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import islpy as isl

from sdgrad.analysis.access_relations import covers, leaf_relation, partition
from sdgrad.analysis.definitions import Definitions
from sdgrad.analysis.uses import used, users
from sdgrad.program.leaves import params_of
from sdgrad.program.own_memory import viewed
from sdgrad.program.tree import (
    Block,
    Branch,
    Container,
    Leaf,
    Load,
    Loop,
    Node,
    NodeCall,
    Program,
    Region,
    Store,
    SymbolAssign,
    children,
    reads,
    walk,
    whole_region,
)


def region_locals(node: Loop | Branch, everywhere: Counter[str], program: Program) -> frozenset[str]:
    """Find the temporaries private to a loop's body or to an arm of a branch.

    :param everywhere: number of users in the whole program, by container.
    """
    return frozenset[str]().union(*(_locals(b, everywhere, program) for b in children(node)))


def _locals(block: Block, everywhere: Counter[str], program: Program) -> frozenset[str]:
    """Find the temporaries private to a block."""
    inside = users(block, program)
    own = {n for n, count in inside.items() if count == everywhere[n] and program.containers[n].transient}
    whole = defined_first(block, program, own)
    return whole | defined_before_read(block, program, own - whole)


def defined_first(block: Block, program: Program, names: Iterable[str]) -> frozenset[str]:
    """Return those containers that one node of a block defines as a whole before the block uses them otherwise."""
    asked, found, seen = frozenset(names), set[str](), set[str]()
    for node in block:
        if isinstance(node, Leaf):
            begun = asked - seen - {program.root(x.container) for x in node.loads}
            for name in begun & {s.container for s in node.stores}:
                stores = [s for s in node.stores if s.container == name]
                if all(s.mode == "set" or s.fresh for s in stores) and _fill(stores, node, program.containers[name]):
                    found.add(name)
        elif isinstance(node, NodeCall):
            found |= (asked - seen) & _made_whole(node, program)
        seen |= users((node,), program).keys()
    return frozenset(found)


def _made_whole(call: NodeCall, program: Program) -> set[str]:
    """Collect the containers that a call sets as a whole, and does not read."""
    wholes = {r.container for r in call.outputs.values() if is_whole(r, program.containers.get(r.container))}
    return wholes - {program.root(name) for name in reads(call)}


def is_whole(region: Region, container: Container | None) -> bool:
    """True if a region is a whole container."""
    return container is not None and region.subset == whole_region(container.name, container.shape).subset


def _fill(stores: Sequence[Store], leaf: Leaf, container: Container) -> bool:
    """True if stores write every element of their container."""
    if any(covers(s, leaf, container.shape) for s in stores):
        return True
    return len(stores) > 1 and partition(stores, leaf, container.shape)


def defined_before_read(block: Sequence[Node], program: Program, names: Iterable[str]) -> set[str]:
    """Return those containers that a block uses in its own leaves only, and reads after it has set the elements."""
    wanted = {n for n in names if program.containers[n].view_of is None} - viewed(program)
    inner = {x for node in block if not isinstance(node, Leaf) for x in used(node, program)}
    inner |= {x for node in block for b in children(node) for x in users(b, program)}
    concerning = _concerning(block)
    return {n for n in wanted - inner if _defined_before_read(concerning(n), program, n)}


def within_blocks(program: Program) -> set[str]:
    """Find the temporaries with uses in leaves only, such that each block with such a leaf sets the elements it reads.

    No block with a use lies inside of another one.
    """
    asked = {n for n, c in program.containers.items() if c.transient and c.view_of is None} - viewed(program)
    seen: set[str] = set()

    def visit(block: Block) -> set[str]:
        """Return the containers that a block or an inner one uses, and strike those that are no such temporaries."""
        own = {x for n in block if isinstance(n, Leaf) for x in used(n, program)}
        inner = {x for n in block for b in children(n) for x in visit(b)}
        asked.difference_update(inner & own, *(used(n, program) for n in block if not isinstance(n, Leaf)))
        concerning = _concerning(block)
        asked.difference_update({n for n in own & asked if not _defined_before_read(concerning(n), program, n)})
        seen.update(own)
        return own | inner

    visit(program.body)
    return seen & asked


def _concerning(block: Sequence[Node]) -> Callable[[str], list[Node]]:
    """Return a function for the leaves of a block that access a container, with the nodes that assign symbols."""
    leaves: dict[str, list[int]] = {}
    for k, node in enumerate(block):
        if isinstance(node, Leaf):
            for name in node.read | node.written:
                leaves.setdefault(name, []).append(k)
    control = [k for k, node in enumerate(block) if isinstance(node, SymbolAssign) or children(node)]
    return lambda name: [block[k] for k in sorted(leaves.get(name, []) + control)]


def _defined_before_read(block: Sequence[Node], program: Program, name: str) -> bool:
    """True if the leaves of a block set a container's elements before they read them; False if they set none."""
    elements = _Elements(len(program.containers[name].shape))
    definitions = Definitions(name, elements.of)
    for node in block:
        if not isinstance(node, Leaf):
            elements.enter_control(node)
        elif not definitions.enter(node):
            return False
    return definitions.known is not None


@dataclass
class _Elements:
    """Find the elements of accesses to one container, as long as no symbol among them is assigned."""

    rank: int
    begun: bool = False  # True: a leaf has used the container
    changed: set[str] = field(default_factory=set)  # symbols assigned since the first use

    def enter_control(self, node: Node) -> None:
        """Note the symbols that a node assigns: relations that mention one no longer compare."""
        if self.begun:
            self.changed |= {n.symbol for n in walk((node,)) if isinstance(n, (SymbolAssign, Loop))}

    def of(self, access: Load | Store, leaf: Leaf) -> tuple[isl.Set, bool] | None:
        """Return the elements; a fresh reduction starts its elements even with nothing to reduce."""
        self.begun = True
        starts = isinstance(access, Store) and access.fresh
        found = leaf_relation(access, replace(leaf, params=params_of(access, leaf)) if starts else leaf, self.rank)
        mentioned = set(found.map.get_var_names(isl.dim_type.param))
        return None if {f"v_{s}" for s in self.changed} & mentioned else (found.elements, found.exact)
