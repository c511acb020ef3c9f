"""The kernels of NPBench: each module has the kernel in NumPy, as sdgrad takes it, and in JAX.

A module defines ``SIZES`` (by name), ``WRT`` (the arguments to differentiate), ``inputs(size, rng)``,
``jax_version``, and a NumPy function named like the module; versions in PyTorch are in ``torch_versions.py`` beside
this folder. All of them return the sum of the kernel's results, so that one gradient goes through all of it; of
complex results a real number is taken. The NumPy function may write its arguments.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

KERNELS = (
    "adi",
    "arc_distance",
    "atax",
    "azimint_hist",
    "azimint_naive",
    "bicg",
    "cavity_flow",
    "channel_flow",
    "cholesky",
    "cholesky2",
    "compute",
    "contour_integral",
    "conv2d_bias",
    "correlation",
    "covariance",
    "deriche",
    "doitgen",
    "durbin",
    "fdtd_2d",
    "floyd_warshall",
    "gemm",
    "gemver",
    "gesummv",
    "go_fast",
    "gramschmidt",
    "hdiff",
    "heat_3d",
    "jacobi_1d",
    "jacobi_2d",
    "k2mm",
    "k3mm",
    "lenet",
    "lu",
    "ludcmp",
    "mandelbrot1",
    "mlp",
    "mvt",
    "nbody",
    "resnet",
    "scattering_self_energies",
    "seidel_2d",
    "softmax",
    "spmv",
    "stockham_fft",
    "symm",
    "syr2k",
    "syrk",
    "trisolv",
    "trmm",
    "vadv",
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
    module = importlib.import_module(f"benchmarks.npbench.{name}")
    function = getattr(module, name)
    return Kernel(name, function, module.jax_version, module.inputs, module.SIZES, module.WRT)
