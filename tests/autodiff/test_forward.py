"""Forward mode: tangents of the zoo's programs against JAX's, and the functions that compute them."""

import os

import numpy as np
import pytest
from graphs import call, copied, differences, seeds
from programs import PROGRAMS, RAW_PROGRAMS
from references import Parts, assert_close, check_forward

import sdgrad
from sdgrad.specialize.signature import Signature

EVERY_TIME = {"while", "break", "loop", "max", "min", "prod", "call"}
CHOSEN = [p for k, p in enumerate(PROGRAMS) if k % 16 == 0 or p.tags & EVERY_TIME]
"""All of them take as long as reverse mode; ``SDGRAD_WHOLE_ZOO=1`` runs all."""
TESTED = PROGRAMS if os.environ.get("SDGRAD_WHOLE_ZOO") else CHOSEN
PARTS = Parts(TESTED, forward=True)


@pytest.mark.parametrize("program", TESTED, ids=str)
def test_program(program):
    PARTS.compile(program)
    check_forward(program)


# Functions ---------------------------------------------------------------------------------------------

X, DX = np.array([0.3, 0.4, 0.6]), np.array([1.0, -2.0, 0.5])


def two_results(x, n):
    y = x * n
    return np.sum(np.sin(y)), y * y


def test_jvp_of_two_results():
    """Integers have no tangent; results come as tuples."""
    values, dots = sdgrad.jvp(two_results, (X, 2), (DX, None))
    assert_close(values[0], np.sum(np.sin(2 * X)), 1e-12, "value")
    assert_close(dots[0], np.sum(2 * np.cos(2 * X) * DX), 1e-12, "tangent")
    assert_close(dots[1], 8 * X * DX, 1e-12, "second tangent")


def overwrites(x):
    x[1:] = x[1:] * x[:-1]
    return np.sum(x * x)


def test_arguments_and_tangents_are_left_alone():
    x, dx = X.copy(), DX.copy()
    sdgrad.jvp(overwrites, (x,), (dx,))
    assert np.array_equal(x, X) and np.array_equal(dx, DX)


def ties(x):
    return np.max(x), np.min(x), np.prod(x)


def test_equal_extremes_share():
    """As in reverse mode: the tangent is the mean of those of the largest."""
    x, dx = np.array([2.0, 2.0, 1.0, 2.0]), np.array([1.0, 4.0, 5.0, 1.0])
    _, (largest, smallest, product) = sdgrad.jvp(ties, (x,), (dx,))
    assert (largest, smallest) == (2.0, 5.0)
    assert_close(product, np.sum(8.0 / x * dx), 1e-12, "product")


@pytest.mark.parametrize(
    "primals, tangents, message",
    [
        ((X,), (DX, DX), "1 arguments, but 2 tangents"),
        ((X,), (DX[:2],), r"tangent of 'x': expected shape \(3,\), found \(2,\)"),
        (X, DX, "a tuple of arguments"),
        ((np.array([1, 2, 3]),), (DX,), "argument 'x' is int64"),
    ],
)
def test_wrong_tangents(primals, tangents, message):
    with pytest.raises(sdgrad.errors.ArgumentError, match=message):
        sdgrad.jvp(overwrites, primals, tangents)


# Graphs ------------------------------------------------------------------------------------------------

REFUSED = {"refused", "refused-or-right"}


@pytest.mark.parametrize("program", [p for p in RAW_PROGRAMS if not p.tags & REFUSED], ids=str)
def test_graph(program):
    """``<w, J v>`` from tangents and from differences of the graph's NumPy version along ``v``."""
    rng = np.random.default_rng(3)
    values = program.inputs(rng)
    cotangents = seeds(program.outputs, values, rng)
    wanted = differences(program.reference, values, program.wrt, cotangents)
    sdfg = program.build()
    assert sdgrad.add_forward_tangent(sdfg, program.wrt, program.outputs) is sdfg
    moved = {n: rng.standard_normal(np.shape(values[n])) for n in program.wrt}
    tangents = {f"tangent_{n}": np.reshape(moved[n], np.shape(moved[n]) or (1,)).copy() for n in program.wrt}
    tangents |= {f"tangent_{n}": np.zeros(np.shape(values[n]) or (1,)) for n in program.outputs if n not in moved}
    found = call(sdfg, {**copied(values), **tangents})
    value = sum(
        np.sum(np.reshape(found[f"tangent_{n}"], np.shape(cotangents[f"gradient_{n}"])) * cotangents[f"gradient_{n}"])
        for n in program.outputs
    )
    expected = sum(np.sum(wanted[f"gradient_{n}"].reshape(np.shape(moved[n])) * moved[n]) for n in program.wrt)
    assert_close(value, expected, 1e-6, program.name)


def shifted(x, scale):
    return np.sin(x) * scale


def test_linearize():
    outputs, push = sdgrad.linearize(shifted, X, 2)
    assert_close(outputs, 2 * np.sin(X), 1e-12, "outputs")
    for dx in (DX, 3 * DX):
        assert_close(push(dx, None), 2 * np.cos(X) * dx, 1e-12, "tangent")


# Linear maps -------------------------------------------------------------------------------------------


def in_steps(x, w, n):
    h = x * 1.0
    for _ in range(n):
        h[1:-1] = np.sin(h[1:-1]) + 0.1 * h[:-2] * w[0]
    return np.exp(h) * np.sum(w), np.sum(h)


def test_linearize_computes_the_function_once():
    """The map reads what the forward half kept: no tangent program is made, and the caller's arrays may change."""
    x, w = np.linspace(0.1, 0.6, 6), np.linspace(1.0, 2.0, 6)
    given = x.copy()
    values, push = sdgrad.linearize(in_steps, given, w, 3)
    given[:] = 0.0
    signature = Signature.of(in_steps, {"x": x, "w": w, "n": 3})
    rng = np.random.default_rng(1)
    for dx, dw in ((rng.standard_normal(6), rng.standard_normal(6)), (rng.standard_normal(6), None)):
        found = push(dx, dw, None)
        assert not signature.tangents
        wanted, dots = sdgrad.jvp(in_steps, (x, w, 3), (dx, dw, None))
        signature.tangents.clear()
        for a, b in zip((*values, *found), (*wanted, *dots), strict=True):
            assert_close(a, b, 1e-13, "linearize")


def trips_by_data(x):
    while np.sum(x) > 1.0:
        x = x * x
    return np.sum(x)


def test_linearize_where_only_a_run_knows_the_trips():
    _, push = sdgrad.linearize(trips_by_data, X)
    assert_close(push(DX), sdgrad.jvp(trips_by_data, (X,), (DX,))[1], 1e-13, "linearize")
    with pytest.raises(sdgrad.errors.ArgumentError, match="1 arguments, but 2 tangents"):
        push(DX, DX)
