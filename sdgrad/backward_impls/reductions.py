"""Cotangents through reductions that are not sums: max, min, product.

``y = max(x0, v_1, .., v_n)``: the cotangent of ``y`` is divided equally among all operands that equal ``y``.
``y = x0 * v_1 * .. * v_n``: each operand gets the product of the others, which with one zero among them is the product
of the rest, and with two is zero.
"""
from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING

from dace import data as dt

from sdgrad.errors import DifferentiationError, Problem
from sdgrad.program.tree import Container, Leaf, Let, Load, Store
from sdgrad.symbolic import code

if TYPE_CHECKING:
    from sdgrad.backward_impls.leaf import LeafAdjoint


def _scratch(build: "LeafAdjoint", store: Store, stem: str) -> Container:
    """A container with an element for each element the store reduces into."""
    desc = copy.deepcopy(build.adjoints.program.containers[store.container].desc)
    desc.transient = True
    container = Container(build.names.fresh(stem), desc)
    build.adjoints.made[container.name] = container
    return container


def _reduce(build: "LeafAdjoint", store: Store, into: Container, mode: str, expr: ast.expr, extra: list) -> None:
    """A leaf before the adjoint that reduces an expression of the operand over the store's instances."""
    name = build.names.fresh("r")
    body = (*build.plan.replay, *extra, Let(name, expr), Store(into.name, store.index, name, mode, store.guard, True))
    build.before.append(Leaf(build.leaf.params, body, build.leaf.source))


def _check(build: "LeafAdjoint", store: Store) -> None:
    if not store.fresh:
        raise DifferentiationError([Problem(
            f"{store.mode} write-conflict resolution", f"into {store.container}, which holds a value already",
            str(build.leaf.source), "start from the identity of the reduction, or write it as an assignment")])


def extreme_cotangent(build: "LeafAdjoint", store: Store) -> None:
    _check(build, store)
    y, count = build.names.fresh("y"), _scratch(build, store, f"ties_{store.container}")
    final = build.plan.results[store.container]
    load_y = Load(y, final[0], final[1])
    equal = ast.Compare(left=code.name(store.value), ops=[ast.Eq()], comparators=[code.name(y)])
    _reduce(build, store, count, "sum", code.choose(equal, code.constant(1), code.constant(0)), [load_y])
    g, n = build.names.fresh(f"g_{store.container}"), build.names.fresh("n")
    build.body += [load_y, Load(g, build.adjoints.read(store.container).name, store.index, store.guard),
                   Load(n, count.name, store.index)]
    share = code.choose(equal, code.binary(ast.Div, code.name(g), code.name(n)), code.constant(0))
    build.add(store.value, build.let(share))


def product_cotangent(build: "LeafAdjoint", store: Store) -> None:
    _check(build, store)
    v = code.name(store.value)
    zeros, rest = _scratch(build, store, f"zeros_{store.container}"), _scratch(build, store, f"nonzero_{store.container}")
    is_zero = ast.Compare(left=v, ops=[ast.Eq()], comparators=[code.constant(0)])
    _reduce(build, store, zeros, "sum", code.choose(is_zero, code.constant(1), code.constant(0)), [])
    _reduce(build, store, rest, "prod", code.choose(is_zero, code.constant(1), v), [])
    g, z, r = (build.names.fresh(s) for s in (f"g_{store.container}", "z", "rest"))
    build.body += [Load(g, build.adjoints.read(store.container).name, store.index, store.guard),
                   Load(z, zeros.name, store.index), Load(r, rest.name, store.index)]
    safe = build.let(code.choose(is_zero, code.constant(1), v))
    none = code.parse(f"{z} == 0")
    single = ast.BoolOp(op=ast.And(), values=[code.parse(f"{z} == 1"), is_zero])
    others = code.choose(none, code.binary(ast.Div, code.name(r), code.name(safe)),
                         code.choose(single, code.name(r), code.constant(0)))
    factor: ast.expr = code.name(build.let(others))
    if build.activity.facts[build.path].kinds.get(store.value) == "complex":
        factor = code.call("conj", factor)
    build.add(store.value, build.let(code.binary(ast.Mult, code.name(g), factor)))
