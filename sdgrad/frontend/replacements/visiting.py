"""Methods of DaCe's frontend, wrapped where what they do is wrong or missing.

- A loop that counts down: DaCe takes its variable to be positive, and ``0.1 * i < 0.1`` to be false for ``i = 0``.
- ``i != i and ...``: what SymPy decides about a comparison is a boolean of SymPy, which no operator takes.
- ``f(A[:i], x * y[:i])``: sizes of what a function is called with mention one ``i`` that is known to be positive, and
  one that is not, and equations with both have no solution.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace

from dace import data as dt
from dace import symbolic
from dace.frontend.python import parser
from dace.frontend.python.newast import ProgramVisitor
from dace.sdfg.state import LoopRegion
from sympy.logic.boolalg import BooleanAtom

from sdgrad.symbolic.expr import free_names, substitute, sym, to_expr

_MARK = "wrapped_by_sdgrad"


def wrap_visitor(method: str, wrap: Callable[[Callable], Callable]) -> None:
    """Put a wrapped method in the place of one, once however often a module is loaded."""
    current = getattr(ProgramVisitor, method)
    if not getattr(current, _MARK, False):
        wrapped = wrap(current)
        setattr(wrapped, _MARK, True)
        setattr(ProgramVisitor, method, wrapped)


def _without_signs(visit):
    @functools.wraps(visit)
    def _recursive_visit(self, body, name, lineno, parent, unconnected_last_block=True, extra_symbols=None):
        counts_down = isinstance(parent, LoopRegion) and " > " in parent.loop_condition.as_string
        if extra_symbols and counts_down:
            extra_symbols = {n: symbolic.symbol(s.name, s.dtype, integer=True) for n, s in extra_symbols.items()}
        return visit(self, body, name, lineno, parent, unconnected_last_block, extra_symbols)

    return _recursive_visit


def _plain_booleans(visit):
    @functools.wraps(visit)
    def _visit_op(self, node, op1, op2):
        result = visit(self, node, op1, op2)
        return bool(result) if isinstance(result, BooleanAtom) else result

    return _visit_op


def _one_symbol_a_name(infer):
    @functools.wraps(infer)
    def infer_symbols(sdfg, args, exclude=None):
        return infer(sdfg, {n: _unsigned(a) for n, a in args.items()}, exclude)

    return infer_symbols


def _unsigned(argument):
    """The layout of an array, of symbols about which nothing is known."""
    if not isinstance(argument, dt.Array):
        return argument

    def plain(sizes) -> tuple:
        found = [to_expr(n) for n in sizes]
        return tuple(substitute(n, {s: sym(s) for s in free_names(n)}) for n in found)

    return SimpleNamespace(**{name: plain(getattr(argument, name)) for name in ("shape", "strides", "offset")})


if not hasattr(parser.infer_symbols_from_datadescriptor, _MARK):
    parser.infer_symbols_from_datadescriptor = _one_symbol_a_name(parser.infer_symbols_from_datadescriptor)
    setattr(parser.infer_symbols_from_datadescriptor, _MARK, True)
wrap_visitor("_recursive_visit", _without_signs)
wrap_visitor("_visit_op", _plain_booleans)
