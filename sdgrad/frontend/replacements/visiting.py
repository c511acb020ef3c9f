"""Methods of the visitor of DaCe's frontend, wrapped where what they do is wrong or missing.

- A loop that counts down: DaCe takes its variable to be positive, and ``0.1 * i < 0.1`` to be false for ``i = 0``.
- ``i != i and ...``: what SymPy decides about a comparison is a boolean of SymPy, which no operator takes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from dace import symbolic
from dace.frontend.python.newast import ProgramVisitor
from dace.sdfg.state import LoopRegion
from sympy.logic.boolalg import BooleanAtom

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


wrap_visitor("_recursive_visit", _without_signs)
wrap_visitor("_visit_op", _plain_booleans)
