"""What is measured of a program, and the versions of it for other libraries."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from benchmarks.gradbench import MODULES
from benchmarks.kernels import Kernel


@dataclass(frozen=True)
class Case:
    """An objective with inputs, as a module of a program declares it.

    :param kind: ``"gradient"`` of a number, ``"jacobian"`` of an array, or ``"sparse"``: a Jacobian whose blocks the
        module's ``assembled`` puts together to SciPy's matrices.
    :param sizes: by name; ``"tiny"`` is for tests.
    """

    function: Callable[..., Any]
    inputs: Callable[..., tuple]
    sizes: Mapping[str, tuple[int, ...]]
    wrt: tuple[str, ...]
    kind: str = "gradient"


@dataclass(frozen=True)
class Version:
    """A program for one library: a module of functions, and how a user of the library differentiates.

    :param derivatives: by the name of the objective, where it is not the library's plain gradient or Jacobian.
    """

    module: ModuleType
    derivatives: Mapping[str, Callable[..., Any]]


@dataclass(frozen=True)
class Program(Kernel):
    """A case under its name, for the engines of :mod:`benchmarks.engines`."""

    module: str = ""
    kind: str = "gradient"

    @property
    def torch_version(self) -> Callable[..., Any]:
        return self.function("torch")

    def function(self, library: str) -> Callable[..., Any]:
        """The objective for a library."""
        return getattr(version(self.module, library).module, self.numpy_version.__name__)

    def derivative(self, library: str) -> Callable[..., Any] | None:
        """What a user of the library writes where a plain gradient or Jacobian does not do."""
        return version(self.module, library).derivatives.get(self.numpy_version.__name__)

    def finished(self, results: Sequence[Any], args: Sequence[Any]) -> Sequence[Any]:
        """Results, those of a sparse Jacobian as matrices."""
        if self.kind != "sparse":
            return results
        import numpy as np

        return version(self.module, "sdgrad").module.assembled([np.asarray(r) for r in results], *args)


def arrays_of(program: Program, gradients: Sequence[Any]) -> dict[str, Any]:
    """Derivatives as arrays with names; of sparse matrices the elements that are not zero, and their places."""
    import numpy as np

    if program.kind != "sparse":
        names = program.wrt if len(gradients) == len(program.wrt) else range(len(gradients))
        return {str(n): np.asarray(g) for n, g in zip(names, gradients, strict=True)}
    found: dict[str, Any] = {}
    for name, matrix in zip(program.wrt, gradients, strict=True):
        matrix = matrix.copy()
        matrix.eliminate_zeros()
        matrix.sort_indices()
        found |= {name: matrix.data, f"{name}_columns": matrix.indices, f"{name}_rows": matrix.indptr}
    return found


@functools.cache
def version(name: str, library: str) -> Version:
    """A module in which ``np`` is that of another library, after that library's changes."""
    full = f"benchmarks.gradbench.{name}"
    changes = importlib.import_module(f"benchmarks.gradbench.by_{library}")
    module = importlib.import_module(full)
    if library != "sdgrad":
        spec = importlib.util.spec_from_file_location(f"{full}_by_{library}", str(module.__file__))
        assert spec is not None and spec.loader is not None
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        vars(module)["np"] = changes.NUMPY
    change: Callable[[ModuleType], Mapping[str, Callable[..., Any]]] = getattr(changes, name, lambda _: {})
    return Version(module, change(module))


def declared(modules: Sequence[str] = MODULES) -> dict[str, tuple[str, Case]]:
    """The cases of some modules with the module of each, by the names of their objectives."""
    found = ((m, importlib.import_module(f"benchmarks.gradbench.{m}").CASES) for m in modules)
    return {case.function.__name__: (m, case) for m, cases in found for case in cases}


def names(modules: Sequence[str] = MODULES) -> list[str]:
    """The objectives of some modules."""
    return list(declared(modules))


def by_jax(module: str, name: str, *args: Any) -> Any:
    """Call an objective's version for JAX."""
    return getattr(version(module, "jax").module, name)(*args)


def load(name: str) -> Program:
    """A program by the name of its objective."""
    module, case = declared()[name]
    jax_version = functools.partial(by_jax, module, name)
    return Program(name, case.function, jax_version, case.inputs, case.sizes, case.wrt, module, case.kind)
