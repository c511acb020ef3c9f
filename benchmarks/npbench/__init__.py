"""The kernels: each module has the kernel in NumPy, as sdgrad takes it, and in JAX.

A module defines ``SIZES`` (by name), ``WRT`` (the arguments to differentiate), ``inputs(size, rng)``,
``jax_version``, and a NumPy function named like the module. Both functions return the sum of the kernel's
results, so that one gradient goes through all of it.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

KERNELS = (
    "arc_distance",
    "atax",
    "bicg",
    "gemm",
    "gemver",
    "gesummv",
    "hdiff",
    "k2mm",
    "k3mm",
    "mlp",
    "mvt",
    "softmax",
)
"""The kernels, each the name of a module and of the function in it."""


@dataclass(frozen=True)
class Kernel:
    """One kernel: two versions of a function, and what to call them with."""

    name: str
    numpy_version: Callable[..., Any]
    jax_version: Callable[..., Any]
    inputs: Callable[..., tuple]
    sizes: Mapping[str, tuple[int, ...]]
    wrt: tuple[str, ...]

    @property
    def positions(self) -> tuple[int, ...]:
        """Where the arguments in `wrt` stand."""
        names = list(inspect.signature(self.numpy_version).parameters)
        return tuple(names.index(name) for name in self.wrt)


def load(name: str) -> Kernel:
    """A kernel by its name."""
    module = importlib.import_module(f"benchmarks.npbench.{name}")
    function = getattr(module, name)
    return Kernel(name, function, module.jax_version, module.inputs, module.SIZES, module.WRT)
