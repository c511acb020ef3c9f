"""Show what is made of a module on its way to compiled programs, to look at it or change it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dace

from sdgrad.errors import ArgumentError
from sdgrad.pipeline import Ready
from sdgrad.specialize.compiled_halves import both_graphs, compile_halves
from sdgrad.torch.capture import Captured
from sdgrad.torch.hooks import Hooks
from sdgrad.torch.prepared import Prepared
from sdgrad.torch.steps import Segment


@dataclass(frozen=True)
class Made:
    """Hold graphs and programs of a module's last call, and hooks that run whenever such are made.

    A hook that is added later than a call makes the module start anew.
    """

    hooks: Hooks
    latest: Callable[[], Captured | None]
    reset_sdfg: Callable[[], None]

    # -- of the last call
    @property
    def sdfg(self) -> dace.SDFG:
        """The module as a graph of ONNX operators, as it was differentiated.

        :raises ArgumentError: nothing was compiled yet, or parts of the module were left to PyTorch.
        """
        return list(self._segment().function.imported.values())[-1].sdfg

    @property
    def forward_sdfg(self) -> dace.SDFG:
        """The graph of the forward pass, which keeps what the backward pass needs; as it was before compilation."""
        prepared = self._prepared()
        ready = self._halves(prepared)[0] if prepared.request else Ready.of(prepared.signature.program)
        return ready.to_show().sdfg

    @property
    def backward_sdfg(self) -> dace.SDFG:
        """The graph of the backward pass.

        :raises ArgumentError: no call was recorded for one.
        """
        prepared = self._prepared()
        if not prepared.request:
            raise ArgumentError("the last program has no backward pass: call the module where gradients are recorded")
        return self._halves(prepared)[1].to_show().sdfg

    @property
    def compiled_function(self) -> Prepared:
        """The compiled forward pass: takes tensors in the order of its ``order``, returns tensors, records nothing."""
        return self._prepared()

    # -- hooks, by the names that DaCeML has for them
    def prepend_post_onnx_hook(self, name: str, hook: Callable[[Any], Any]) -> None:
        """Before all others: ``hook(graph)`` when the module is a graph of operators, ``graph.sdfg``."""
        self._add("post_onnx", name, hook, first=True)

    def append_post_onnx_hook(self, name: str, hook: Callable[[Any], Any]) -> None:
        """After all others: ``hook(graph)`` when the module is a graph of operators, ``graph.sdfg``."""
        self._add("post_onnx", name, hook, first=False)

    def prepend_post_autodiff_hook(self, name: str, hook: Callable[[dace.SDFG, dace.SDFG], Any]) -> None:
        """Before all others: ``hook(forward_sdfg, backward_sdfg)`` before these are compiled."""
        self._add("post_autodiff", name, hook, first=True)

    def append_post_autodiff_hook(self, name: str, hook: Callable[[dace.SDFG, dace.SDFG], Any]) -> None:
        """After all others: ``hook(forward_sdfg, backward_sdfg)`` before these are compiled."""
        self._add("post_autodiff", name, hook, first=False)

    def prepend_post_compile_hook(self, name: str, hook: Callable[[Prepared], Any]) -> None:
        """Before all others: ``hook(compiled_function)``."""
        self._add("post_compile", name, hook, first=True)

    def append_post_compile_hook(self, name: str, hook: Callable[[Prepared], Any]) -> None:
        """After all others: ``hook(compiled_function)``."""
        self._add("post_compile", name, hook, first=False)

    def _add(self, stage: str, name: str, hook: Callable, first: bool) -> None:
        self.hooks.add(stage, name, hook, first)
        self.reset_sdfg()

    # -- what these are read from
    def _segment(self) -> Segment:
        """Return the only segment of the last call; raise an error if there are several or none."""
        captured = self.latest()
        if captured is None:
            raise ArgumentError("nothing was compiled yet: call the module, or give it example_inputs")
        segments = captured.segments
        if len(segments) != 1:
            raise ArgumentError(
                f"the module is {len(segments)} graphs with operations of PyTorch between them; "
                "only what is captured as a whole has one graph"
            )
        return segments[0]

    def _prepared(self) -> Prepared:
        prepared = list(self._segment().prepared.values())[-1]
        if prepared is None:
            raise ArgumentError("the module's programs take more than tensors, and have no graphs of their own here")
        return prepared

    @staticmethod
    def _halves(prepared: Prepared) -> tuple[Ready, Ready]:
        assert prepared.request is not None
        parts = compile_halves(prepared.signature, prepared.request, "least").halves
        if parts is None:
            raise ArgumentError(
                "the backward pass begins with the whole forward pass, to keep memory_limit, or because nobody knows "
                "how much it keeps: the two have no graphs of their own"
            )
        return both_graphs(prepared.signature, parts)


SURFACE = frozenset(n for n in dir(Made) if not n.startswith("_")) | {"reset_sdfg"}
"""Names that a wrapped module has besides its own."""
