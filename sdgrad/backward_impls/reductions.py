"""Cotangents through reductions that are not sums: max, min, product.

``y = max(x0, v_1, .., v_n)``: the cotangent of ``y`` is divided equally among all operands that equal ``y``.
``y = x0 * v_1 * .. * v_n``: each operand gets the product of the others, which with one zero among them is the product
of the rest, and with two is zero.
"""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING

from sdgrad.program.tree import Container, Leaf, Let, Load, Param, Store
from sdgrad.symbolic import code

if TYPE_CHECKING:
    from sdgrad.backward_impls.leaf import LeafAdjoint


def _scratch(build: LeafAdjoint, store: Store, stem: str) -> Container:
    """A container with an element for each element the store reduces into."""
    desc = copy.deepcopy(build.adjoints.program.containers[store.container].desc)
    desc.transient = True
    container = Container(build.names.fresh(stem), desc)
    build.adjoints.made[container.name] = container
    return container


def _initial(build: LeafAdjoint, store: Store) -> tuple[Load, tuple[Param, ...]] | None:
    """What the reduction started from, and the parameters that run over the elements reduced into."""
    kept = build.plan.initial.get(store.container)
    return (Load(kept.name, kept.tape.name, kept.index), kept.params) if kept is not None else None


def _reduce(build: LeafAdjoint, store: Store, into: Container, mode: str, of, extra: list) -> None:
    """Leaves before the adjoint that reduce ``of(operand)`` over all operands, what it started from included."""
    initial, fresh = _initial(build, store), True
    if initial is not None:
        load, params = initial
        name = build.names.fresh("r")
        body = (*extra, load, Let(name, of(code.name(load.name))), Store(into.name, store.index, name))
        build.before.append(Leaf(params, body, build.leaf.source))
        fresh = False
    name = build.names.fresh("r")
    body = (
        *build.plan.replay,
        *extra,
        Let(name, of(code.name(store.value))),
        Store(into.name, store.index, name, mode, store.guard, fresh),
    )
    build.before.append(Leaf(build.leaf.params, body, build.leaf.source))


def _pass_to_initial(build: LeafAdjoint, store: Store, loads: list[Load], share) -> None:
    """The cotangent of what the reduction started from takes the place of the result's.

    Several instances may stand for one element, so the shares are computed aside before any cotangent is replaced.
    """
    initial = _initial(build, store)
    if initial is None:
        return
    load, params = initial
    build.before += build.adjoints.writable(store.container)
    adjoint = build.adjoints.container(store.container).name
    passed = _scratch(build, store, f"passed_{store.container}")
    g, result = build.names.fresh(f"g_{store.container}"), build.names.fresh("g")
    body = (
        *loads,
        load,
        Load(g, adjoint, store.index),
        *share(code.name(load.name), g, result),
        Store(passed.name, store.index, result),
    )
    build.after.append(Leaf(params, body, build.leaf.source))
    moved = build.names.fresh("g")
    back = (Load(moved, passed.name, store.index), Store(adjoint, store.index, moved))
    build.after.append(Leaf(params, back, build.leaf.source))


def extreme_cotangent(build: LeafAdjoint, store: Store) -> None:
    y, n, count = build.names.fresh("y"), build.names.fresh("n"), _scratch(build, store, f"ties_{store.container}")
    load_y, load_n = Load(y, *build.plan.results[store.container]), Load(n, count.name, store.index)

    def equal(v: ast.expr) -> ast.expr:
        return ast.Compare(left=v, ops=[ast.Eq()], comparators=[code.name(y)])

    def share(v: ast.expr, g: str, result: str) -> list[Let]:
        part = code.binary(ast.Div, code.name(g), code.name(n))
        return [Let(result, code.choose(equal(v), part, code.constant(0)))]

    _reduce(build, store, count, "sum", lambda v: code.choose(equal(v), code.constant(1), code.constant(0)), [load_y])
    _pass_to_initial(build, store, [load_y, load_n], share)
    g, result = build.names.fresh(f"g_{store.container}"), build.names.fresh("g")
    build.seeds[g] = store.container
    build.body += [
        load_y,
        load_n,
        Load(g, build.adjoints.read(store.container).name, store.index, store.guard),
        *share(code.name(store.value), g, result),
    ]
    build.add(store.value, result)


def product_cotangent(build: LeafAdjoint, store: Store) -> None:
    zeros, rest = (
        _scratch(build, store, f"zeros_{store.container}"),
        _scratch(build, store, f"nonzero_{store.container}"),
    )
    z, r = build.names.fresh("z"), build.names.fresh("rest")
    loads = [Load(z, zeros.name, store.index), Load(r, rest.name, store.index)]
    is_complex = build.activity.facts[build.path].kinds.get(store.value) == "complex"

    def is_zero(v: ast.expr) -> ast.expr:
        return ast.Compare(left=v, ops=[ast.Eq()], comparators=[code.constant(0)])

    def share(v: ast.expr, g: str, result: str) -> list[Let]:
        safe, others = build.names.fresh("safe"), build.names.fresh("others")
        single = ast.BoolOp(op=ast.And(), values=[code.parse(f"{z} == 1"), is_zero(v)])
        product = code.choose(
            code.parse(f"{z} == 0"),
            code.binary(ast.Div, code.name(r), code.name(safe)),
            code.choose(single, code.name(r), code.constant(0)),
        )
        factor: ast.expr = code.call("conj", code.name(others)) if is_complex else code.name(others)
        return [
            Let(safe, code.choose(is_zero(v), code.constant(1), v)),
            Let(others, product),
            Let(result, code.binary(ast.Mult, code.name(g), factor)),
        ]

    _reduce(build, store, zeros, "sum", lambda v: code.choose(is_zero(v), code.constant(1), code.constant(0)), [])
    _reduce(build, store, rest, "prod", lambda v: code.choose(is_zero(v), code.constant(1), v), [])
    _pass_to_initial(build, store, loads, share)
    g, result = build.names.fresh(f"g_{store.container}"), build.names.fresh("g")
    build.seeds[g] = store.container
    build.body += [
        *loads,
        Load(g, build.adjoints.read(store.container).name, store.index, store.guard),
        *share(code.name(store.value), g, result),
    ]
    build.add(store.value, result)
