"""Matrix products, recognised from what they compute: a sum over a parameter of a product of two elements.

Every contraction in the program, primal or adjoint, written as ``@``, ``einsum`` or loops, is a leaf of that form.
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
from sdgrad.symbolic.expr import free_names


@dataclass(frozen=True)
class Contraction:
    """``c[..] (+)= scale * a[..] * b[..]``, summed over the parameters that ``c`` does not mention.

    ``scale`` is an expression of numbers and ``constants``, which are the same for all instances.
    """

    leaf: Leaf
    store: Store
    a: Load
    b: Load
    scale: ast.expr | None = None
    constants: tuple[Load, ...] = ()


def recognise(leaf: Leaf) -> Contraction | None:
    """The contraction a leaf computes, if that is all it does."""
    if len(leaf.stores) != 1 or any(x.guard for x in leaf.loads):
        return None
    (store,), params = leaf.stores, {p.name for p in leaf.params}
    constants = tuple(x for x in leaf.loads if not free_names(*x.index) & params)
    varying = [x for x in leaf.loads if x not in constants]
    if len(varying) > 2 or len(leaf.loads) < 2:
        return None
    while len(varying) < 2:  # a constant among the operands, of a sum over one of them
        varying, constants = [*varying, constants[0]], constants[1:]
    a, b = varying
    if store.mode != "sum" or store.guard:
        return None
    factors = _factors(code.name(store.value), {x.name: x.expr for x in leaf.lets})
    if factors is None or len(factors) > 2 + config.machine.contraction_constants:
        return None
    named = [f.id for f in factors if isinstance(f, ast.Name)]
    if sorted(n for n in named if n in (a.name, b.name)) != sorted((a.name, b.name)):
        return None
    rest = [f for f in factors if not (isinstance(f, ast.Name) and f.id in (a.name, b.name))]
    if not {f.id for f in rest if isinstance(f, ast.Name)} <= {x.name for x in constants}:
        return None
    scale = functools.reduce(functools.partial(code.binary, ast.Mult), rest) if rest else None
    return Contraction(leaf, store, a, b, scale, constants)


def _factors(expr: ast.expr, lets: Mapping[str, ast.expr]) -> list[ast.expr] | None:
    """The names and numbers that a product is made of; None for what is none."""
    if isinstance(expr, ast.Name) and expr.id in lets:
        return _factors(lets[expr.id], lets)
    if isinstance(expr, ast.Name):
        return [expr]
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
    """What a product is multiplied with; None where that is known when it runs."""
    if scale is None:
        return 1
    if isinstance(scale, ast.Constant):
        return scale.value  # type: ignore[return-value]
    if isinstance(scale, ast.BinOp):  # of factors
        left, right = known_scale(scale.left), known_scale(scale.right)
        return left * right if left is not None and right is not None else None
    return None


def split_stores(leaf: Leaf, program: Program, change: Callable[[Leaf], Sequence[Node] | None]) -> Block:
    """A leaf with other nodes in place of some of its accumulations, each by itself, and the leaf with what is left."""
    touched = {program.root(s.container) for s in leaf.stores}
    if touched & {program.root(x.container) for x in leaf.loads}:
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


def terms(leaf: Leaf, store: Store) -> list[Leaf]:
    """The leaf with nothing but one store; a leaf for each term where it accumulates a sum."""
    lets = {x.name: x.expr for x in leaf.lets}

    def summands(expr: ast.expr, sign: int) -> list[ast.expr]:
        if isinstance(expr, ast.Name) and expr.id in lets:
            return summands(lets[expr.id], sign)
        if isinstance(expr, ast.BinOp) and isinstance(expr.op, (ast.Add, ast.Sub)):
            return summands(expr.left, sign) + summands(expr.right, -sign if isinstance(expr.op, ast.Sub) else sign)
        return [expr if sign > 0 else code.binary(ast.Mult, code.constant(-1), expr)]

    others = tuple(i for i in leaf.body if not isinstance(i, Store))
    found = summands(code.name(store.value), 1) if store.mode == "sum" and store.guard is None else []
    if len(found) < 2:
        return [replace(leaf, body=live((*others, store), set()))]
    leaves = []
    for k, term in enumerate(found):
        name = f"{store.value}_term_{k}"
        own = replace(store, value=name, fresh=store.fresh and k == 0)
        leaves.append(replace(leaf, body=live((*others, Let(name, term), own), set())))
    return leaves
