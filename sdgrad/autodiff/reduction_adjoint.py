"""Reverse reductions that are no sums: maximum, minimum and product.

``y = max(x0, v_1, .., v_n)``: the cotangent of ``y`` is divided equally among all operands that equal ``y``.

``y = x0 * v_1 * .. * v_n``: each operand gets the product of the others, as running product from the left times
running product from the right. Nothing is divided, so that derivatives of any order are right for operands of zero.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from dace import data as dt

from sdgrad.autodiff.leaf_builder import LeafBuilder
from sdgrad.autodiff.selection import Condition
from sdgrad.program.leaves import as_loops, backwards, rename_instr
from sdgrad.program.tree import SCALAR, Container, Leaf, Let, Load, Param, Store
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import substitute, sym


def _scratch(build: LeafBuilder, store: Store, stem: str) -> Container:
    """Make a container with one element for each element that the store reduces into."""
    container = build.adjoints.program.containers[store.container].local(build.names.fresh(stem))
    build.adjoints.made[container.name] = container
    return container


def _initial(build: LeafBuilder, store: Store) -> tuple[Load, tuple[Param, ...]] | None:
    """Return the load of the reduction's initial value and the parameters over its elements; None if there is none."""
    kept = build.plan.initial.get(store.container)
    return (Load(kept.name, kept.tape.name, kept.index), kept.params) if kept is not None else None


def _reduce(build: LeafBuilder, store: Store, into: Container, mode: str, of, extra: list) -> None:
    """Add leaves before the adjoint that reduce ``of(operand)`` over all operands and the initial value."""
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


def _pass_to_initial(build: LeafBuilder, store: Store, loads: list[Load], share) -> None:
    """Replace the cotangent of the result by that of the reduction's initial value.

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


def extreme_cotangent(build: LeafBuilder, store: Store) -> None:
    """Divide the cotangent of a maximum or minimum among the operands that attain it."""
    y, n, count = build.names.fresh("y"), build.names.fresh("n"), _scratch(build, store, f"ties_{store.container}")
    load_y, load_n = Load(y, *build.plan.results[store.container]), Load(n, count.name, store.index)
    beyond = ast.Lt() if store.mode == "max" else ast.Gt()

    def equal(v: ast.expr) -> ast.expr:  # or the extreme is not a number, and everybody's
        return ast.UnaryOp(ast.Not(), ast.Compare(left=v, ops=[beyond], comparators=[code.name(y)]))

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
    seen = build.seen(g, store)
    chosen = Condition.of(equal(code.name(store.value)))
    build.add(store.value, replace(seen, name=result, when=(*seen.when, chosen)))


def product_cotangent(build: LeafBuilder, store: Store) -> None:
    """Give each operand of a product the cotangent times the product of all other operands."""
    running = _scratch(build, store, f"running_{store.container}")
    before, others = (_for_each_instance(build, store, stem) for stem in ("before", "others"))
    index = tuple(i for _, i in build.plan.instances) or SCALAR
    is_complex = build.activity.facts[build.path].kinds.get(store.value) == "complex"

    def times(factor: str, g: str, result: str) -> Let:
        other: ast.expr = code.call("conj", code.name(factor)) if is_complex else code.name(factor)
        return Let(result, code.binary(ast.Mult, code.name(g), other))

    _start_product(build, store, running, of_initial=True)
    _multiply_up(build, store, running, lambda r: [Store(before.name, index, r)])
    _start_product(build, store, running, of_initial=False)
    b, o, every = (build.names.fresh(stem) for stem in ("b", "others", "all"))

    def meet(r: str) -> list[Load | Let | Store]:
        both = code.binary(ast.Mult, code.name(b), code.name(r))
        return [Load(b, before.name, index), Let(o, both), Store(others.name, index, o)]

    _multiply_up(build, store, running, meet, backward=True)
    _pass_to_initial(
        build, store, [Load(every, running.name, store.index)], lambda v, g, result: [times(every, g, result)]
    )
    g, result = build.names.fresh(f"g_{store.container}"), build.names.fresh("g")
    build.seeds[g] = store.container
    build.body += [
        Load(o, others.name, index),
        Load(g, build.adjoints.read(store.container).name, store.index, store.guard),
        times(o, g, result),
    ]
    seen = build.seen(g, store)
    build.add(store.value, replace(seen, name=result, exact=not seen.when))


def _for_each_instance(build: LeafBuilder, store: Store, stem: str) -> Container:
    """Make a container with one element for each instance of the leaf."""
    dtype = build.adjoints.program.containers[store.container].dtype
    shape = [n for n, _ in build.plan.instances] or [1]
    container = Container(build.names.fresh(f"{stem}_{store.container}"), dt.Array(dtype, shape, transient=True))
    build.adjoints.made[container.name] = container
    return container


def _start_product(build: LeafBuilder, store: Store, running: Container, of_initial: bool) -> None:
    """Set the running products to one, or to the reduction's initial value."""
    value = build.names.fresh("one")
    first: Load | Let = Let(value, code.constant(1))
    initial = _initial(build, store)
    if initial is None:
        body = (*build.plan.replay, first, Store(running.name, store.index, value, guard=store.guard))
        build.before.append(Leaf(build.leaf.params, body, build.leaf.source))
        return
    load, params = initial
    if of_initial:
        first, value = load, load.name
    build.before.append(Leaf(params, (first, Store(running.name, store.index, value)), build.leaf.source))


def _multiply_up(build: LeafBuilder, store: Store, running: Container, each, backward: bool = False) -> None:
    """Add a loop over the leaf's instances that multiplies up; ``each`` sees the product so far."""
    r, r_next = build.names.fresh("r"), build.names.fresh("r")
    body = (
        *build.plan.replay,
        Load(r, running.name, store.index, store.guard),
        *each(r),
        Let(r_next, code.binary(ast.Mult, code.name(r), code.name(store.value))),
        Store(running.name, store.index, r_next, guard=store.guard),
    )
    leaf = replace(build.leaf, body=body)
    leaf = backwards(leaf) if backward else leaf
    named = {p.name: sym(build.names.fresh(p.name)) for p in leaf.params}
    params = [
        Param(str(named[p.name]), *(substitute(x, named) for x in (p.start, p.stop, p.step))) for p in leaf.params
    ]
    inner = Leaf((), tuple(rename_instr(i, {}, named) for i in leaf.body), leaf.source)
    build.before += as_loops(params, (inner,), leaf.source)
