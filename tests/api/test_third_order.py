"""Third derivatives of the zoo's programs, forward over forward over reverse, against JAX."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from programs import PROGRAMS, flat
from references import Run, assert_close, direction, floats_of

from sdgrad.autodiff.differentiate import differentiate_program, push_tangents
from sdgrad.autodiff.forward import tangent_name
from sdgrad.autodiff.request import Request
from sdgrad.autodiff.seeds import gradient_name, seed_name
from sdgrad.canonicalize.normal_form import normalize_again
from sdgrad.pipeline import compiled_program
from sdgrad.specialize.signature import Signature

WITH_JAX = [p for p in PROGRAMS if p.jax is not None and p.expected is None]
CHOSEN = [p for k, p in enumerate(WITH_JAX) if k % 60 == 7]
"""All of them take a quarter of an hour; ``SDGRAD_WHOLE_ZOO=1`` runs all."""


@pytest.mark.parametrize("program", WITH_JAX if os.environ.get("SDGRAD_WHOLE_ZOO") else CHOSEN, ids=str)
def test_program(program):
    """The gradient, and its first and second derivatives in two directions."""
    run = Run.of(program)
    rng = np.random.default_rng(3)
    v, w = ({n: direction(run.arguments[n], rng) for n in run.wrt} for _ in range(2))
    for order, (found, wanted) in enumerate(zip(engine(run, v, w), reference(run, v, w), strict=True), start=2):
        for name in wanted:
            assert np.all(np.isfinite(wanted[name])), f"the reference of {name} is not finite"
            assert_close(found[name], wanted[name], 10 * run.tolerance, f"order {order} of {program.name} by {name}")


def engine(run: Run, v, w) -> tuple[dict, dict]:
    """The gradient's derivative in direction ``v``, and that derivative's in direction ``w``."""
    signature = Signature.of(run.program.function, run.arguments)
    names, floats = floats_of(signature, run.program)
    wrt = tuple(n for n in run.wrt if n in signature.program.containers)
    request = Request(wrt, floats, accumulate=False)
    first = normalize_again(differentiate_program(signature.program, request).program)
    gradients = tuple(gradient_name(n, signature.program) for n in wrt)
    second = normalize_again(push_tangents(first, Request(wrt, gradients, accumulate=False)))
    moved = tuple(tangent_name(g, first) for g in gradients)
    third = push_tangents(second, Request(wrt, moved, accumulate=False))
    given = signature.arguments(run.arguments)
    for name, cotangent in zip(names, run.cotangents, strict=True):
        if cotangent is not None:
            given[seed_name(name, signature.program, request)] = np.atleast_1d(cotangent)
    for name in wrt:
        given[tangent_name(name, first)] = np.atleast_1d(v[name])
        given[tangent_name(name, second)] = np.atleast_1d(w[name])
    values = compiled_program(third)(given)
    orders: tuple[dict, dict] = ({}, {})
    for name, m in zip(wrt, moved, strict=True):
        shape = np.shape(run.arguments[name])
        orders[0][name] = values[m].reshape(shape)
        orders[1][name] = values[tangent_name(m, second)].reshape(shape)
    return orders


def reference(run: Run, v, w) -> tuple[dict, dict]:
    """The same from JAX."""
    values, positions = list(run.arguments.values()), run.program.wrt_positions

    def inner(*actives):
        given = list(values)
        for position, value in zip(positions, actives, strict=True):
            given[position] = value
        pairs = zip(run.cotangents, flat(run.program.jax(*given)), strict=True)
        return sum(jnp.real(jnp.sum(jnp.conj(c) * r)) for c, r in pairs if c is not None)

    gradient = jax.grad(inner, argnums=tuple(range(len(positions))))

    def along(function, moved):
        directions = tuple(jnp.asarray(moved[n]) for n in run.wrt)
        return lambda *actives: jax.jvp(function, actives, directions)[1]

    second = along(gradient, v)
    actives = [jnp.asarray(values[i]) for i in positions]
    found = second(*actives), along(second, w)(*actives)
    return tuple(dict(zip(run.wrt, map(np.conj, map(np.asarray, f)), strict=True)) for f in found)
