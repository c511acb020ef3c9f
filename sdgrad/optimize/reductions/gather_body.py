"""Write the straight-line code of a gather nest: the terms of one element, each guarded if its iteration may not exist.

A term that iteration ``i`` adds to ``a[i + 1]`` is, for the element ``a[i]``, the term of iteration ``i - 1``::

    t = x[i]                 c = i >= 1
    a[i + 1] += t            t = x[i - 1] if c
                             ... t if c else 0
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sdgrad.optimize.reductions.index_boxes import Box
from sdgrad.optimize.reductions.stencil_terms import Group, Term
from sdgrad.program.leaves import rename_instr
from sdgrad.program.names import Names
from sdgrad.program.tree import SCALAR, Instr, Let, Load, Param, Store
from sdgrad.program.turned import unturned
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import to_ast


@dataclass
class GatherBody:
    """Collect the instructions of one nest; ``known`` holds the names of its conditions, by their text."""

    names: Names
    params: Sequence[Param]
    group: Group
    body: list[Instr] = field(default_factory=list)
    known: dict[str, str] = field(default_factory=dict)

    def let(self, value: ast.expr) -> str:
        """Append the computation of a value, and return its name."""
        name = self.names.fresh("v")
        self.body.append(Let(name, value))
        return name

    def inside(self, box: Box) -> str | None:
        """Return the name of the condition that an iteration lies in a box; None if all do."""
        tests: list[ast.expr] = []
        for p, (low, high) in zip(self.params, box, strict=True):
            here = code.name(p.name)
            if not (p.start - low).is_nonnegative:
                tests.append(ast.Compare(left=here, ops=[ast.GtE()], comparators=[to_ast(low)]))
            if not (high - p.stop).is_nonnegative:
                tests.append(ast.Compare(left=here, ops=[ast.LtE()], comparators=[to_ast(high)]))
        if not tests:
            return None
        whole = ast.BoolOp(op=ast.And(), values=tests) if len(tests) > 1 else tests[0]
        text = ast.unparse(whole)
        if text not in self.known:
            self.known[text] = self.let(whole)
        return self.known[text]

    def term(self, term: Term, when: str | None) -> ast.expr:
        """Append the computation of a term, shifted to the element that receives it; zero if ``when`` does not hold."""
        names = {i.name: self.names.fresh(i.name) for i in term.body if not isinstance(i, Store)}
        shift = self.group.sources(term, self.params)
        for instr in term.body:
            moved = rename_instr(instr, names, shift)
            if isinstance(moved, Load) and self.group.rings:
                moved = replace(moved, index=tuple(unturned(e, tuple(self.params)) for e in moved.index))
            if isinstance(moved, Load) and when is not None and moved.index != SCALAR:
                guard = code.both(moved.guard, when)
                assert guard is not None
                moved = replace(moved, guard=self.let(guard) if moved.guard else when)
            self.body.append(moved)
        value = code.name(names[term.value])
        return value if when is None else code.choose(code.name(when), value, code.constant(0))

    def old_value(self, zeroed: str | None) -> ast.expr:
        """Append a load of the element's old value, which counts unless the condition ``zeroed`` holds."""
        name = self.names.fresh("v")
        guard = self.let(ast.UnaryOp(op=ast.Not(), operand=code.name(zeroed))) if zeroed is not None else None
        self.body.append(Load(name, self.group.container, self.group.index, guard))
        return code.name(name)
