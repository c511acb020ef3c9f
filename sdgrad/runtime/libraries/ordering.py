"""Define the library nodes that order elements and search in sorted arrays (``sdgrad_sort.h``).

Their results are places, which have no derivative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import dace
import dace.library
from dace import nodes as nd
from dace import properties
from dace.transformation.transformation import ExpandTransformation

from sdgrad.runtime import INCLUDE
from sdgrad.runtime.libraries.triangular_solve import LOOPS, cpp_tasklet

HEADER = str(INCLUDE / "sdgrad_sort.h")
ARGSORT = "sdgrad::argsort({order_n0}, {order_n1}, _a, {a_s0}, {a_s1}, _order, {order_s0}, {order_s1}, {descending});"
SELECT = """const int64_t ranks[] = {{{ranks}}};
sdgrad::select({a_n0}, {a_n1}, _a, {a_s0}, {a_s1}, {count}, ranks, _order, {order_s0}, {order_s1});"""
SEARCH = "sdgrad::search_sorted({a_n0}, _a, {a_s0}, {at_n0}, _values, {values_s0}, _at, {at_s0}, {right});"


def _tasklet(node: nd.LibraryNode, state: dace.SDFGState, sdfg: dace.SDFG, code: str, **more: str) -> nd.Tasklet:
    """Generate a call: ``{a_n0}`` and ``{a_s0}`` are the first extent and stride of operand ``_a``."""
    given: dict[str, Any] = {}
    found: dict[str, Any] = {}
    sizes: dict[str, str] = {}
    for edge in state.all_edges(node):
        connector, desc = edge.dst_conn if edge.dst is node else edge.src_conn, sdfg.arrays[edge.data.data]
        (found if edge.src is node else given)[connector] = dace.pointer(desc.dtype)
        for d, (n, s) in enumerate(zip(desc.shape, desc.strides, strict=True)):
            sizes |= {f"{connector[1:]}_n{d}": _printed(n), f"{connector[1:]}_s{d}": _printed(s)}
    return cpp_tasklet(node, given, found, code.format(**sizes, **more), HEADER)


def _printed(expr: Any) -> str:
    return dace.symbolic.symstr(expr, cpp_mode=True)


@dace.library.expansion
class ExpandArgsort(ExpandTransformation):
    """Expand to a call."""

    environments: ClassVar[list] = []

    @staticmethod
    def expansion(node: Argsort, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> nd.Tasklet:
        """Return the tasklet."""
        return _tasklet(node, state, sdfg, ARGSORT, descending=str(node.descending).lower())


@dace.library.expansion
class ExpandSelect(ExpandTransformation):
    """Expand to a call."""

    environments: ClassVar[list] = []

    @staticmethod
    def expansion(node: Select, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> nd.Tasklet:
        """Return the tasklet."""
        ranks = ", ".join(map(str, node.ranks))
        return _tasklet(node, state, sdfg, SELECT, ranks=ranks, count=str(len(node.ranks)))


@dace.library.expansion
class ExpandSearchSorted(ExpandTransformation):
    """Expand to a call."""

    environments: ClassVar[list] = []

    @staticmethod
    def expansion(node: SearchSorted, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> nd.Tasklet:
        """Return the tasklet."""
        return _tasklet(node, state, sdfg, SEARCH, right=str(node.right).lower())


@dace.library.node
class Argsort(nd.LibraryNode):
    """Order each row of the matrix ``_a``: ``_order[r, k]`` is the place of its k-th element (64-bit); stable.

    What is not a number counts as larger than all.
    """

    implementations: ClassVar[dict[str, type]] = {LOOPS: ExpandArgsort}
    default_implementation: ClassVar[str] = LOOPS

    descending = properties.Property(dtype=bool, default=False)

    def __init__(self, name: str = "argsort", descending: bool = False) -> None:
        super().__init__(name, inputs={"_a"}, outputs={"_order"})
        self.descending = descending


@dace.library.node
class Select(nd.LibraryNode):
    """Find elements in each row of the matrix ``_a``: ``_order[r, j]`` is the place of the one of rank ``ranks[j]``.

    They are those of :class:`Argsort`, found without ordering the others.
    """

    implementations: ClassVar[dict[str, type]] = {LOOPS: ExpandSelect}
    default_implementation: ClassVar[str] = LOOPS

    ranks = properties.ListProperty(element_type=int, default=[])

    def __init__(self, name: str = "select", ranks: Sequence[int] = ()) -> None:
        super().__init__(name, inputs={"_a"}, outputs={"_order"})
        self.ranks = list(ranks)


@dace.library.node
class SearchSorted(nd.LibraryNode):
    """Count how many elements of the ascending vector ``_a`` come before each of ``_values``, or are no greater."""

    implementations: ClassVar[dict[str, type]] = {LOOPS: ExpandSearchSorted}
    default_implementation: ClassVar[str] = LOOPS

    right = properties.Property(dtype=bool, default=False)

    def __init__(self, name: str = "search_sorted", right: bool = False) -> None:
        super().__init__(name, inputs={"_a", "_values"}, outputs={"_at"})
        self.right = right
