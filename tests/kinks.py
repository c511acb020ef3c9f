"""Functions at points where they have a kink, a pole next door, or no derivative: one row of the table each.

The sources run with NumPy's names bound to sdgrad (through ``np``), JAX and PyTorch.
"""

import types
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Kink:
    """A function, the point, and why the gradient there is what it is."""

    text: str
    function: types.FunctionType
    point: tuple


def tie(x):
    return np.max(x)


def smallest(x):
    return np.min(x)


def larger(x):
    return np.maximum(x[0], x[1])


def rectified(x):
    return np.maximum(x[0], 0.0)


def clipped(x):
    return np.minimum(np.maximum(x[0], 0.0), 1.0)


def absolute(x):
    return np.abs(x[0])


def root(x):
    return np.sqrt(x[0])


def norm(x):
    return np.sqrt(np.sum(x * x))


def library_norm(x):
    return np.linalg.norm(x)


def guarded_root(x):
    return np.where(x[0] > 0.0, np.sqrt(x[0]), 0.0)


def guarded_quotient(x):
    return np.where(x[0] != 0.0, 1.0 / x[0], 0.0)


def guarded_logarithm(x):
    return np.where(x[0] > 0.0, np.log(x[0]), 0.0)


def guarded_power(x):
    return np.where(x[0] > 0.0, x[0] ** 0.5, 0.0)


def times_zero(x):
    return np.sqrt(x[0]) * 0.0


def power(x):
    return x[0] ** x[1]


def square(x):
    return x[0] ** 2.0


def product(x):
    return np.prod(x)


def rounded(x):
    return np.floor(x[0]) * x[1]


def sign(x):
    return np.sign(x[0]) * x[0]


def angle(x):
    return np.arctan2(x[0], x[1])


def hypotenuse(x):
    return np.hypot(x[0], x[1])


KINKS = [
    Kink("max(x), two of three equal", tie, (2.0, 2.0, 1.0)),
    Kink("min(x), all equal", smallest, (1.0, 1.0, 1.0)),
    Kink("maximum(a, b), a = b", larger, (1.0, 1.0)),
    Kink("maximum(a, 0), a = 0", rectified, (0.0,)),
    Kink("clip of a to [0, 1], a = 0", clipped, (0.0,)),
    Kink("abs(a), a = 0", absolute, (0.0,)),
    Kink("sqrt(a), a = 0", root, (0.0,)),
    Kink("sqrt(sum(x * x)), x = 0", norm, (0.0, 0.0)),
    Kink("linalg.norm(x), x = 0", library_norm, (0.0, 0.0)),
    Kink("where(a > 0, sqrt(a), 0), a = 0", guarded_root, (0.0,)),
    Kink("where(a > 0, sqrt(a), 0), a = -1", guarded_root, (-1.0,)),
    Kink("where(a != 0, 1 / a, 0), a = 0", guarded_quotient, (0.0,)),
    Kink("where(a > 0, log(a), 0), a = 0", guarded_logarithm, (0.0,)),
    Kink("where(a > 0, a ** 0.5, 0), a = 0", guarded_power, (0.0,)),
    Kink("sqrt(a) * 0, a = 0", times_zero, (0.0,)),
    Kink("a ** b, a = 0, b = 2", power, (0.0, 2.0)),
    Kink("a ** b, a = 0, b = 0", power, (0.0, 0.0)),
    Kink("a ** b, a = -1, b = 2", power, (-1.0, 2.0)),
    Kink("a ** 2.0, a = 0", square, (0.0,)),
    Kink("prod(x), one zero", product, (0.0, 2.0, 3.0)),
    Kink("prod(x), two zeros", product, (0.0, 0.0, 3.0)),
    Kink("floor(a) * b, a = 2", rounded, (2.0, 3.0)),
    Kink("sign(a) * a, a = 0", sign, (0.0,)),
    Kink("arctan2(a, b), a = b = 0", angle, (0.0, 0.0)),
    Kink("hypot(a, b), a = b = 0", hypotenuse, (0.0, 0.0)),
]


def sdgrads(kink: Kink) -> np.ndarray:
    import sdgrad

    return sdgrad.grad(kink.function)(np.array(kink.point))


def jaxs(kink: Kink) -> np.ndarray:
    import jax
    import jax.numpy as jnp

    function = _with(kink.function, jnp)
    return np.asarray(jax.grad(function)(jnp.array(kink.point)))


def torchs(kink: Kink) -> np.ndarray:
    import torch

    def tensor(a):
        return a if isinstance(a, torch.Tensor) else torch.tensor(a, dtype=torch.float64)

    def both(function):
        return lambda a, b: function(tensor(a), tensor(b))

    names = types.SimpleNamespace(
        max=torch.max, min=torch.min, maximum=both(torch.maximum), minimum=both(torch.minimum), abs=torch.abs,
        sqrt=torch.sqrt, sum=torch.sum, linalg=torch.linalg, log=torch.log, prod=torch.prod, floor=torch.floor,
        sign=torch.sign, arctan2=torch.atan2, hypot=torch.hypot,
        where=lambda c, a, b: torch.where(c, tensor(a), tensor(b)),
    )  # fmt: skip
    x = torch.tensor(kink.point, dtype=torch.float64, requires_grad=True)
    _with(kink.function, names)(x).backward()
    return x.grad.numpy()


def _with(function: types.FunctionType, names) -> types.FunctionType:
    return types.FunctionType(function.__code__, {**function.__globals__, "np": names})


def spelled(gradient: np.ndarray) -> str:
    return ", ".join("nan" if np.isnan(g) else f"{g + 0.0:.3g}" for g in gradient)


def table() -> str:
    """The rows of the page: what was run, not what is known."""
    lines = ["| function, point | sdgrad | JAX | PyTorch |", "|---|---|---|---|"]
    for kink in KINKS:
        found = (spelled(engine(kink)) for engine in (sdgrads, jaxs, torchs))
        lines.append(f"| `{kink.text}` | {' | '.join(found)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
