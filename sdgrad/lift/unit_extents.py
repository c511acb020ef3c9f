"""Replace library nodes that DaCe has for no extent of one: a system with one right side, matrices of one element.

DaCe drops extents of one before it looks at operands. ``np.linalg.solve(A, b)`` with a vector or a single column is an
invalid graph then, and so are factorizations of one number. The product of a column and one number is the wrong node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import dace
from dace import nodes as nd
from dace.libraries.linalg import Solve
from dace.sdfg.state import SDFGState
from dace.sdfg.utils import change_edge_dest, change_edge_src


@dataclass(frozen=True)
class Operand:
    """What a node sees of an array: extents and strides of the part of it that it accesses."""

    sizes: tuple
    strides: tuple
    dtype: dace.typeclass
    storage: dace.StorageType

    @property
    def wide(self) -> list[int]:
        """Return the dimensions that are not one."""
        return [d for d, n in enumerate(self.sizes) if n != 1]

    def at(self, *indices: str) -> str:
        """Subscript the wide dimensions."""
        found = dict(zip(self.wide, indices, strict=False))
        return ", ".join(found.get(d, "0") for d in range(len(self.sizes)))


Operands = Mapping[str, Operand]


def replace_unit_nodes(sdfg: dace.SDFG) -> None:
    """Replace the nodes of a graph that DaCe takes for others because an extent is one."""
    for node, state in list(sdfg.all_nodes_recursive()):
        make = _REPLACEMENTS.get(type(node).__name__) if isinstance(node, nd.LibraryNode) else None
        inner = make(node, _operands(node, state)) if make is not None else None
        if inner is not None:
            nested = state.add_nested_sdfg(inner, set(node.in_connectors), set(node.out_connectors))
            nested.symbol_mapping = {s: s for s in map(str, inner.free_symbols)}
            change_edge_dest(state, node, nested)
            change_edge_src(state, node, nested)
            state.remove_node(node)


def _operands(node: nd.LibraryNode, state: SDFGState) -> Operands:
    """Return the operands of a node by their connectors."""
    found = {}
    for edge in [e for e in state.all_edges(node) if e.data.data is not None]:
        desc, subset = state.sdfg.arrays[edge.data.data], edge.data.subset
        steps = [step for _, _, step in subset.ndrange()]
        strides = tuple(s * k for s, k in zip(desc.strides, steps, strict=True))
        connector = edge.dst_conn if edge.dst is node else edge.src_conn
        found[connector] = Operand(tuple(subset.size()), strides, desc.dtype, desc.storage)
    return found


def _graph(node: nd.LibraryNode, operands: Operands) -> dace.SDFG:
    """Return a graph with the operands of a node as arrays."""
    inner = dace.SDFG(f"{node.label}_of_one")
    for name, x in operands.items():
        inner.add_array(name, x.sizes, x.dtype, x.storage, strides=x.strides)
    return inner


def _elementwise(node: nd.LibraryNode, operands: Operands, result: str, code: str) -> dace.SDFG:
    """Return a graph that computes each element of a result from those at the same place."""
    inner = _graph(node, operands)
    out = operands[result]
    params = [f"__i{d}" for d in range(len(out.wide))]
    memlets = {n: dace.Memlet(f"{n}[{x.at(*params)}]") for n, x in operands.items()}
    written = {f"{result}_one": memlets.pop(result)}
    read = {f"{n}_one": m for n, m in memlets.items()}
    ranges = {p: f"0:{out.sizes[d]}" for p, d in zip(params, out.wide, strict=True)} or {"__i": "0:1"}
    inner.add_state("only").add_mapped_tasklet(node.label, ranges, read, code, written, external_edges=True)
    return inner


def _system(node: nd.LibraryNode, operands: Operands) -> dace.SDFG | None:
    """Return the graph of a linear system with one unknown, or one right side."""
    matrix, right = operands["_ain"], operands["_bin"]
    if not matrix.wide:
        return _elementwise(node, operands, "_bout", "_bout_one = _bin_one / _ain_one")
    return _of_one_column(node, operands) if len(matrix.wide) == 2 and len(right.wide) == 1 else None


def _of_one_column(node: nd.LibraryNode, operands: Operands) -> dace.SDFG:
    """Return a graph that solves for two equal columns, and keeps one."""
    inner = _graph(node, operands)
    right, result = operands["_bin"], operands["_bout"]
    n = right.sizes[right.wide[0]]
    for name in ("twice", "found"):
        inner.add_transient(name, [n, 2], right.dtype, right.storage)
    read = {"v": dace.Memlet(f"_bin[{right.at('__i')}]")}
    written = {"w": dace.Memlet("twice[__i, __j]")}
    before = inner.add_state("before", is_start_block=True)
    before.add_mapped_tasklet("widen", {"__i": f"0:{n}", "__j": "0:2"}, read, "w = v", written, external_edges=True)
    middle, solve = inner.add_state_after(before, "solve"), Solve(node.label)
    for name, connector in (("_ain", "_ain"), ("twice", "_bin")):
        middle.add_edge(middle.add_read(name), None, solve, connector, inner.make_array_memlet(name))
    middle.add_edge(solve, "_bout", middle.add_write("found"), None, inner.make_array_memlet("found"))
    read, written = {"v": dace.Memlet("found[__i, 0]")}, {"w": dace.Memlet(f"_bout[{result.at('__i')}]")}
    after = inner.add_state_after(middle, "after")
    after.add_mapped_tasklet("narrow", {"__i": f"0:{n}"}, read, "w = v", written, external_edges=True)
    return inner


def _of_one_number(code: str, given: str, result: str) -> Callable[[nd.LibraryNode, Operands], dace.SDFG | None]:
    """Return the maker of graphs for a function of a matrix of one element."""

    def make(node: nd.LibraryNode, operands: Operands) -> dace.SDFG | None:
        return None if operands[given].wide else _elementwise(node, operands, result, code)

    return make


def _product(node: Any, operands: Operands) -> dace.SDFG | None:
    """Return the graph of a product of a vector of one element with a matrix."""
    ranks = [len(operands[c].sizes) for c in ("_a", "_b")]
    vector = [c for c, rank in zip(("_a", "_b"), ranks, strict=True) if rank == 1 and not operands[c].wide]
    if not vector or max(ranks) == 1 or "_cin" in operands or node.beta != 0:
        return None
    return _elementwise(node, operands, "_c", f"_c_one = {node.alpha} * _a_one * _b_one")


_REPLACEMENTS: dict[str, Callable[[Any, Operands], dace.SDFG | None]] = {
    "Solve": _system,
    "Inv": _of_one_number("_aout_one = 1 / _ain_one", "_ain", "_aout"),
    "Cholesky": _of_one_number("_b_one = sqrt(_a_one)", "_a", "_b"),
    "MatMul": _product,
}
