"""What is made to be copied somewhere is made there.

A rule's gradient is a new array, which is then set to the adjoint of an operand, or added to it: for an embedding that
is two passes over a table of which a few rows have a gradient.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from sdgrad.analysis.access_relations import covers
from sdgrad.analysis.loop_private import used, users
from sdgrad.optimize.dataflow.copy_propagation import same_element
from sdgrad.program.rename import renamed
from sdgrad.program.tree import Block, Leaf, Load, Node, Program, Store, children, reads, walk, with_children
from sdgrad.rewrite.fusion import drop_stores
from sdgrad.rewrite.reduction_init import number, starts


def write_results(program: Program) -> Program:
    """The program without arrays that are only made to be copied, whole, or to be added to others."""
    moved: dict[str, str] = {}
    body = _block(program.body, program, users(program.body, program), True, moved)
    containers = {
        n: replace(c, view_of=moved[c.view_of]) if c.view_of in moved else c for n, c in program.containers.items()
    }
    return replace(program, body=body, containers=containers)


def _block(block: Block, program: Program, everywhere: Counter[str], once: bool, moved: dict[str, str]) -> Block:
    """:param once: whether the block runs once. ``moved`` gets what is made elsewhere now."""
    nodes = [with_children(n, tuple(_block(b, program, everywhere, False, moved) for b in children(n))) for n in block]
    k = 0
    while k < len(nodes):
        for copy in _copies(nodes[k], program):
            made = _made_there(nodes, k, copy, program, everywhere, once) if _apart(copy, moved) else None
            if made is not None:
                moved[copy[1].container] = copy[0].container
                nodes[: k + 1] = made
                k = len(made) - 1  # the same leaf if it is there still, or the one before it
                break
        k += 1
    return tuple(nodes)


def _apart(copy: tuple[Store, Load], moved: dict[str, str]) -> bool:
    """Whether neither side has been given another name: what is known of uses is of the program as it was."""
    return not {copy[0].container, copy[1].container} & (moved.keys() | set(moved.values()))


def _copies(node: Node, program: Program) -> list[tuple[Store, Load]]:
    """Whole containers that a leaf sets to others, or adds others to, element by element."""
    if not isinstance(node, Leaf):
        return []
    loads = {i.name: i for i in node.body if isinstance(i, Load) and i.guard is None}
    return [
        (s, loads[s.value])
        for s in node.stores
        if s.mode in ("set", "sum")
        and not s.fresh
        and s.value in loads
        and s.container != loads[s.value].container
        and all(n in program.containers and program.root(n) == n for n in (s.container, loads[s.value].container))
        and _is_own(loads[s.value].container, program)
        and same_element(s, loads[s.value], node, program)
    ]


def _is_own(name: str, program: Program) -> bool:
    return name not in program.arguments and program.containers[name].transient


def _made_there(
    nodes: Sequence[Node], k: int, copy: tuple[Store, Load], program: Program, everywhere: Counter[str], once: bool
) -> list[Node] | None:
    """The nodes up to the copy, with what they make in its place; None where something stands against it."""
    store, target, made = copy[0], copy[0].container, copy[1].container
    leaf = nodes[k]
    assert isinstance(leaf, Leaf)
    inside = [users((n,), program) for n in nodes]
    at = [j for j, found in enumerate(inside) if made in found]
    first = at[0]
    if at[-1] != k or first == k or sum(found[made] for found in inside) != everywhere[made]:
        return None
    since = first + 1 if store.mode == "sum" and _begins_with_zeros(nodes[first], made, program) else first
    if any(target in found for found in inside[since:k]):
        return None
    touched = [i for i in leaf.body if isinstance(i, (Load, Store)) and program.root(i.container) in (made, target)]
    if len(touched) != 2:
        return None
    before: list[Node] | None = list(nodes[first:k])
    rest = drop_stores(leaf, lambda s: s is store)
    if store.mode == "sum":
        before = _without_start(nodes[first:k], made, program)
    elif not once and not _sets_all(nodes[first], made, program):
        return None
    if before is None or (store.mode == "sum" and made in reads(rest)):
        return None
    return [*nodes[:first], *renamed((*before, *([rest] if rest.stores else [])), {made: target}, {})]


def _sets_all(node: Node, name: str, program: Program) -> bool:
    """Whether a leaf defines a container, whatever was in it."""
    if not isinstance(node, Leaf) or any(program.root(x.container) == name for x in node.loads):
        return False
    shape = program.containers[name].shape
    mine = [s for s in node.stores if program.root(s.container) == name]
    return any(s.container == name and (s.mode == "set" or s.fresh) and covers(s, node, shape) for s in mine[:1])


def _begins_with_zeros(node: Node, name: str, program: Program) -> bool:
    mine = [s for s in node.stores if s.container == name] if isinstance(node, Leaf) else []
    return isinstance(node, Leaf) and bool(mine) and starts(mine[0], node, program) and number(mine[0], node) == 0


def _without_start(nodes: Sequence[Node], name: str, program: Program) -> list[Node] | None:
    """Nodes that fill a container with zeros and add to it, or set it to a sum, without the zeros; None for others."""
    first = nodes[0]
    mine = [s for s in first.stores if s.container == name] if isinstance(first, Leaf) else []
    if not mine or not isinstance(first, Leaf):
        return None
    if _begins_with_zeros(first, name, program):
        rest = drop_stores(first, lambda s: s is mine[0])
    elif len(mine) == 1 and mine[0].fresh and covers(mine[0], first, program.containers[name].shape):
        rest = replace(first, body=tuple(replace(i, fresh=False) if i is mine[0] else i for i in first.body))
    else:
        return None
    left = [*([rest] if rest.stores else []), *nodes[1:]]
    for node in walk(tuple(left)):
        if isinstance(node, Leaf):
            if any(program.root(s.container) == name and (s.mode != "sum" or s.fresh) for s in node.stores):
                return None
            if any(program.root(i.container) == name for i in node.loads):
                return None
        elif name in used(node, program):
            return None
    return left
