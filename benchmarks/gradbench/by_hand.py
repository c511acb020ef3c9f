"""Four programs with their gradients in C: ``benchmarks/handwritten/gradbench.c``."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.engines import Engine
from benchmarks.gradbench.program import arrays_of
from benchmarks.limits import compiled

if TYPE_CHECKING:
    from benchmarks.gradbench.program import Program

SOURCE = Path(__file__).parent.parent / "handwritten" / "gradbench.c"


class Given(NamedTuple):
    """What a function in C takes: sizes, arrays, arrays of these shapes for gradients, and room for some numbers."""

    sizes: tuple[int, ...]
    arrays: tuple[Any, ...]
    shapes: tuple[tuple[int, ...], ...]
    room: int


def llsq(x: Any, t: Any) -> Given:
    return Given((t.size, x.size), (x, t), (x.shape,), 1)


def lstm(weights: Any, extra: Any, state: Any, sequence: Any) -> Given:
    layers, (characters, bits) = weights.shape[0] // 2, sequence.shape
    room = (8 * layers * characters + characters + 4 * layers + 8) * bits
    return Given((layers, characters, bits), (weights, extra, state, sequence), (weights.shape, extra.shape), room)


def gmm(alphas: Any, means: Any, icf: Any, x: Any, gamma: float, m: int) -> Given:
    """The normalization of the prior has no derivative, and is left to SciPy."""
    import numpy as np

    from benchmarks.gradbench.gmm import log_prior

    (n, d), k = x.shape, alphas.size
    zeros = np.zeros((k, d))
    constants = np.array([log_prior(zeros, zeros[:, :0], gamma, m) + 0.5 * gamma**2 * k * d, gamma, float(m)])
    return Given(
        (d, k, n), (alphas, means, icf, x, constants), (alphas.shape, means.shape, icf.shape), 3 * k * d + 2 * k
    )


def ba(cameras: Any, points: Any, w: Any, by: Any, of: Any, features: Any) -> Given:
    p = w.size
    return Given((p,), (cameras, points, w, by, of, features), ((p, 2, 11), (p, 2, 3), (p, 2)), 3 * p)


WRITTEN: Mapping[str, Callable[..., Given]] = {"ba": ba, "gmm": gmm, "llsq": llsq, "lstm": lstm}


class ByHand(Engine):
    """A function in C that is given no arrays for gradients where only the value is wanted."""

    kernel: Program

    def __init__(self, kernel: Program, args: Sequence[Any]) -> None:
        import numpy as np

        super().__init__(kernel, args)
        if kernel.name not in WRITTEN:
            raise NotImplementedError("not written in C")
        given = WRITTEN[kernel.name](*args)
        self.kept, self.sizes = given.arrays, [ctypes.c_long(n) for n in given.sizes]
        self.gradients, self.room = [np.zeros(shape) for shape in given.shapes], np.empty(given.room)
        self.function = compiled(Path.cwd(), SOURCE)[kernel.name]
        self.function.restype = ctypes.c_double

    def build_forward(self) -> None:
        pass

    def build_gradient(self) -> None:
        pass

    def _value(self, gradients: Sequence[Any]) -> float:
        arrays = [a if a is None else ctypes.c_void_p(a.ctypes.data) for a in (*self.kept, *gradients, self.room)]
        return self.function(*self.sizes, *arrays)

    def forward(self) -> Any:
        value = self._value([None] * len(self.gradients))
        return value if self.kernel.kind == "gradient" else self.room

    def gradient(self) -> tuple[Any, Sequence[Any]]:
        value = self._value(self.gradients)
        if self.kernel.kind == "gradient":
            return value, self.gradients
        return None, self.kernel.finished(self.gradients, self.args)

    def arrays(self, gradients: Sequence[Any]) -> dict[str, Any]:
        return arrays_of(self.kernel, gradients)
