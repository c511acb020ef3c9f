"""What a raw graph of the zoo is, and the decorator that registers one."""

from collections.abc import Callable
from dataclasses import dataclass

import dace
import numpy as np
from dace.config import set_temporary

Values = dict[str, np.ndarray | int | float]


@dataclass(frozen=True)
class RawProgram:
    """A graph built through DaCe's own interface.

    :param name: unique name, also the graph's
    :param build: makes a fresh graph at every call
    :param inputs: makes a value for every argument and free symbol of the graph, outputs
        included, from a random generator
    :param wrt: containers to differentiate with respect to
    :param outputs: containers whose final content is the result
    :param reference: the same in NumPy: values before to outputs after; writes nothing it is given
    :param tags: what the graph exercises
    """

    name: str
    build: Callable[[], dace.SDFG]
    inputs: Callable[[np.random.Generator], Values]
    wrt: tuple[str, ...]
    outputs: tuple[str, ...]
    reference: Callable[[Values], Values]
    tags: frozenset[str]

    def __str__(self) -> str:
        return self.name

    def run(self, values: Values) -> Values:
        """The outputs in plain NumPy, from copies of ``values``."""
        copies = {k: np.array(v) if isinstance(v, np.ndarray) else v for k, v in values.items()}
        return self.reference(copies)


registry: dict[str, RawProgram] = {}


def raw(
    inputs: Callable[[np.random.Generator], Values],
    wrt: str,
    outputs: str,
    reference: Callable[[Values], Values],
    tags: str = "",
) -> Callable:
    """Registers a function that fills the empty graph it is given.

    ``wrt``, ``outputs`` and ``tags`` are names separated by spaces.
    """

    def register(fill: Callable[[dace.SDFG], None]) -> Callable:
        name = f"raw_{fill.__name__}"
        if name in registry:
            raise ValueError(f"two raw graphs are called {name}")

        def build() -> dace.SDFG:
            sdfg = dace.SDFG(name)
            with set_temporary("compiler", "lineinfo", value="none"):  # looking it up on the stack takes a while
                fill(sdfg)
            sdfg.validate()
            return sdfg

        registry[name] = RawProgram(
            name=name,
            build=build,
            inputs=inputs,
            wrt=tuple(wrt.split()),
            outputs=tuple(outputs.split()),
            reference=reference,
            tags=frozenset(tags.split()) | {"raw", fill.__module__.rpartition(".")[2]},
        )
        return fill

    return register


def doubles(sdfg: dace.SDFG, **shapes: tuple | list) -> None:
    """Adds float64 arrays that are arguments."""
    for name, shape in shapes.items():
        sdfg.add_array(name, shape, dace.float64)


def temporaries(sdfg: dace.SDFG, **shapes: tuple | list) -> None:
    """Adds float64 arrays that are the graph's own; ``()`` makes a scalar."""
    for name, shape in shapes.items():
        if shape == ():
            sdfg.add_scalar(name, dace.float64, transient=True)
        else:
            sdfg.add_transient(name, shape, dace.float64)
