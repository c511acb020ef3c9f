"""Keep the adjoint of every container: created on demand, known to be zero until something is added to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import dace

from sdgrad.autodiff.selection import Doubt
from sdgrad.autodiff.shadows import Shadows
from sdgrad.program.arrays import assign, fill
from sdgrad.program.tree import Container, Node

WIDER = {dace.float16: dace.float32}


@dataclass
class Adjoints(Shadows):
    """Hold the adjoint of every container of a program, and what is known of it.

    The ``state`` of a container's memory is absent (known zero: nothing is stored), ``seed`` (given by the caller and
    not to be changed) or ``live`` (an array that may be added to). ``whole`` are containers of whose adjoint every
    element was selected by what the program computes: a zero in it is a value. ``arms`` are those of which an arm may
    not have selected an element.
    """

    stem = "gradient"
    wider = WIDER
    state: dict[str, str] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)
    arms: set[str] = field(default_factory=set)
    straight: frozenset[str] | None = None  # containers that may go back to known zero here; None: all

    def may_forget(self, name: str) -> bool:
        """True if the code being reversed runs exactly once for this container: no loop, branch or map is around it."""
        return self.straight is None or self.program.root(name) in self.straight

    def is_zero(self, name: str) -> bool:
        """True if the adjoint is known to be zero everywhere."""
        return self.program.root(name) not in self.state

    def is_whole(self, name: str) -> bool:
        """True if every element of the adjoint is known to be selected; False where nobody knows."""
        return self.program.root(name) in self.whole

    def doubt(self, name: str) -> Doubt:
        """Return what is known of zeros in the adjoint."""
        root = self.program.root(name)
        return Doubt.NONE if root in self.whole else Doubt.ARMS if root in self.arms else Doubt.MEMORY

    def note_arms(self, names: Iterable[str]) -> None:
        """Record that arms may not have selected some elements of the adjoints."""
        self.arms |= {self.program.root(n) for n in names}

    def note_selected(self, name: str, whole: bool) -> None:
        """Record that every element of the adjoint has been selected, or that this is not known any more."""
        (self.whole.add if whole else self.whole.discard)(self.program.root(name))

    def read(self, name: str) -> Container:
        """Return the container to read an adjoint from."""
        return self.container(name)

    def writable(self, name: str, zero: bool = True) -> list[Node]:
        """Make the adjoint of ``name`` a container that may be added to, and return the nodes that prepare it.

        With ``zero`` false, a known-zero adjoint is not cleared: the caller defines every element.
        """
        root = self.program.root(name)
        state = self.state.get(root)
        if state == "live":
            return []
        if state == "seed":
            seed = self.container(root)
            self._forget_views(root)
            copied = seed.local(self.names.fresh(f"{seed.name}_work"))
            self.register(root, copied)
            self.state[root] = "live"
            return [assign(copied, seed, "set", self.names, f"copy_{seed.name}")]
        target = self.container(root)
        self.state[root] = "live"
        return [fill(target, "0", self.names, f"zero_{target.name}")] if zero else []

    def _forget_views(self, root: str) -> None:
        """Drop the adjoints of a container's views: they refer to memory that is replaced."""
        for name in [n for n in self.of if n != root and self.program.root(n) == root]:
            del self.of[name]

    def forget(self, name: str) -> None:
        """Record that an adjoint is zero again, because its container was overwritten as a whole."""
        self.state.pop(self.program.root(name), None)
        self.note_selected(name, whole=False)
