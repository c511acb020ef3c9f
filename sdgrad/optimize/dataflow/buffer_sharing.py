"""Let temporaries with disjoint live ranges share one buffer.

An array is live from the first to the last node of the program's body that uses it. Two large temporaries of one size
share memory if the first is dead before the second is live. If their shapes are equal they become one name, and
otherwise the second becomes a view of the first::

    map i: a[i] = sin(x[i])             map i: a[i] = sin(x[i])
    map i: y[i] = a[i] * a[i]           map i: y[i] = a[i] * a[i]
    map i: b[i] = cos(y[i])             map i: a[i] = cos(y[i])
    map i: z[i] = b[i] + y[i]           map i: z[i] = a[i] + y[i]

This is the storage assignment of linear-scan register allocation (Poletto & Sarkar 1999), with arrays for registers.
The pass leaves arguments, locals of scopes, views and small arrays alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sdgrad.optimize.dataflow.reshape_views import as_view
from sdgrad.program.own_memory import bytes_of, has_own_memory
from sdgrad.program.rename import renamed_program
from sdgrad.program.tree import Container, Program, local_names, own_reads, reads, walk, writes
from sdgrad.runtime.call.persistent_workspace import LEAST


def share_memory(program: Program) -> Program:
    """Assign large temporaries to buffers that are dead by then; return the program unchanged if there are none."""
    sharing = Sharing(program)
    local = {c for n in walk(program.body) for c in local_names(n)}
    for name, span in sorted(live_ranges(program).items(), key=lambda item: item[1]):
        if name not in local and name not in program.arguments and _is_large(program.containers[name]):
            sharing.assign(name, *span)
    return sharing.result() if sharing.renamed or sharing.viewed else program


def live_ranges(program: Program) -> dict[str, tuple[int, int]]:
    """Return for each container with memory the numbers of the first and the last node of the body that use it."""
    spans: dict[str, tuple[int, int]] = {}
    for k, node in enumerate(program.body):
        inside = (c for n in walk((node,)) for c in reads(n) | writes(n) | own_reads(n))
        for name in sorted({program.root(c) for c in inside}):
            spans[name] = (spans.get(name, (k, k))[0], k)
    return spans


@dataclass
class Sharing:
    """Buffers and the containers assigned to them.

    :param buffers: for each layout its buffers, each with the node that uses it last.
    :param renamed: containers that take the name of a buffer.
    :param viewed: containers that become views of a buffer.
    """

    program: Program
    buffers: dict[tuple, list[tuple[int, str]]] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    viewed: dict[str, str] = field(default_factory=dict)

    def assign(self, name: str, first: int, last: int) -> None:
        """Assign a container to a buffer that is dead before its live range; make it a buffer if there is none."""
        alike = self.buffers.setdefault(_layout(self.program.containers[name]), [])
        dead = [x for x in alike if x[0] < first]
        if not dead:
            alike.append((last, name))
            return
        reused = min(dead, key=lambda x: not _same_shape(x[1], name, self.program))
        alike.remove(reused)
        alike.append((last, reused[1]))
        (self.renamed if _same_shape(reused[1], name, self.program) else self.viewed)[name] = reused[1]

    def result(self) -> Program:
        """Return the program with the containers in their buffers."""
        moved = renamed_program(self.program, self.renamed)
        containers = {n: c for n, c in moved.containers.items() if n not in self.renamed}
        for name, whole in self.viewed.items():
            containers[name] = as_view(containers[name], containers[whole])
        return replace(moved, containers=containers)


def _is_large(container: Container) -> bool:
    """True for an array with memory of its own, of a size that is worth sharing."""
    return has_own_memory(container) and bytes_of(container) >= LEAST


def _layout(container: Container) -> tuple:
    """Return the key of arrays that may share memory: dtype and size, and shape and strides unless in C order."""
    desc = container.desc
    rest = () if desc.is_packed_c_strides() else (container.shape, tuple(desc.strides))
    return container.dtype, int(desc.total_size), rest


def _same_shape(one: str, other: str, program: Program) -> bool:
    """True if two arrays have equal shapes and strides."""
    ours, theirs = (program.containers[n] for n in (one, other))
    return ours.shape == theirs.shape and tuple(ours.desc.strides) == tuple(theirs.desc.strides)
