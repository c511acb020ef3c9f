"""What an entry of the zoo is, the decorator that makes one, and makers of inputs.

A program is a small NumPy-style function as a user would write it. Its *result* is what
the function returns (a tuple is flattened), followed by the final content of every
argument named in ``mutates``. ``run`` computes that result in plain NumPy and
``program.jax`` computes it in jax.numpy; both leave the caller's arrays alone.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._rebind import rebind
from .mutable_jax import mutable

Inputs = Callable[[np.random.Generator], tuple]


@dataclass(frozen=True)
class Program:
    """One program of the zoo.

    :param name: unique name, the function's own
    :param function: a NumPy-style function with source; runs as plain Python unless ``reference`` is given
    :param inputs: makes the positional arguments from a random generator
    :param wrt: names or positions of the float arguments to differentiate
    :param tags: what the program exercises
    :param scalar: it returns exactly one scalar and mutates nothing that matters
    :param jax: the result (see the module's text) in jax.numpy; None, with the tag "nojax", if not writable
    :param reference: plain NumPy version where ``function`` itself cannot run as Python
    :param mutates: the arguments it writes
    :param expected: for programs at a kink: the gradients of the (summed) result with
        respect to ``wrt``, in closed form, as a function of the positional arguments
    """

    name: str
    function: Callable
    inputs: Inputs
    wrt: tuple[int | str, ...]
    tags: frozenset[str]
    scalar: bool
    jax: Callable | None = None
    reference: Callable | None = None
    mutates: tuple[str, ...] = ()
    expected: Callable | None = None

    def __str__(self) -> str:
        return self.name

    @property
    def argument_names(self) -> tuple[str, ...]:
        """Names of the positional arguments."""
        return tuple(inspect.signature(self.function).parameters)

    @property
    def wrt_positions(self) -> tuple[int, ...]:
        """``wrt`` as positions."""
        names = self.argument_names
        return tuple(w if isinstance(w, int) else names.index(w) for w in self.wrt)

    @property
    def python(self) -> Callable:
        """The plain NumPy version, in which calls of ``@dace.program`` objects are Python calls."""
        return rebind(self.reference or self.function, lambda value: value)

    def run(self, *args: Any) -> tuple:
        """The result in plain NumPy, on copies of ``args``."""
        args = tuple(np.array(a) if isinstance(a, np.ndarray) else a for a in args)
        returned = self.python(*args)
        written = tuple(args[self.argument_names.index(name)] for name in self.mutates)
        return flat(returned) + written


def flat(returned: Any) -> tuple:
    """What a function returned, as a flat tuple of values."""
    if returned is None:
        return ()
    if isinstance(returned, (tuple, list)):
        return tuple(v for r in returned for v in flat(r))
    return (returned,)


_registry: dict[str, Program] = {}


def program(
    inputs: Inputs,
    tags: str = "",
    *,
    scalar: bool = True,
    wrt: tuple[int | str, ...] | None = None,
    jax: Callable | None = None,
    reference: Callable | None = None,
    mutates: str = "",
    expected: Callable | None = None,
) -> Callable:
    """Registers the decorated function and returns it unchanged.

    ``tags`` and ``mutates`` are names separated by spaces. ``wrt`` is every float or complex
    argument unless given. Without ``jax`` the NumPy source itself runs on jax.numpy through
    ``mutable``, which also gives in-place writes a meaning.
    """

    def register(function: Callable) -> Callable:
        name = function.__name__
        if name in _registry:
            raise ValueError(f"two programs are called {name}")
        tagset = frozenset(tags.split()) | {function.__module__.rpartition(".")[2]}
        written = tuple(mutates.split())
        runs_on_jax = jax
        if runs_on_jax is None and "nojax" not in tagset:
            runs_on_jax = mutable(reference or function, written)
        _registry[name] = Program(
            name=name,
            function=function,
            inputs=inputs,
            wrt=_float_arguments(function, inputs) if wrt is None else wrt,
            tags=tagset,
            scalar=scalar,
            jax=runs_on_jax,
            reference=reference,
            mutates=written,
            expected=expected,
        )
        return function

    return register


def _float_arguments(function: Callable, inputs: Inputs) -> tuple[str, ...]:
    values = inputs(np.random.default_rng(0))
    names = inspect.signature(function).parameters
    return tuple(n for n, v in zip(names, values, strict=True) if np.asarray(v).dtype.kind in "fc")


# Makers of inputs ------------------------------------------------------------------------------


def _shape(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else shape


def signed(rng: np.random.Generator, shape: int | tuple[int, ...] = ()) -> Any:
    """Values of both signs with magnitude in 0.2 .. 1.2: away from zero."""
    shape = _shape(shape)
    value = rng.uniform(0.2, 1.2, shape) * rng.choice([-1.0, 1.0], shape)
    return value if shape else float(value)


def between(rng: np.random.Generator, low: float, high: float, shape: int | tuple[int, ...] = ()) -> Any:
    """Uniform values in low .. high."""
    value = rng.uniform(low, high, _shape(shape))
    return value if _shape(shape) else float(value)


def distinct(rng: np.random.Generator, shape: int | tuple[int, ...], gap: float = 0.17) -> np.ndarray:
    """Nonzero values of both signs, any two of them at least ``gap / 2`` apart: no ties."""
    size = int(np.prod(_shape(shape)))
    steps = rng.permutation(size) - size // 2 + 0.5
    return (gap * (steps + rng.uniform(-0.2, 0.2, size))).reshape(shape)


def arrays(*shapes: int | tuple[int, ...]) -> Inputs:
    """Float64 arguments of both signs; ``()`` is a Python float."""
    return lambda rng: tuple(signed(rng, s) for s in shapes)


def positive(*shapes: int | tuple[int, ...]) -> Inputs:
    """Float64 arguments in 0.3 .. 1.7; ``()`` is a Python float."""
    return lambda rng: tuple(between(rng, 0.3, 1.7, s) for s in shapes)


def within(low: float, high: float, *shapes: int | tuple[int, ...]) -> Inputs:
    """Float64 arguments in low .. high; ``()`` is a Python float."""
    return lambda rng: tuple(between(rng, low, high, s) for s in shapes)


def untied(*shapes: int | tuple[int, ...]) -> Inputs:
    """Float64 arguments without ties, also between arguments."""

    def make(rng: np.random.Generator) -> tuple:
        sizes = [int(np.prod(_shape(s))) for s in shapes]
        pieces = np.split(distinct(rng, sum(sizes)), np.cumsum(sizes)[:-1])
        return tuple(p.reshape(s) for p, s in zip(pieces, shapes, strict=True))

    return make


def complexes(rng: np.random.Generator, shape: int | tuple[int, ...]) -> np.ndarray:
    """Complex128 values with both parts away from zero."""
    return signed(rng, shape) + 1j * signed(rng, shape)
