"""Recognise contractions: sums, over some parameters of a leaf, of products of two array elements.

Every contraction of a program, primal or adjoint, is a leaf of this form, whether it was written as ``@``, as
``einsum`` or as loops::

    map i=0:8, j=0:8, k=0:8:
      a = A[i, k]
      b = B[k, j]
      v = a * b
      C[i, j] += v
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sdgrad.config import config
from sdgrad.program.leaves import live
from sdgrad.program.tree import Block, Leaf, Let, Load, Node, Program, Store
from sdgrad.symbolic import code


@dataclass(frozen=True)
class Contraction:
    """Hold ``c[..] (+)= scale * a[..] * b[..]``, summed over the parameters that the subscripts of ``c`` do not use.

    ``scale`` is an expression of numbers and of ``constants``, loads without parameters in their subscripts.
    """

    leaf: Leaf
    store: Store
    a: Load
    b: Load
    scale: ast.expr | None = None
    constants: tuple[Load, ...] = ()

    def continued(self) -> Contraction:
        """Return the contraction that adds to the values its result already has."""
        leaf = continued(self.leaf, self.store)
        return replace(self, leaf=leaf, store=leaf.stores[0])


def continued(leaf: Leaf, store: Store) -> Leaf:
    """Return the leaf in which a reduction adds to present values instead of starting from its identity."""
    return replace(leaf, body=tuple(replace(i, fresh=False) if i is store else i for i in leaf.body))


def recognise(leaf: Leaf) -> Contraction | None:
    """Return the contraction that a leaf computes; None if it computes anything else."""
    store, operands = _accumulation(leaf), _operands(leaf)
    if store is None or operands is None:
        return None
    a, b, constants = operands
    factors = _factors(code.name(store.value), {x.name: x.expr for x in leaf.lets})
    if factors is None or len(factors) > 2 + config.machine.contraction_constants:
        return None
    others = _constant_factors(factors, a, b, constants)
    if others is None:
        return None
    scale = functools.reduce(functools.partial(code.binary, ast.Mult), others) if others else None
    return Contraction(leaf, store, a, b, scale, constants)


def _accumulation(leaf: Leaf) -> Store | None:
    """Return the only store of a leaf; None unless it is a sum and neither it nor a load is guarded."""
    if len(leaf.stores) != 1 or any(x.guard for x in leaf.loads):
        return None
    (store,) = leaf.stores
    return store if store.mode == "sum" and not store.guard else None


def _operands(leaf: Leaf) -> tuple[Load, Load, tuple[Load, ...]] | None:
    """Return the two operands of a product and the other, constant loads; None if more than two loads vary.

    In a sum over a single varying load, a constant load serves as the second operand.
    """
    params = {p.name for p in leaf.params}
    constants = tuple(x for x in leaf.loads if not x.index_names & params)
    varying = [x for x in leaf.loads if x not in constants]
    if len(varying) > 2 or len(leaf.loads) < 2:
        return None
    missing = 2 - len(varying)
    a, b = (*varying, *constants[:missing])
    return a, b, constants[missing:]


def _constant_factors(
    factors: Sequence[ast.expr], a: Load, b: Load, constants: Sequence[Load]
) -> list[ast.expr] | None:
    """Return the factors besides the operands; None unless each operand occurs once and all others are constant."""
    operands = sorted((a.name, b.name))
    if sorted(f.id for f in factors if isinstance(f, ast.Name) and f.id in operands) != operands:
        return None
    others = [f for f in factors if not (isinstance(f, ast.Name) and f.id in operands)]
    named = {f.id for f in others if isinstance(f, ast.Name)}
    return others if named <= {x.name for x in constants} else None


def _factors(expr: ast.expr, lets: Mapping[str, ast.expr]) -> list[ast.expr] | None:
    """Return the names and numbers that a product multiplies; None if the expression is no product."""
    if isinstance(expr, ast.Name):
        return _factors(lets[expr.id], lets) if expr.id in lets else [expr]
    if isinstance(expr, ast.Constant):
        return [] if expr.value == 1 else [expr]
    if isinstance(expr, ast.UnaryOp) and isinstance(expr.op, ast.USub):
        inner = _factors(expr.operand, lets)
        return [code.constant(-1), *inner] if inner is not None else None
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Mult):
        left, right = _factors(expr.left, lets), _factors(expr.right, lets)
        return [*left, *right] if left is not None and right is not None else None
    return None


def known_scale(scale: ast.expr | None) -> complex | None:
    """Return the value of a scale factor; None if it is known at run time only."""
    if scale is None:
        return 1
    if isinstance(scale, ast.Constant):
        return scale.value  # type: ignore[return-value]
    if isinstance(scale, ast.BinOp):  # a product of factors
        left, right = known_scale(scale.left), known_scale(scale.right)
        return left * right if left is not None and right is not None else None
    return None


def split_stores(leaf: Leaf, program: Program, change: Callable[[Leaf], Sequence[Node] | None]) -> Block:
    """Distribute a leaf over its stores: replace single stores by other nodes, and keep the rest as one leaf.

    :param change: gets the leaf of a single store, or of one term of it, and returns the nodes that replace it. If it
        returns None for one of the terms, the store stays.
    """
    if _reads_results(leaf, program):
        return (leaf,)
    out: list[Node] = []
    rest = list(leaf.stores)
    for store in leaf.stores:
        changed = [change(alone) for alone in terms(leaf, store)]
        if all(changed):
            out += [node for nodes in changed if nodes for node in nodes]
            rest.remove(store)
    if rest:
        out.append(replace(leaf, body=live((i for i in leaf.body if i in rest or not isinstance(i, Store)), set())))
    return tuple(out)


def _reads_results(leaf: Leaf, program: Program) -> bool:
    """True if a leaf loads from an array that it stores to."""
    written = {program.root(s.container) for s in leaf.stores}
    return bool(written & {program.root(x.container) for x in leaf.loads})


def terms(leaf: Leaf, store: Store) -> list[Leaf]:
    """Return the leaf with a single store; for an accumulated sum of several terms, one leaf for each term.

    Only the first of these leaves may start from zero.
    """
    others = tuple(i for i in leaf.body if not isinstance(i, Store))
    found: list[ast.expr] = []
    if store.mode == "sum" and store.guard is None:
        found = _summands(code.name(store.value), {x.name: x.expr for x in leaf.lets}, 1)
    if len(found) < 2:
        return [replace(leaf, body=live((*others, store), set()))]
    leaves = []
    for k, term in enumerate(found):
        name = f"{store.value}_term_{k}"
        own = replace(store, value=name, fresh=store.fresh and k == 0)
        leaves.append(replace(leaf, body=live((*others, Let(name, term), own), set())))
    return leaves


def _summands(expr: ast.expr, lets: Mapping[str, ast.expr], sign: int) -> list[ast.expr]:
    """Return the terms of a sum or difference, each with its sign."""
    if isinstance(expr, ast.Name) and expr.id in lets:
        return _summands(lets[expr.id], lets, sign)
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, (ast.Add, ast.Sub)):
        right = -sign if isinstance(expr.op, ast.Sub) else sign
        return _summands(expr.left, lets, sign) + _summands(expr.right, lets, right)
    return [expr if sign > 0 else code.binary(ast.Mult, code.constant(-1), expr)]
