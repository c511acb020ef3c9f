"""Find when each container is live: between the first and the last point of a program that uses it.

The points are the nodes in program order, and the ends of loops and maps::

    0  map i: a[i] = sin(x[i])                  a: 0 to 4
    1  loop t:                                  b: 2 to 3, as each iteration begins by writing all of it
    2    map i: b[i] = a[i] * y[i]              y: 1 to 4, as one iteration leaves it for the next one
    3    map i: y[i] = b[i]
    4  end of the loop

A container that a loop uses is live until the loop ends, unless it is private to an iteration: then it is live in it
only. Instances of a parallel map run at once, so that what they use is live in all of the map.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from sdgrad.analysis.loop_private import region_locals
from sdgrad.analysis.uses import used, users
from sdgrad.program.tree import Leaf, Loop, Node, Param, Program, Scope, children, local_names, reads, walk, writes

Span = tuple[int, int]
"""The first and the last point, both included."""


@dataclass(frozen=True)
class LiveRanges:
    """Where containers with memory of their own are live.

    :param spans: by name; a container that nothing uses has none.
    :param nodes: the points of each node of the program's body: from its first one to its last one.
    """

    spans: Mapping[str, Span]
    nodes: tuple[Span, ...]

    @property
    def points(self) -> int:
        """Return how many points there are."""
        return self.nodes[-1][1] + 1 if self.nodes else 0

    def until_the_end(self, names: Iterable[str]) -> LiveRanges:
        """Return the ranges with some containers live until the program ends."""
        longer = {n: (self.spans[n][0], self.points - 1) for n in names if n in self.spans}
        return replace(self, spans={**self.spans, **longer})

    @staticmethod
    def of(program: Program) -> LiveRanges:
        """Find the live ranges of all containers."""
        walk = _Walk(program, users(program.body, program))
        nodes = []
        for node in program.body:
            first = walk.point
            walk.visit(node)
            nodes.append((first, walk.point - 1))
        return LiveRanges(walk.spans, tuple(nodes))


@dataclass
class _Walk:
    """Visit nodes in order, and stretch the live ranges of what they use.

    :param everywhere: number of users in the whole program, by container.
    """

    program: Program
    everywhere: Counter[str]
    point: int = 0
    spans: dict[str, Span] = field(default_factory=dict)

    def visit(self, node: Node) -> frozenset[str]:
        """Visit a node; return what is private to an iteration of a loop in it."""
        first = self.point
        self.use(used(node, self.program) | local_names(node), first)
        self.point += 1
        inside = [self.visit(n) for block in children(node) for n in block]
        private = frozenset[str]().union(*inside)
        if not isinstance(node, (Loop, Scope)):
            return private
        if isinstance(node, Loop):
            flat = replace(node, body=tuple(leaf for n in node.body for leaf in _flat(n, ())))
            private |= region_locals(flat, self.everywhere, self.program)
        around = {self.program.root(c) for c in reads(node) | writes(node)} - private
        self.use(around, first)
        self.use(around, self.point)
        self.point += 1
        return private

    def use(self, names: Iterable[str], point: int) -> None:
        """Stretch live ranges to a point."""
        for name in {self.program.root(n) for n in names}:
            first, last = self.spans.get(name, (point, point))
            self.spans[name] = min(first, point), max(last, point)


def _is_parallel(node: Node) -> bool:
    return isinstance(node, Leaf) or (isinstance(node, Scope) and not (node.sequential and node.params))


def _flat(node: Node, around: tuple[Param, ...]) -> Iterator[Node]:
    """Yield the leaves of a map with all of its parameters, one after the other; other nodes as they are.

    Instances of a map do not read what others write, so that each leaf may run for all of them before the next one.
    """
    if isinstance(node, Leaf):
        yield replace(node, params=(*around, *node.params))
    elif isinstance(node, Scope) and all(_is_parallel(n) for n in walk((node,))):
        for inner in node.body:
            yield from _flat(inner, (*around, *node.params))
    else:
        yield node
