"""What is measured: the kernels of NPBench and the irregular programs, by their names."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.irregular import PROGRAMS
from benchmarks.npbench import KERNELS

ALL = KERNELS + PROGRAMS


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
    def torch_version(self) -> Callable[..., Any] | None:
        """The kernel in PyTorch, where it is made of whole operations."""
        return getattr(importlib.import_module("benchmarks.torch_versions"), self.name, None)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the arguments."""
        return tuple(inspect.signature(self.numpy_version).parameters)

    @property
    def positions(self) -> tuple[int, ...]:
        """Where the arguments in `wrt` stand."""
        return tuple(self.parameters.index(name) for name in self.wrt)

    @staticmethod
    def counts(args: tuple) -> tuple[int, ...]:
        """Where integers stand that are no arrays: JAX differentiates loops if it knows them when it compiles."""
        return tuple(i for i, a in enumerate(args) if isinstance(a, int))


def load(name: str) -> Kernel:
    """A kernel by its name."""
    folder = "irregular" if name in PROGRAMS else "npbench"
    module = importlib.import_module(f"benchmarks.{folder}.{name}")
    function = getattr(module, name)
    return Kernel(name, function, module.jax_version, module.inputs, module.SIZES, module.WRT)
