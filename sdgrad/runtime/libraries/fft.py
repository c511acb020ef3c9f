"""Define the library node of discrete Fourier transforms along an axis, which expands to calls of pocketfft.

The node is linear, and its adjoint and its tangent are nodes of its kind. It has no symbols: lengths and strides are
those of its operands. The C++ functions are declared in ``sdgrad_fft.h``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import dace
import dace.library
from dace import data as dt
from dace import nodes as nd
from dace import properties
from dace.transformation.transformation import ExpandTransformation

from sdgrad.runtime import INCLUDE
from sdgrad.runtime.compile.pocketfft import FourierObject

IMPLEMENTATION = "pocketfft"
COMPLEX = {dace.complex64: "float", dace.complex128: "double"}
"""The C++ type of the parts of complex numbers."""
REAL = {dace.float32: "float", dace.float64: "double"}
CODE = """const int64_t shape[] = {{{shape}}}, from[] = {{{strides_in}}}, to[] = {{{strides_out}}};
sdgrad::fft::transform({{{rank}, {axis}, {back}, {half}, {inner}, {factor}, shape, from, to}}, _inp, _out);
"""
Line = tuple[Any, Any]
"""Extent and stride of a dimension."""


class Pocketfft:
    """What the library environments of transforms share; each is for one type of numbers."""

    cmake_minimum_version = None
    cmake_packages: ClassVar[list[str]] = []
    cmake_variables: ClassVar[dict[str, str]] = {}
    cmake_includes: ClassVar[list[str]] = [str(INCLUDE)]
    cmake_compile_flags: ClassVar[list[str]] = []
    cmake_link_flags: ClassVar[list[str]] = []
    cmake_files: ClassVar[list[str]] = []
    headers: ClassVar[list[str]] = ["sdgrad_fft.h"]
    state_fields: ClassVar[list[str]] = []
    init_code = ""
    finalize_code = ""
    dependencies: ClassVar[list[type]] = []


@dace.library.environment
class ComplexDouble(Pocketfft):
    """Transforms between complex numbers in double precision."""

    @staticmethod
    def cmake_libraries() -> list[str]:
        """Return the object to link, compiled first if it does not exist."""
        return [str(FourierObject.of("double", with_real=False).make())]


@dace.library.environment
class ComplexFloat(Pocketfft):
    """Transforms between complex numbers in single precision."""

    @staticmethod
    def cmake_libraries() -> list[str]:
        """Return the object to link, compiled first if it does not exist."""
        return [str(FourierObject.of("float", with_real=False).make())]


@dace.library.environment
class RealDouble(Pocketfft):
    """Transforms between real and complex numbers in double precision."""

    @staticmethod
    def cmake_libraries() -> list[str]:
        """Return the object to link, compiled first if it does not exist."""
        return [str(FourierObject.of("double", with_real=True).make())]


@dace.library.environment
class RealFloat(Pocketfft):
    """Transforms between real and complex numbers in single precision."""

    @staticmethod
    def cmake_libraries() -> list[str]:
        """Return the object to link, compiled first if it does not exist."""
        return [str(FourierObject.of("float", with_real=True).make())]


ENVIRONMENTS: dict[tuple[str, bool], type] = {
    ("double", False): ComplexDouble,
    ("float", False): ComplexFloat,
    ("double", True): RealDouble,
    ("float", True): RealFloat,
}


class Expand(ExpandTransformation):
    """Expand a node of a transform to a call of pocketfft."""

    environments: ClassVar[list] = []  # each tasklet has its own: the types of its operands decide

    @staticmethod
    def postprocessing(sdfg: dace.SDFG, state: dace.SDFGState, expansion: nd.Tasklet) -> None:
        """Add the environment of the tasklet."""
        types = expansion.in_connectors["_inp"].base_type, expansion.out_connectors["_out"].base_type
        part = next(filter(None, map(COMPLEX.get, types)))
        environment: Any = ENVIRONMENTS[part, any(t in REAL for t in types)]
        expansion.environments = {environment.full_class_path()}


@dace.library.expansion
class ExpandFourierTransform(Expand):
    """Expand this library's node."""

    @staticmethod
    def expansion(node: FourierTransform, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> nd.Tasklet:
        """Return the tasklet."""
        return tasklet(node, node, state, sdfg, f"std::pow(double(shape[{node.axis}]), {float(node.power)})")


@dace.library.node
class FourierTransform(nd.LibraryNode):
    """Transform the lines of ``_inp`` along an axis to those of ``_out``: ``sum of x[j] exp(-2 pi i j k / n)``.

    The types of the operands say what is transformed: from real numbers to their spectrum, from a spectrum to the real
    part of its transform, or between complex numbers.

    :param rank: how many dimensions of the operands count; further ones have one element.
    :param axis: among those that count.
    :param back: the exponent has a positive sign.
    :param power: the result is multiplied by ``n ** power``.
    :param half: of the spectrum of ``n`` real numbers only the first ``n // 2 + 1`` values exist.
    :param inner: the factor of those of a half spectrum that have a mirror image; 2 if they stand for it as well.
    """

    implementations: ClassVar[dict[str, type]] = {IMPLEMENTATION: ExpandFourierTransform}
    default_implementation: ClassVar[str] = IMPLEMENTATION

    rank = properties.Property(dtype=int, default=1)
    axis = properties.Property(dtype=int, default=0)
    back = properties.Property(dtype=bool, default=False)
    power = properties.Property(dtype=float, default=0.0)
    half = properties.Property(dtype=bool, default=False)
    inner = properties.Property(dtype=float, default=1.0)

    def __init__(
        self,
        name: str = "fourier_transform",
        rank: int = 1,
        axis: int = 0,
        back: bool = False,
        power: float = 0.0,
        half: bool = False,
        inner: float = 1.0,
    ) -> None:
        super().__init__(name, inputs={"_inp"}, outputs={"_out"})
        self.rank, self.axis, self.back, self.power, self.half, self.inner = rank, axis, back, power, half, inner

    def adjoint(self) -> FourierTransform:
        """Return the node that takes cotangents of the result to cotangents of the operand."""
        name = f"adjoint_{self.label}"
        return FourierTransform(name, self.rank, self.axis, not self.back, self.power, self.half, self.inner)


def tasklet(
    node: nd.LibraryNode, transform: FourierTransform, state: dace.SDFGState, sdfg: dace.SDFG, factor: str
) -> nd.Tasklet:
    """Generate the tasklet of a transform between the operands of a node.

    :param factor: C++ code of the number that the result is multiplied by.
    :raises TypeError: there is no transform between operands of these types and shapes.
    """
    edges = {"_inp": state.in_edges(node)[0].data, "_out": state.out_edges(node)[0].data}
    types = {c: sdfg.arrays[memlet.data].dtype for c, memlet in edges.items()}
    if len({REAL.get(t) or COMPLEX.get(t) for t in types.values()}) != 1 or not set(types.values()) & set(COMPLEX):
        raise TypeError(f"'{node.label}': there is no transform from {types['_inp']} to {types['_out']}")
    found = {c: _lines(transform.rank, memlet, sdfg.arrays[memlet.data]) for c, memlet in edges.items()}
    code = CODE.format(
        # half a spectrum is shorter than the real numbers that it belongs to
        shape=_numbers([n for n, _ in found["_out" if transform.half and types["_out"] in REAL else "_inp"]]),
        strides_in=_numbers([s for _, s in found["_inp"]]),
        strides_out=_numbers([s for _, s in found["_out"]]),
        rank=transform.rank,
        axis=transform.axis,
        back=str(transform.back).lower(),
        half=str(transform.half).lower(),
        inner=float(transform.inner),
        factor=factor,
    )
    inputs, outputs = {"_inp": dace.pointer(types["_inp"])}, {"_out": dace.pointer(types["_out"])}
    return nd.Tasklet(node.label, inputs, outputs, code, dace.Language.CPP)


def _lines(rank: int, memlet: dace.Memlet, desc: dt.Data) -> list[Line]:
    """Return extent and stride of each dimension that counts.

    :raises TypeError: it is open which ones do: a symbolic extent has become one.
    """
    steps = [step for _, _, step in memlet.subset.ndrange()]
    found = list(zip(memlet.subset.size(), (s * k for s, k in zip(desc.strides, steps, strict=True)), strict=True))
    if len(found) != rank:
        found = [line for line in found if line[0] != 1]
    if len(found) != rank:
        raise TypeError(
            f"a transform of {rank} dimensions has the operand {memlet}: which of its dimensions are meant?"
        )
    return found


def _numbers(values: Sequence[Any]) -> str:
    """Print integers as C++."""
    return ", ".join(f"int64_t({dace.symbolic.symstr(n, cpp_mode=True)})" for n in values)
