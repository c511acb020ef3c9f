"""Answer what DaCe's code generator asks again and again once, or without SymPy's slow ways.

Together the questions take up to a third of the time of code generation; the first of each also imports parts of SymPy
that nothing else needs.
"""

from __future__ import annotations

import ast
import collections
import contextlib
import copy
import functools
import types
from collections.abc import Iterator
from typing import Any

import dace
import sympy
from dace import dtypes
from dace.codegen.targets import cpp
from dace.frontend import operations
from dace.libraries.blas.nodes import batched_matmul, gemm
from dace.sdfg import infer_types, utils

_COMMON = {ast.Add: dtypes.ReductionType.Sum, ast.Mult: dtypes.ReductionType.Product}
"""The kinds of reduction that are told from their text alone."""


@contextlib.contextmanager
def answers_once() -> Iterator[None]:
    """Answer questions once in this context, in which no graph changes its control flow."""
    equal = _equal_as(gemm.equal)
    replaced = [
        (utils, "get_control_flow_block_dominators", _once_per_graph()),
        (operations, "detect_reduction_type", _once_per_text()),
        (gemm, "equal", equal),
        (batched_matmul, "equal", equal),
        (dace.SDFG, "apply_transformations_once_everywhere", _without_validation()),
        (dace.SDFGState, "sdfg_symbols", _sizes_once()),
        (infer_types, "widen_mapped_symbols", _widen_if_needed()),
        (cpp, "copy", _COPIES),
    ]
    before = [(module, name, getattr(module, name)) for module, name, _ in replaced]
    try:
        for module, name, function in replaced:
            setattr(module, name, function)
        yield
    finally:
        for module, name, function in before:
            setattr(module, name, function)


def _copied(tree: Any) -> Any:
    """Return a copy of a syntax tree, as :func:`copy.deepcopy` makes it, in two fifths of the time."""
    if isinstance(tree, ast.AST):
        made = type(tree).__new__(type(tree))
        vars(made).update({name: _copied(part) for name, part in vars(tree).items()})
        return made
    if isinstance(tree, list):
        return [*map(_copied, tree)]
    return tree if isinstance(tree, _PLAIN) else copy.deepcopy(tree)


_PLAIN = (str, int, float, complex, bool, type(None))
_COPIES = types.SimpleNamespace(copy=copy.copy, deepcopy=_copied)
"""Stands for the module ``copy`` where DaCe copies each statement of a tasklet."""


def _once_per_graph() -> Any:
    """Return DaCe's function for dominators, with a cache: it is asked for each array in branches.

    On a graph of two hundred states that took a third of the time of code generation.
    """
    find = utils.get_control_flow_block_dominators
    known: dict[dace.SDFG, tuple[dict, dict, dict, dict]] = {}

    def once(sdfg: dace.SDFG, idom: Any, all_dom: Any, ipostdom: Any, all_postdom: Any) -> None:
        """Fill the given dictionaries from the cache; sets are copied, because DaCe adds to them."""
        if sdfg not in known:
            known[sdfg] = {}, {}, {}, {}
            find(sdfg, *known[sdfg])
        found = known[sdfg]
        for given, own in ((idom, found[0]), (ipostdom, found[2])):
            given.update(own)
        for given, own in ((all_dom, found[1]), (all_postdom, found[3])):
            given.update({block: set(blocks) for block, blocks in own.items()})

    return once


def _widen_if_needed() -> Any:
    """Return DaCe's function that widens symbols of a nested graph: as most are those around, of the same type."""
    widen = infer_types.widen_mapped_symbols

    def widened(state: dace.SDFGState, node: dace.nodes.NestedSDFG) -> None:
        """Change the types of a nested graph's symbols in place, if one is computed or declared otherwise."""
        own, outer = node.sdfg.symbols, state.sdfg.symbols
        if any(str(value) != name or own.get(name) != outer.get(name) for name, value in node.symbol_mapping.items()):
            widen(state, node)

    return widened


def _sizes_once() -> Any:
    """Return DaCe's method for the symbols that a graph declares and that its arrays mention: these are kept.

    It is asked for each nested graph, and looks through all arrays each time. Expansion adds arrays, and changes none.
    """
    known: dict[dace.SDFG, tuple[int, dict[str, Any]]] = {}

    def once(state: dace.SDFGState) -> dict[str, Any]:
        """Return the types of the symbols by name: that of the declaration before that of a mention."""
        sdfg = state.sdfg
        if sdfg not in known or known[sdfg][0] != len(sdfg.arrays):
            mentioned: dict[str, Any] = {}
            for desc in sdfg.arrays.values():
                for s in desc.free_symbols:
                    mentioned.setdefault(s.name, s.dtype)
            known[sdfg] = len(sdfg.arrays), mentioned
        declared = collections.OrderedDict(sdfg.symbols)
        for name, dtype in known[sdfg][1].items():
            declared.setdefault(name, dtype)
        return declared

    return once


def _without_validation() -> Any:
    """Return DaCe's function for the last changes of a graph with kernels, which validates it after each.

    Graphs are validated before; and validation refuses subscripts with axes of length one, which the generator takes.
    """
    return functools.partialmethod(dace.SDFG.apply_transformations_once_everywhere, validate=False)


def _once_per_text() -> Any:
    """Return DaCe's function for the kind of a reduction, with a cache, and without SymPy for sums and products."""
    find = operations.detect_reduction_type
    known: dict[tuple[str, bool], Any] = {}

    def once(text: str, openmp: bool = False) -> Any:
        """Return the kind of the reduction that a lambda's text stands for."""
        if (text, openmp) not in known:
            known[text, openmp] = _common_kind(text) or find(text, openmp)
        return known[text, openmp]

    return once


def _common_kind(text: str) -> Any:
    """Return the kind of a lambda that adds or multiplies its two arguments; None for others."""
    found = ast.parse(text, mode="eval").body if text else None
    if not isinstance(found, ast.Lambda) or not isinstance(found.body, ast.BinOp):
        return None
    operands = [x.id for x in (found.body.left, found.body.right) if isinstance(x, ast.Name)]
    return _COMMON.get(type(found.body.op)) if operands == [a.arg for a in found.args.args] else None


def _equal_as(find: Any) -> Any:
    """Return DaCe's comparison of sizes, which asks SymPy's assumptions only if the answer is not in sight."""

    def equal(a: Any, b: Any, is_length: bool = True) -> Any:
        """Return True if two sizes are equal, False if they differ, None if that is not known."""
        if a == b:
            return True
        numbers = isinstance(a, int | sympy.Integer) and isinstance(b, int | sympy.Integer)
        return False if numbers else find(a, b, is_length)

    return equal
