"""Values taken as constants: in functions, by name on graphs, in both modes and at second order."""

import dace
import numpy as np
import pytest
from graphs import call

import sdgrad
import sdgrad as differentiator
from sdgrad import detach, stop_gradient

X = np.array([1.0, 2.0, 3.0])


def by_module(x):
    return np.sum(sdgrad.stop_gradient(x * x) * x)


def by_alias_of_the_module(x):
    return np.sum(differentiator.stop_gradient(x * x) * x)


def by_name(x):
    return np.sum(stop_gradient(x * x) * x)


def by_torchs_name(x):
    return np.sum(detach(x * x) * x)


@pytest.mark.parametrize("function", [by_module, by_alias_of_the_module, by_name, by_torchs_name])
def test_however_it_is_called(function):
    assert np.allclose(sdgrad.grad(function)(X), X * X)
    value, tangent = sdgrad.jvp(function, (X,), (np.ones(3),))
    assert value == function(X) and np.isclose(tangent, np.sum(X * X))


def written(x):
    y = stop_gradient(x)
    y[0] = 5.0
    return np.sum(y * x)


def test_it_is_a_value_of_its_own():
    assert np.allclose(sdgrad.grad(written)(X), [5.0, 2.0, 3.0])


def in_a_loop(x):
    s = 0.0
    for i in range(3):
        s = stop_gradient(s) * x[i] + x[i] * x[i]
    return s


def test_in_a_loop_of_scalars():
    s = (X[0] ** 2) * X[1] + X[1] ** 2
    assert np.allclose(sdgrad.grad(in_a_loop)(X), [0.0, 0.0, s + 2 * X[2]])


def scalar(t):
    return stop_gradient(np.sin(t)) * t**3


def test_second_order():
    """The constant stays one: the second derivative is that of the cube alone."""
    assert np.isclose(sdgrad.grad(sdgrad.grad(scalar))(0.7), np.sin(0.7) * 6 * 0.7)


# Graphs ------------------------------------------------------------------------------------------------


def graph() -> dace.SDFG:
    """``t = A * A; B = t * A``."""
    sdfg = dace.SDFG("stopped")
    for name in "AB":
        sdfg.add_array(name, [3], dace.float64)
    sdfg.add_transient("t", [3], dace.float64)
    first = sdfg.add_state()
    for state, code, inputs, output in (
        (first, "z = x * x", {"x": "A"}, "t"),
        (sdfg.add_state_after(first), "z = x * y", {"x": "t", "y": "A"}, "B"),
    ):
        state.add_mapped_tasklet(
            "compute",
            {"i": "0:3"},
            {k: dace.Memlet(f"{n}[i]") for k, n in inputs.items()},
            code,
            {"z": dace.Memlet(f"{output}[i]")},
            external_edges=True,
        )
    return sdfg


def test_by_name():
    sdfg = sdgrad.add_backward_pass(graph(), ["A"], ["B"], stop=["t"])
    found = call(sdfg, {"A": X.copy(), "B": np.zeros(3), "gradient_A": np.zeros(3), "gradient_B": np.ones(3)})
    assert np.allclose(found["gradient_A"], X * X)
    whole = sdgrad.add_backward_pass(graph(), ["A"], ["B"])
    found = call(whole, {"A": X.copy(), "B": np.zeros(3), "gradient_A": np.zeros(3), "gradient_B": np.ones(3)})
    assert np.allclose(found["gradient_A"], 3 * X * X)


def test_by_name_in_forward_mode():
    sdfg = sdgrad.add_forward_tangent(graph(), ["A"], ["B"], stop=["t"])
    found = call(sdfg, {"A": X.copy(), "B": np.zeros(3), "tangent_A": np.ones(3), "tangent_B": np.zeros(3)})
    assert np.allclose(found["tangent_B"], X * X)


def test_unknown_name():
    with pytest.raises(sdgrad.errors.NameNotFound, match="'tt'"):
        sdgrad.add_backward_pass(graph(), ["A"], ["B"], stop=["tt"])


def of_nests(x):
    own = {"a": x * 2.0, "b": [x[0], 3, "text", None]}
    held = stop_gradient(own)
    held["a"][0] = 7.0
    held["b"].append(x[1])
    first, second = stop_gradient((x, x[1]))
    return np.sum(held["a"] * x) + own["a"][0] * held["b"][0] + held["b"][4] * first[0] * second * held["b"][1]


def test_of_a_nest():
    assert np.allclose(sdgrad.grad(of_nests)(X), [7.0 + 2.0 * X[0], 4.0 + 3.0 * X[0] * X[1], 6.0])
    plain = stop_gradient({"a": X, "b": ("text", None)})
    assert plain["a"] is not X and np.array_equal(plain["a"], X) and plain["b"] == ("text", None)
