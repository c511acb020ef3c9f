"""Let functions of the user see, and change, what is made of a module on its way to a compiled program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import dace

from sdgrad.errors import ArgumentError
from sdgrad.program.names import Names

STAGES = ("post_onnx", "post_autodiff", "post_compile")


@dataclass(frozen=True)
class Graph:
    """What a hook after the import is called with: ``sdfg`` is the module as a graph of operators."""

    sdfg: dace.SDFG


@dataclass
class Hooks:
    """By stage and name, in the order in which they run.

    - ``post_onnx``: ``hook(graph)``; ``graph.sdfg`` is the module as a graph of operators.
    - ``post_autodiff``: ``hook(forward_sdfg, backward_sdfg)``.
    - ``post_compile``: ``hook(function)``; ``function(*tensors)`` runs the compiled forward program.
    """

    stages: dict[str, dict[str, Callable]] = field(default_factory=lambda: {s: {} for s in STAGES})

    def add(self, stage: str, name: str, hook: Callable, first: bool) -> None:
        """
        :raises ArgumentError: ``hook`` is no function.
        """
        if not callable(hook):
            raise ArgumentError(f"the hook '{name}' is called when a module is compiled; {hook!r} cannot be called")
        hooks = self.stages[stage]
        fresh = Names(hooks).fresh(name)
        self.stages[stage] = {fresh: hook, **hooks} if first else {**hooks, fresh: hook}

    def imported(self, sdfg: dace.SDFG) -> None:
        for hook in self.stages["post_onnx"].values():
            hook(Graph(sdfg))

    def is_watched(self) -> bool:
        return bool(self.stages["post_autodiff"])

    def differentiated(self, forward: dace.SDFG, backward: dace.SDFG) -> None:
        for hook in self.stages["post_autodiff"].values():
            hook(forward, backward)

    def compiled(self, function: Any) -> None:
        for hook in self.stages["post_compile"].values():
            hook(function)
