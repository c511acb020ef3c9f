"""Move nodes up to where the large arrays that they are the last to read were read before.

Fusion moves what may wait to the end of a program. A gradient of weights that is computed there keeps the activations
and the cotangents of its layer in memory until then, and those of all layers are live at once::

    g2 = f(g3)                      g2 = f(g3)
    g1 = f(g2)                      dw3 = a3 @ g3           a3 and g3 are dead here
    g0 = f(g1)                      g1 = f(g2)
    dw3 = a3 @ g3                   dw2 = a2 @ g2
    dw2 = a2 @ g2                   g0 = f(g1)

This is list scheduling for few registers (Goodman & Hsu 1988), with arrays for registers. A node moves if what dies
earlier is more than what it makes, over the nodes in between.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sdgrad.program.own_memory import bytes_of, has_own_memory
from sdgrad.program.tree import (
    Leaf,
    Node,
    NodeCall,
    Program,
    Scope,
    local_names,
    reads,
    walk,
    writes,
)
from sdgrad.rewrite.fusion import depends, roots
from sdgrad.runtime.call.persistent_workspace import LEAST
from sdgrad.tape.checkpoints import is_declined


def release_early(program: Program) -> Program:
    """Order the nodes of the body such that large temporaries die early."""
    local = {c for n in walk(program.body) for c in local_names(n)}
    sizes = {
        n: bytes_of(c)
        for n, c in program.containers.items()
        if n not in local and n not in program.arguments and has_own_memory(c) and bytes_of(c) >= LEAST
    }
    if not sizes:
        return program
    order = Order(program, sizes)
    for step in list(order.steps):
        order.move(step)
    body = tuple(s.node for s in order.steps)
    return program if body == program.body else replace(program, body=body)


@dataclass(eq=False)
class Step:
    """A node of the body, with the memory that it reads and writes.

    :param is_fixed: nothing moves across it: it talks to Python, or to other ranks, while what stands behind it runs.
    """

    node: Node
    reads: set[str]
    writes: set[str]
    is_fixed: bool

    @staticmethod
    def of(node: Node, program: Program) -> Step:
        """Look at a node once."""
        read, written = (roots(found(node), program) for found in (reads, writes))
        return Step(node, read, written, any(map(is_declined, walk((node,)))))


@dataclass
class Order:
    """The nodes of a body in an order that may change.

    :param sizes: bytes of the large temporaries.
    """

    program: Program
    sizes: dict[str, int]
    steps: list[Step] = field(init=False)
    users: dict[str, list[Step]] = field(init=False)

    def __post_init__(self) -> None:
        self.steps = [Step.of(node, self.program) for node in self.program.body]
        self.users = {n: [] for n in self.sizes}
        for step in self.steps:
            for name in (step.reads | step.writes) & self.sizes.keys():
                self.users[name].append(step)

    def move(self, step: Step) -> None:
        """Move a step up if that takes less memory."""
        if step.is_fixed or not isinstance(step.node, (Leaf, Scope, NodeCall)):
            return
        dying = [n for n in step.reads - step.writes if n in self.sizes and self.users[n][-1] is step]
        made = sum(self.sizes[n] for n in step.writes if n in self.sizes and self.users[n][0] is step)
        if sum(self.sizes[n] for n in dying) <= made:
            return
        at = {id(s): k for k, s in enumerate(self.steps)}
        own = at[id(step)]
        before = {n: max((at[id(s)] for s in self.users[n] if s is not step), default=-1) + 1 for n in dying}
        first = self._first(step, own, min(before.values()))

        def gain(place: int) -> int:
            """Return by how many bytes less there is, summed over the nodes in between."""
            freed = sum(self.sizes[n] * (own - max(place, since)) for n, since in before.items())
            return freed - made * (own - place)

        best = max((max(first, since) for since in before.values()), key=gain)
        if gain(best) > 0:
            self.steps.insert(best, self.steps.pop(own))
            for name in dying:
                self.users[name].sort(key=lambda s: at[id(s)] if s is not step else best - 0.5)

    def _first(self, step: Step, own: int, least: int) -> int:
        """Return the first place that a step can move up to, from a least one on."""
        for k in range(own - 1, least - 1, -1):
            other = self.steps[k]
            if other.is_fixed or depends(other.node, step.node, self.program):
                return k + 1
        return least
