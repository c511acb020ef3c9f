"""Split ``Solve`` nodes into an LU factorization and the solution by its factors.

The adjoint of ``x = solve(A, b)`` is ``gb = solve(A^T, gx); gA = -gb x^T`` (Giles 2008): it needs the same factors, and
should not compute them again. Nodes with a rule of the user are left alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import dace
from dace import data as dt
from dace import subsets

from sdgrad.program.names import Names
from sdgrad.program.registry import RULES, find_rule
from sdgrad.program.tree import Block, Container, Node, NodeCall, Program, Region, Scope, children, walk, with_children
from sdgrad.runtime.libraries.blas import BLAS_TYPES
from sdgrad.runtime.libraries.lu import FactoredSolve, Factorization


def factor_first(program: Program, names: Names) -> Program:
    """Split the linear systems of a program; the program unchanged if it has none."""
    if not any(_is_system(n, program) for n in walk(program.body)):
        return program
    split = _Split(program, names)
    body, _ = split.block(program.body)
    return replace(program, body=body, containers={**program.containers, **split.made})


@dataclass
class _Split:
    """The rewrite of one program; ``made`` are containers of factors and row interchanges."""

    program: Program
    names: Names
    made: dict[str, Container] = field(default_factory=dict)

    def container(self, stem: str, dtype: dace.typeclass, *sizes: object) -> tuple[Container, Region]:
        """Declare a temporary; with it, the region of all of it."""
        found = Container(self.names.fresh(stem), dt.Array(dtype, list(sizes), transient=True))
        self.made[found.name] = found
        return found, Region(found.name, subsets.Range([(0, n - 1, 1) for n in found.shape]))

    def block(self, block: Block) -> tuple[Block, list[Container]]:
        """Split the systems of a block; with it, the temporaries that live in the scope around."""
        out: list[Node] = []
        local: list[Container] = []
        for node in block:
            if isinstance(node, NodeCall) and _is_system(node, self.program):
                calls, made = self.system(node)
                out += calls
                local += made
                continue
            changed = [self.block(b) for b in children(node)]
            inner = [c for _, own in changed for c in own]
            node = with_children(node, tuple(b for b, _ in changed))
            if isinstance(node, Scope):
                node = replace(node, locals=(*node.locals, *inner))
            else:
                local += inner
            out.append(node)
        return tuple(out), local

    def system(self, node: NodeCall) -> tuple[Block, list[Container]]:
        """Return a system as its factorization and the solution by the factors."""
        matrix = node.inputs["_ain"]
        size, _ = (n for n in matrix.subset.size() if n != 1)
        f, factors = self.container("factors", self.program.containers[matrix.container].dtype, size, size)
        p, order = self.container("interchanges", dace.int32, size)
        given = {"_f": factors, "_p": order, "_b": node.inputs["_bin"]}
        factorization = NodeCall(Factorization(), {"_a": matrix}, {"_f": factors, "_p": order}, node.source)
        solution = NodeCall(FactoredSolve(), given, {"_x": node.outputs["_bout"]}, node.source)
        return (factorization, solution), [f, p]


def _is_system(node: Node, program: Program) -> bool:
    """True if a node solves a linear system, by the rule of this package, in a type that LAPACK knows."""
    if not isinstance(node, NodeCall) or node.kind != "Solve" or find_rule(node, program) is not RULES["Solve"][-1]:
        return False  # the last rule is the first that was registered: that of this package
    sizes = [n for n in node.inputs["_ain"].subset.size() if n != 1]
    regions = [*node.inputs.values(), *node.outputs.values()]
    types = {program.containers[r.container].dtype for r in regions}
    return len(sizes) == 2 and len(types) == 1 and types <= set(BLAS_TYPES)
