"""Forward the destination of a copy to the code that computes its source.

A rule's gradient is a new array, which is then assigned or added to the adjoint of an operand. For an embedding these
are two passes over a table of which few rows have a gradient::

    map i, j: t[i, j] = 0                        map k, j: g[idx[k], j] += v[k, j]
    map k, j: t[idx[k], j] += v[k, j]
    map i, j: g[i, j] += t[i, j]

The pass declines if the source is an argument or is used anywhere else, if the destination is used while the source is
computed, or if the source of an addition is not itself computed by additions to zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sdgrad.analysis.access_relations import covers
from sdgrad.analysis.uses import used, users
from sdgrad.optimize.dataflow.copy_propagation import same_element
from sdgrad.program.rename import renamed
from sdgrad.program.tree import (
    Block,
    Leaf,
    Load,
    Node,
    Program,
    Store,
    map_blocks,
    reads,
    walk,
)
from sdgrad.rewrite.dead_code import drop_stores
from sdgrad.rewrite.reduction_init import number, starts


def write_results(program: Program) -> Program:
    """Compute arrays that are only copied or added to others, as a whole, in their destinations."""
    moved: dict[str, str] = {}
    body = _block(program.body, program, _Users(program), True, moved)
    containers = {
        n: replace(c, view_of=moved[c.view_of]) if c.view_of in moved else c for n, c in program.containers.items()
    }
    return replace(program, body=body, containers=containers)


class _Users:
    """Count the users of containers: in nodes, each looked at once, and in the whole program."""

    def __init__(self, program: Program) -> None:
        self.program, self.everywhere = program, users(program.body, program)
        self.seen: dict[
            int, tuple[Node, Counter[str]]
        ] = {}  # with the node, whose number is its own as long as it lives

    def of(self, node: Node) -> Counter[str]:
        """Return the users in a node."""
        if id(node) not in self.seen:
            self.seen[id(node)] = node, users((node,), self.program)
        return self.seen[id(node)][1]


def _block(block: Block, program: Program, known: _Users, once: bool, moved: dict[str, str]) -> Block:
    """Forward destinations in a block and the blocks inside it.

    :param known: users of each container.
    :param once: True if the block runs once.
    :param moved: gets the destinations by their sources.
    """
    nodes = [map_blocks(n, lambda b: _block(b, program, known, False, moved)) for n in block]
    k = 0
    while k < len(nodes):
        for copy in _copies(nodes[k], program):
            made = _forwarded(nodes, k, copy, program, known, once) if _is_unmoved(copy, moved) else None
            if made is not None:
                moved[copy.source] = copy.target
                nodes[: k + 1] = made
                k = len(made) - 1  # the same leaf if it is there still, or the one before it
                break
        k += 1
    return tuple(nodes)


@dataclass(frozen=True)
class Copy:
    """A store that assigns or adds each element of a container to the same element of another one."""

    store: Store
    load: Load

    @property
    def target(self) -> str:
        return self.store.container

    @property
    def source(self) -> str:
        return self.load.container


def _is_unmoved(copy: Copy, moved: dict[str, str]) -> bool:
    """True if neither container was renamed: the known uses are those of the program before the pass."""
    return not {copy.target, copy.source} & (moved.keys() | set(moved.values()))


def _copies(node: Node, program: Program) -> list[Copy]:
    """Return the stores of a leaf that copy or add a whole temporary, element by element."""
    if not isinstance(node, Leaf):
        return []
    loads = {i.name: i for i in node.body if isinstance(i, Load) and i.guard is None}
    found = [Copy(s, loads[s.value]) for s in node.stores if s.value in loads and _assigns_or_adds(s)]
    return [c for c in found if _has_own_source(c, program) and same_element(c.store, c.load, node, program)]


def _assigns_or_adds(store: Store) -> bool:
    return store.mode in ("set", "sum") and not store.fresh


def _has_own_source(copy: Copy, program: Program) -> bool:
    """True if the source is a temporary, and neither container is a view."""
    if copy.source == copy.target or copy.source in program.arguments:
        return False
    if not all(n in program.containers and program.root(n) == n for n in (copy.target, copy.source)):
        return False
    return program.containers[copy.source].transient


def _forwarded(
    nodes: Sequence[Node], k: int, copy: Copy, program: Program, known: _Users, once: bool
) -> list[Node] | None:
    """Return the nodes up to a copy, computing in its destination; None if that would change a result."""
    leaf = nodes[k]
    assert isinstance(leaf, Leaf)
    if not _is_only_copied(copy, leaf, program):
        return None
    uses = [known.of(n) for n in nodes]
    first = _first_use(uses, k, copy.source, known.everywhere)
    if first is None:
        return None
    initializes = copy.store.mode == "sum" and _begins_with_zeros(nodes[first], copy.source, program)
    since = first + 1 if initializes else first
    if any(copy.target in found for found in uses[since:k]):
        return None
    rest = drop_stores(leaf, lambda s: s is copy.store)
    before = _producers(nodes[first:k], copy, rest, once, program)
    if before is None:
        return None
    return [*nodes[:first], *renamed((*before, *([rest] if rest.stores else [])), {copy.source: copy.target}, {})]


def _producers(nodes: Sequence[Node], copy: Copy, rest: Leaf, once: bool, program: Program) -> Sequence[Node] | None:
    """Return the nodes that compute the source of a copy, fit to update its destination; None if they cannot.

    :param rest: the leaf of the copy without it.
    """
    if copy.store.mode == "sum":
        return _accumulating(nodes, copy.source, program) if copy.source not in reads(rest) else None
    return nodes if once or _sets_all(nodes[0], copy.source, program) else None


def _first_use(uses: Sequence[Counter[str]], k: int, name: str, everywhere: Counter[str]) -> int | None:
    """Return the first node that uses a container; None unless all uses are in the block, and node k is the last."""
    at = [j for j, found in enumerate(uses) if name in found]
    if at[-1] != k or at[0] == k or sum(found[name] for found in uses) != everywhere[name]:
        return None
    return at[0]


def _is_only_copied(copy: Copy, leaf: Leaf, program: Program) -> bool:
    """True if the copy is all that its leaf does with the two containers."""
    accesses: list[Load | Store] = [*leaf.loads, *leaf.stores]
    return sum(program.root(i.container) in (copy.source, copy.target) for i in accesses) == 2


def _sets_all(node: Node, name: str, program: Program) -> bool:
    """True if a leaf defines every element of a container, whatever it held before."""
    if not isinstance(node, Leaf) or any(program.root(x.container) == name for x in node.loads):
        return False
    shape = program.containers[name].shape
    mine = [s for s in node.stores if program.root(s.container) == name]
    return any(s.container == name and (s.mode == "set" or s.fresh) and covers(s, node, shape) for s in mine[:1])


def _begins_with_zeros(node: Node, name: str, program: Program) -> bool:
    """True if the first store of a leaf to a container sets all of it to zero."""
    mine = [s for s in node.stores if s.container == name] if isinstance(node, Leaf) else []
    return isinstance(node, Leaf) and bool(mine) and starts(mine[0], node, program) and number(mine[0], node) == 0


def _accumulating(nodes: Sequence[Node], name: str, program: Program) -> list[Node] | None:
    """Drop the initialization of a container that nodes add to; None if they do anything else with it."""
    first = nodes[0]
    rest = _uninitialized(first, name, program) if isinstance(first, Leaf) else None
    if rest is None:
        return None
    left = [*([rest] if rest.stores else []), *nodes[1:]]
    return left if all(_only_adds(n, name, program) for n in walk(tuple(left))) else None


def _uninitialized(leaf: Leaf, name: str, program: Program) -> Leaf | None:
    """Return a leaf that adds to a container which it set to zero or to a sum before; None if it did neither."""
    mine = [s for s in leaf.stores if s.container == name]
    if _begins_with_zeros(leaf, name, program):
        return drop_stores(leaf, lambda s: s is mine[0])
    if len(mine) == 1 and mine[0].fresh and covers(mine[0], leaf, program.containers[name].shape):
        return replace(leaf, body=tuple(replace(i, fresh=False) if i is mine[0] else i for i in leaf.body))
    return None


def _only_adds(node: Node, name: str, program: Program) -> bool:
    """True if a node by itself adds to a container and does nothing else with it."""
    if not isinstance(node, Leaf):
        return name not in used(node, program)
    mine = [s for s in node.stores if program.root(s.container) == name]
    return all(s.mode == "sum" and not s.fresh for s in mine) and not any(
        program.root(i.container) == name for i in node.loads
    )
