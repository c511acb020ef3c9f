"""Define the library node of convolutions, which expands to calls of oneDNN.

The wheel ``onednn-cpu-gomp`` ships oneDNN for x86 processors, on GNU's OpenMP, which DaCe's maps use as well. Operands
are in single precision; each call reorders them to oneDNN's own layouts and back.
"""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import dace
import dace.library
import numpy as np
import sympy
from dace import nodes as nd
from dace import properties
from dace.transformation.transformation import ExpandTransformation

from sdgrad.runtime import INCLUDE
from sdgrad.runtime.compile.program_objects import convolution_object, found_at

WHEEL = "onednn-cpu-gomp"
IMAGE, WEIGHTS, RESULT = OPERANDS = ("_image", "_weights", "_result")
"""Connectors of the operands."""
KINDS = (RESULT, IMAGE, WEIGHTS)
"""The operand that is computed, by the number that ``sdgrad_convolution.h`` has for it."""


@functools.cache
def library_path() -> str | None:
    """Return the path of oneDNN's library in its wheel; None if the wheel is not installed."""
    try:
        files = importlib.metadata.files(WHEEL) or ()
    except importlib.metadata.PackageNotFoundError:
        return None
    found = [Path(str(f.locate())).resolve() for f in files if ".so.3" in f.name]
    return next((str(p) for p in sorted(found) if p.is_file()), None)


def _needed() -> str:
    """Return the path of oneDNN's library.

    :raises ImportError: its wheel is not installed.
    """
    path = library_path()
    if path is None:
        raise ImportError(f"convolutions by oneDNN need the package {WHEEL}: pip install {WHEEL}")
    return path


def covers(dtype: Any) -> bool:
    """True if oneDNN is installed and takes the type."""
    return dtype == np.float32 and library_path() is not None


@dace.library.environment
class OneDNN:
    """oneDNN from its wheel as a library environment of DaCe, found at run time by its path."""

    cmake_minimum_version = None
    cmake_packages: ClassVar[list[str]] = []
    cmake_variables: ClassVar[dict[str, str]] = {}
    cmake_includes: ClassVar[list[str]] = [str(INCLUDE)]
    cmake_compile_flags: ClassVar[list[str]] = []
    cmake_files: ClassVar[list[str]] = []
    headers: ClassVar[list[str]] = ["sdgrad_convolution.h"]
    state_fields: ClassVar[list[str]] = []
    init_code = ""
    finalize_code = ""
    dependencies: ClassVar[list[type]] = []

    @staticmethod
    def cmake_libraries() -> list[str]:
        """Return the object that calls the library, which is compiled first, and the library."""
        return [str(convolution_object().make()), _needed()]

    @staticmethod
    def cmake_link_flags() -> list[str]:
        """Return the flags that store the library's folder in the compiled program."""
        return found_at(_needed())


@dace.library.expansion
class ExpandOneDNN(ExpandTransformation):
    """Expand a convolution to the call of a oneDNN primitive."""

    environments: ClassVar[list] = [OneDNN]

    @staticmethod
    def expansion(node: Convolution, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> nd.Tasklet:
        """Return the tasklet."""
        pointer = dace.pointer(dace.float32)
        numbers = ", ".join(f"int64_t({dace.symbolic.symstr(n, cpp_mode=True)})" for n in node.extents)
        rank = (len(node.extents) - 4) // 7
        kind, operands = KINDS.index(node.computed), ", ".join(OPERANDS)
        code = f"const int64_t extents[] = {{{numbers}}};\nsdgrad_convolution({kind}, {rank}, extents, {operands});"
        ins = {c: pointer for c in node.in_connectors}
        return nd.Tasklet(node.label, ins, {node.computed: pointer}, code, dace.Language.CPP)


@dace.library.node
class Convolution(nd.LibraryNode):
    """Compute ``result = image * weights``, or one of its two adjoints, in single precision.

    Operands are contiguous: ``_image`` (batch, channels, spatial ..), ``_weights`` (results, channels of a group,
    kernel ..), ``_result`` (batch, results, spatial ..).

    :param computed: the operand that is computed from the other two.
    :param batch, groups, channels, results: extents; the last two count those of one group.
    :param axes: for each spatial axis: extents of image, kernel and result, stride, dilation, padding before and after.
    """

    implementations: ClassVar[dict[str, type]] = {"onednn": ExpandOneDNN}
    default_implementation: ClassVar[str] = "onednn"

    computed = properties.Property(dtype=str, default=RESULT, desc="The operand that is computed")
    extents = properties.ShapeProperty(default=(), desc="Extents, in the order of sdgrad_convolution.h")

    def __init__(self, name: str = "convolution", computed: str = RESULT, extents: Sequence[Any] = ()) -> None:
        super().__init__(name, inputs={c for c in OPERANDS if c != computed}, outputs={computed})
        self.computed, self.extents = computed, tuple(extents)

    @property
    def free_symbols(self) -> set[str]:
        """Return the symbols in the extents."""
        return {str(s) for n in self.extents for s in sympy.sympify(n).free_symbols}

    def computing(self, operand: str) -> Convolution:
        """Return the node that computes another one of the three operands."""
        return Convolution(f"{self.label}_of{operand}", operand, self.extents)

    def shape(self, operand: str) -> tuple[Any, ...]:
        """Return the shape of an operand."""
        batch, groups, channels, results = self.extents[:4]
        axes = [self.extents[4 + k : 11 + k] for k in range(0, len(self.extents) - 4, 7)]
        if operand == WEIGHTS:
            return (groups * results, channels, *(a[1] for a in axes))
        count, extent = (channels, 0) if operand == IMAGE else (results, 2)
        return (batch, groups * count, *(a[extent] for a in axes))
