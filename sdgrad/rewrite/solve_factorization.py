"""Systems of equations in two steps before they are differentiated: their adjoints need the same factors."""

from __future__ import annotations

from dataclasses import replace

import dace
from dace import data as dt
from dace import subsets

from sdgrad.program.names import Names
from sdgrad.program.registry import RULES, find_rule
from sdgrad.program.tree import Block, Container, Node, NodeCall, Program, Region, Scope, children, walk, with_children
from sdgrad.runtime.libraries.blas import BLAS_TYPES
from sdgrad.runtime.libraries.lu import FactoredSolve, Factorization


def factor_first(program: Program, names: Names) -> Program:
    """The program with ``Solve`` nodes as a factorization and what solves by it; those with a rule of the user stay."""
    if not any(_is_system(n, program) for n in walk(program.body)):
        return program
    made: dict[str, Container] = {}

    def container(stem: str, dtype: dace.typeclass, *sizes: object) -> tuple[Container, Region]:
        found = Container(names.fresh(stem), dt.Array(dtype, list(sizes), transient=True))
        made[found.name] = found
        return found, Region(found.name, subsets.Range([(0, n - 1, 1) for n in found.shape]))

    def change(block: Block) -> tuple[Block, list[Container]]:
        out: list[Node] = []
        local: list[Container] = []
        for node in block:
            if isinstance(node, NodeCall) and _is_system(node, program):
                matrix = node.inputs["_ain"]
                size, _ = (n for n in matrix.subset.size() if n != 1)
                f, factors = container("factors", program.containers[matrix.container].dtype, size, size)
                p, order = container("interchanges", dace.int32, size)
                local += [f, p]
                out.append(NodeCall(Factorization(), {"_a": matrix}, {"_f": factors, "_p": order}, node.source))
                given = {"_f": factors, "_p": order, "_b": node.inputs["_bin"]}
                out.append(NodeCall(FactoredSolve(), given, {"_x": node.outputs["_bout"]}, node.source))
                continue
            changed = [change(b) for b in children(node)]
            inner = [c for _, own in changed for c in own]
            node = with_children(node, tuple(b for b, _ in changed))
            if isinstance(node, Scope):
                node = replace(node, locals=(*node.locals, *inner))
            else:
                local += inner
            out.append(node)
        return tuple(out), local

    body, _ = change(program.body)
    return replace(program, body=body, containers={**program.containers, **made})


def _is_system(node: Node, program: Program) -> bool:
    if not isinstance(node, NodeCall) or node.kind != "Solve" or find_rule(node, program) is not RULES["Solve"][-1]:
        return False  # the last rule is the first that was registered: that of this package
    sizes = [n for n in node.inputs["_ain"].subset.size() if n != 1]
    regions = [*node.inputs.values(), *node.outputs.values()]
    types = {program.containers[r.container].dtype for r in regions}
    return len(sizes) == 2 and len(types) == 1 and types <= set(BLAS_TYPES)
