"""Define the library node that fills an array with random numbers, of which each depends on a key and on its position.

The C++ function is declared in ``sdgrad_philox.h``. A draw has no derivative: those by the parameters of distributions
are recorded where draws are.
"""

from __future__ import annotations

import enum
from typing import Any, ClassVar

import dace
import dace.library
from dace import nodes as nd
from dace import properties
from dace.transformation.transformation import ExpandTransformation

from sdgrad.runtime import INCLUDE
from sdgrad.runtime.compile.random_object import random_object
from sdgrad.runtime.libraries.environment import NeedsNothing

IMPLEMENTATION = "Philox"
OPERANDS = ("_a", "_b")


class Kind(enum.IntEnum):
    """What is drawn, by the numbers of ``sdgrad_philox.h``."""

    WORDS = 0
    HALVES = 1
    UNIT = 2
    OPEN = 3
    KEYS = 4
    FOLDED = 5
    BELOW = 6
    EXPONENTIAL = 7
    NORMAL = 8
    LAPLACE = 9
    LOGISTIC = 10
    GUMBEL = 11
    CAUCHY = 12
    GAMMA = 13
    LOG_GAMMA = 14
    POISSON = 15
    BINOMIAL = 16


@dace.library.environment
class Philox(NeedsNothing):
    """The object that programs with random numbers are linked with."""

    cmake_includes: ClassVar[list[str]] = [str(INCLUDE)]
    headers: ClassVar[list[str]] = ["sdgrad_philox.h"]

    @staticmethod
    def cmake_libraries() -> list[str]:
        """Return the object to link, compiled first if it does not exist."""
        return [str(random_object().make())]


@dace.library.expansion
class ExpandDraw(ExpandTransformation):
    """Expand to a call."""

    environments: ClassVar[list] = [Philox]

    @staticmethod
    def expansion(node: Draw, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> nd.Tasklet:
        """Return the tasklet.

        :raises TypeError: an operand is no line of numbers.
        """
        edges = {e.dst_conn if e.dst is node else e.src_conn: e for e in state.all_edges(node)}
        types = {c: sdfg.arrays[e.data.data].dtype for c, e in edges.items()}
        lines = {c: _line(e.data, sdfg.arrays[e.data.data]) for c, e in edges.items()}
        if lines["_key"][1] != "1":
            raise TypeError("the words of a key are one after the other")
        parts = [f"{c}, {lines[c][1]}" if c in lines else "nullptr, 0" for c in OPERANDS]
        count, step = lines["_out"]
        is_float = str(types["_out"] == dace.float32).lower()
        code = f"sdgrad_draw({node.kind}, _key, {count}, {', '.join(parts)}, _out, {step}, {is_float});"
        given = {c: dace.pointer(types[c]) for c in node.in_connectors}
        return nd.Tasklet(node.label, given, {"_out": dace.pointer(types["_out"])}, code, dace.Language.CPP)


def _line(memlet: dace.Memlet, desc: dace.data.Data) -> tuple[str, str]:
    """Print how many elements an operand has, and how far apart they are: 0 for one.

    :raises TypeError: they are no line.
    """
    extents, steps = memlet.subset.size(), [step for _, _, step in memlet.subset.ndrange()]
    found = [(n, s * k) for n, s, k in zip(extents, desc.strides, steps, strict=True) if n != 1]
    if len(found) > 1:
        raise TypeError(f"random numbers are drawn into lines, not into {memlet}")
    n, step = found[0] if found else (1, 0)
    return dace.symbolic.symstr(n, cpp_mode=True), dace.symbolic.symstr(step, cpp_mode=True)


@dace.library.node
class Draw(nd.LibraryNode):
    """Fill ``_out`` with random numbers of a :class:`Kind` that ``_key`` decides.

    ``_a`` and ``_b`` are the parameters of the kind: one number, or one for each element. :attr:`FOLDED` takes the
    integer (64-bit) to make a key of, :attr:`BELOW` the number (64-bit, unsigned) that integers are below,
    :attr:`GAMMA` and :attr:`LOG_GAMMA` the shape, :attr:`POISSON` the rate, :attr:`BINOMIAL` the number of trials
    (64-bit) and the probability.
    """

    implementations: ClassVar[dict[str, type]] = {IMPLEMENTATION: ExpandDraw}
    default_implementation: ClassVar[str] = IMPLEMENTATION

    kind = properties.Property(dtype=int, default=0)

    def __init__(self, kind: int = 0, parameters: int = 0) -> None:
        super().__init__(Kind(kind).name.lower(), inputs={"_key", *OPERANDS[:parameters]}, outputs={"_out"})
        self.kind = int(kind)
