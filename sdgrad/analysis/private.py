"""Containers that live within one trip of a loop: no trip sees what another one, or anybody else, left in them."""

from __future__ import annotations

from collections.abc import Mapping

from sdgrad.analysis.paths import Path, nodes_with_paths
from sdgrad.analysis.relations import covers
from sdgrad.program.tree import Leaf, Loop, Program, children, own_reads, reads, writes

Touching = Mapping[str, list[Path]]


def touching(program: Program) -> Touching:
    """For each container that has memory of its own: the nodes that use it by themselves, in order."""
    found: dict[str, list[Path]] = {}
    for path, node in nodes_with_paths(program.body):
        used = own_reads(node) if children(node) else reads(node) | writes(node) | own_reads(node)
        for name in used:
            found.setdefault(program.root(name), []).append(path)
    return found


def trip_locals(loop: Loop, path: Path, program: Program, touched: Touching) -> frozenset[str]:
    """Temporaries that nothing but a loop uses, and that each trip defines as a whole before it does anything else."""
    found = set()
    for k, node in enumerate(loop.body):
        if not isinstance(node, Leaf):
            continue
        for store in node.stores:
            container = program.containers[store.container]
            users = touched.get(store.container, [])
            own = container.transient and container.view_of is None and users and users[0] == (*path, 0, k)
            if not own or store.container in {program.root(x.container) for x in node.loads}:
                continue
            defines = store.mode == "set" or store.fresh
            if defines and all(u[: len(path)] == path for u in users) and covers(store, node, container.shape):
                found.add(store.container)
    return frozenset(found)
