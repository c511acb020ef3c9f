"""Whether sdgrad's value and gradient of a program are those of NumPy: :func:`failure`.

The reference runs the same Python function in ``longdouble`` and takes differences of it. It shares nothing with the
engine.
"""

from __future__ import annotations

import importlib.util
import itertools
import re
import tempfile
import traceback
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import numpy as np
import races

import sdgrad
from fuzz.ways import WAYS, Unusable, Way

races.watch()

STEP = np.longdouble(1e-6)
LARGEST = 1e4
EXACT = WAYS["function"]
_numbers = itertools.count()


class Longdouble:
    """NumPy, where an array made without a dtype is one of ``longdouble``."""

    def __getattr__(self, name: str):
        found = getattr(np, name)
        if name in ("zeros", "ones", "empty"):
            return lambda shape: found(shape, np.longdouble)
        return found


def failure(program: str, perturb: Callable | None = None, way: Way = WAYS["function"]) -> str | None:
    """What is wrong with sdgrad's value and gradient of a program, or None.

    :param program: the text of a module with ``program`` and ``arguments``.
    :param perturb: changes the engine's gradient before it is compared, to test the comparison.
    :param way: how the engine is asked.
    :raises Unusable: there is nothing to compare with.
    """
    with tempfile.TemporaryDirectory(prefix="sdgrad_fuzz_") as folder:
        reference = Reference.of(program, Path(folder), way)
        module = load(program, Path(folder))
        arguments = of_type(way.dtype, module.arguments())
        names = tuple(n for n, v in arguments.items() if np.asarray(v).dtype.kind == "f")
        try:
            value, gradients = way.engine(module.program, names, arguments)
        except Unusable:
            raise
        except sdgrad.SdgradError as error:
            return f"refused: {type(error).__name__}: {error}"
        except Exception as error:  # noqa: BLE001 (whatever the engine raises is a finding)
            last = traceback.extract_tb(error.__traceback__)[-1]
            return f"internal error: {type(error).__name__} in {last.name} of {Path(last.filename).name}: {error}"
    found = dict(zip(names, gradients, strict=True))
    if perturb:
        perturb(found)
    return reference.value_error(value) or reference.gradient_errors(found)


def load(program: str, folder: Path) -> ModuleType:
    """A program as a module, from a file of its own: DaCe reads the source."""
    name = f"fuzzed_{next(_numbers)}"
    path = folder / f"{name}.py"
    path.write_text(program)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Reference:
    """A program run by NumPy in extended precision."""

    def __init__(self, module: ModuleType, way: Way) -> None:
        self.way, given = way, of_type(way.dtype, module.arguments())
        plain = called(module.program, given)
        module.np = Longdouble()
        self.function = module.program
        self.arguments = of_type(np.longdouble, given)
        self.value = self.run(self.arguments)
        if not any(np.asarray(v).dtype.kind == "f" for v in self.arguments.values()):
            raise Unusable("no argument is a float")
        if not np.isfinite(self.value) or abs(self.value) > LARGEST:
            raise Unusable(f"the value is {self.value}")
        if not abs(plain - self.value) <= way.plain * max(1.0, abs(self.value)):
            raise Unusable(f"the value is {plain} in this precision, and {self.value} in extended")

    @staticmethod
    def of(program: str, folder: Path, way: Way) -> Reference:
        """The reference of a program that runs: a text made smaller may be none."""
        try:
            return Reference(load(program, folder), way)
        except Unusable:
            raise
        except Exception as error:  # noqa: BLE001
            raise Unusable(f"{type(error).__name__}: {error}") from error

    def run(self, arguments: dict) -> np.longdouble:
        return called(self.function, arguments)

    def value_error(self, value: float) -> str | None:
        if abs(value - self.value) <= self.way.value * max(1.0, abs(self.value)):
            return None
        return f"value: found {value}, NumPy has {np.float64(self.value)}"

    def moved(self, name: str, index: tuple, by: np.longdouble) -> np.longdouble:
        """The function's value where one element of an argument is moved."""
        array = np.array(self.arguments[name])
        array[index] += by
        return self.run({**self.arguments, name: array})

    def difference(self, name: str, index: tuple, step: np.longdouble) -> np.longdouble:
        return (self.moved(name, index, step) - self.moved(name, index, -step)) / (2 * step)

    def gradient_errors(self, found: dict[str, np.ndarray]) -> str | None:
        """The elements whose derivative is not that of NumPy."""
        wanted = {
            k: np.array([self.difference(k, i, STEP) for i in np.ndindex(np.shape(g))]).reshape(np.shape(g))
            for k, g in found.items()
        }
        scale = max([1.0, *(float(np.max(np.abs(w))) for w in wanted.values())])
        if not scale < LARGEST:
            raise Unusable(f"a derivative is {scale}")
        wrong = []
        for name, gradient in found.items():
            error = np.abs(np.asarray(gradient) - wanted[name])
            allowed = self.way.relative * (np.abs(wanted[name]) + self.way.floor * scale)
            wrong += [(name, tuple(map(int, i))) for i in np.argwhere(~(error <= allowed))]
        for name, index in wrong:
            self.assert_smooth(name, index, wanted[name][index])
        lines = [f"{k}{list(i)}: found {found[k][i]:.10g}, differences {wanted[k][i]:.10g}" for k, i in wrong[:4]]
        return f"gradient: {len(wrong)} wrong\n  " + "\n  ".join(lines) if wrong else None

    def assert_smooth(self, name: str, index: tuple, wanted: np.longdouble) -> None:
        """One-sided differences approach each other with the step, and central ones are the same."""
        apart = []
        for step in (STEP, STEP / 4):
            right = (self.moved(name, index, step) - self.value) / step
            left = (self.value - self.moved(name, index, -step)) / step
            apart.append(abs(right - left))
        other = self.difference(name, index, STEP / 4)
        if (
            apart[1] > 1e-8
            and apart[1] > apart[0] / 2
            or abs(other - wanted) > EXACT.relative * (abs(wanted) + EXACT.floor)
        ):
            raise Unusable(f"a kink at {name}{list(index)}")


def called(function: Callable, arguments: dict) -> np.longdouble:
    """The value of a function, which does not change the arguments."""
    with np.errstate(all="ignore"):
        value = np.asarray(function(**{k: np.copy(v)[()] for k, v in arguments.items()}))
    if value.ndim:
        raise Unusable("the value is an array")
    return value.astype(np.longdouble)[()]


def of_type(dtype: type, arguments: dict) -> dict:
    """Floats in a precision, numbers excepted where it is no wider; integers as they are."""
    return {k: _of_type(dtype, v) for k, v in arguments.items()}


def _of_type(dtype: type, value):
    is_array, array = isinstance(value, np.ndarray), np.asarray(value)
    if array.dtype.kind != "f" or not is_array and dtype != np.longdouble:
        return value
    return array.astype(dtype)


def kind(message: str) -> str:
    """A failure without its names and numbers, to count and compare failures by."""
    head = message.strip().splitlines()
    line = " ".join(head[:2]) if head[0].startswith("refused: DifferentiationError") else head[0]
    if line.startswith(("value:", "gradient:")):
        return line.split(":")[0]
    line = re.sub(r"'[^']*'|\"[^\"]*\"", "'..'", line)
    return re.sub(r"\b[A-Za-z]*_*\w*\d\w*\b|\d+", "#", line)[:160]


@contextmanager
def quick_builds(cache: Path | str, level: int = 0):
    """Compile as the tests do: no optimization, and into a folder of one's own."""
    with sdgrad.config.override(optimization_level=level, cache_dir=cache):
        yield
