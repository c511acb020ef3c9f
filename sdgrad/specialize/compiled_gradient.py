"""Call a differentiated and compiled program, and take gradients out of what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdgrad.autodiff.differentiate import Differentiated
from sdgrad.autodiff.seeds import gradient_name
from sdgrad.program.tree import Program
from sdgrad.runtime.call.compiled_program import CompiledProgram
from sdgrad.runtime.call.device_arrays import Memory, is_resident, run
from sdgrad.runtime.call.marshalling import as_array, like


@dataclass
class CompiledGradient:
    """Hold a differentiated and compiled program.

    :param make: returns what was differentiated: a program that was compiled before needs it for its activity only.
    """

    normalized: Program
    program: CompiledProgram
    make: Callable[[], Differentiated]

    @property
    def result(self) -> Differentiated:
        """Return the program, its activity and its tape."""
        return self.make()

    def depends_on(self, name: str) -> bool:
        """True if the outputs depend on an argument."""
        return self.result.normalized.root(name) in self.result.activity.useful_start

    def __call__(
        self, arguments: Mapping[str, Any], inplace: bool = False, memory: Memory | None = None
    ) -> dict[str, Any]:
        return run(self.program, arguments, memory, inplace)

    def gradient(self, name: str, found: Mapping[str, Any], original: Any) -> Any:
        """Return the gradient of an argument, in its kind and shape."""
        array = found[gradient_name(name, self.normalized)]
        if is_resident(array):
            return array.reshape(getattr(original, "shape", ()))
        return like(array.reshape(np.shape(as_array(original))), original)
