"""Backward implementations of the user: for nodes without a rule, and in place of built-in ones."""

import dace
import numpy as np
import pytest
from dace import Memlet
from graphs import call, gradients, text
from references import assert_close

import sdgrad
from sdgrad.errors import NameNotFound
from sdgrad.program.registry import RULES

CUBE = "for (int i = 0; i < 5; ++i) y[i] = x[i] * x[i] * x[i];"
X, V = np.linspace(0.5, 1.5, 5), np.array([1.0, -2.0, 0.5, 3.0, 0.25])


@pytest.fixture(autouse=True)
def registry():
    """What a test registers is forgotten after it."""
    before = {kind: list(rules) for kind, rules in RULES.items()}
    yield
    RULES.clear()
    RULES.update(before)


def cube_graph(label: str = "cube") -> dace.SDFG:
    """``Y = X ** 3`` by a tasklet in C++, then ``Z = Y * X``."""
    sdfg = dace.SDFG(f"{label}_graph")
    for name in "XYZ":
        sdfg.add_array(name, [5], dace.float64)
    first = sdfg.add_state()
    tasklet = first.add_tasklet(label, {"x": None}, {"y": None}, CUBE, language=dace.Language.CPP)
    first.add_edge(first.add_read("X"), None, tasklet, "x", Memlet("X[0:5]"))
    first.add_edge(tasklet, "y", first.add_write("Y"), None, Memlet("Y[0:5]"))
    loads = {"a": Memlet("X[i]"), "b": Memlet("Y[i]")}
    second = sdfg.add_state_after(first)
    second.add_mapped_tasklet("times", {"i": "0:5"}, loads, "c = a * b", {"c": Memlet("Z[i]")}, external_edges=True)
    return sdfg


def run(sdfg: dace.SDFG) -> np.ndarray:
    """The gradient of ``sum(V * Z)`` by ``X``."""
    values = {"X": X.copy(), "Y": np.zeros(5), "Z": np.zeros(5)}
    found = call(sdfg, {**values, **gradients("X", values), "gradient_Z": V.copy()})
    assert_close(found["Z"], X**4, 1e-14, "Z")
    return found["gradient_X"]


class Cube(sdgrad.BackwardImplementation):
    """From the argument alone."""

    @staticmethod
    def backward_can_be_applied(node, context):
        return True if node.label == "cube" else f"knows cubes, not {node.label}"

    @staticmethod
    def backward(node, context, given_gradients, required_gradients):
        assert (given_gradients, required_gradients) == (["y"], ["x"])
        assert [int(n) for n in context.shapes["x"]] == [5]
        assert context.dtypes["y"] == dace.float64

        def rule(x, grad_y):
            return 3.0 * x * x * grad_y

        return rule


class CubeByResult(sdgrad.BackwardImplementation):
    """From argument and result; a factor tells which one was asked."""

    @staticmethod
    def backward(node, context, given_gradients, required_gradients):
        def rule(x, y, grad_y):
            return 7.0 * y / x * grad_y

        return rule


def test_a_tasklet_without_a_rule_gets_one():
    sdgrad.register_backward("Tasklet", name="cube")(Cube)
    sdfg = sdgrad.add_backward_pass(cube_graph(), ["X"], ["Z"])
    assert_close(run(sdfg), 4 * X**3 * V, 1e-12, "gradient")


def test_the_one_registered_last_is_asked_first_unless_another_is_selected():
    sdgrad.register_backward("Tasklet", name="cube")(Cube)
    sdgrad.register_backward(dace.nodes.Tasklet, name="by result")(CubeByResult)
    by_result = run(sdgrad.add_backward_pass(cube_graph(), ["X"], ["Z"]))
    assert_close(by_result, (7 * X**2 * X + X**3) * V, 1e-12, "by result")
    sdgrad.select_backward("Tasklet", "cube")
    assert_close(run(sdgrad.add_backward_pass(cube_graph(), ["X"], ["Z"])), 4 * X**3 * V, 1e-12, "selected")


def test_one_that_declines_lets_the_next_one_answer():
    sdgrad.register_backward("Tasklet", name="by result")(CubeByResult)
    sdgrad.register_backward("Tasklet", name="cube")(Cube)
    found = run(sdgrad.add_backward_pass(cube_graph("other"), ["X"], ["Z"]))
    assert_close(found, 8 * X**3 * V, 1e-12, "gradient")


def test_the_reason_for_declining_is_told():
    sdgrad.register_backward("Tasklet", name="cube")(Cube)
    sdfg = cube_graph("sphere")
    before = text(sdfg)
    with pytest.raises(sdgrad.DifferentiationError) as caught:
        sdgrad.add_backward_pass(sdfg, ["X"], ["Z"])
    assert "tasklet 'sphere'" in str(caught.value)
    assert "cube: knows cubes, not sphere" in str(caught.value)
    assert text(sdfg) == before


def test_unregistered_is_forgotten():
    sdgrad.register_backward("Tasklet", name="cube")(Cube)
    sdgrad.unregister_backward("Tasklet", "cube")
    with pytest.raises(sdgrad.DifferentiationError, match="tasklet 'cube'"):
        sdgrad.add_backward_pass(cube_graph(), ["X"], ["Z"])


@pytest.mark.parametrize("change", [sdgrad.select_backward, sdgrad.unregister_backward])
def test_names_that_are_not_registered(change):
    sdgrad.register_backward("Tasklet", name="cube")(Cube)
    with pytest.raises(NameNotFound) as caught:
        change("Tasklet", "cubes")
    assert "named 'cubes'; did you mean 'cube'?" in str(caught.value)
    assert [r.name for r in RULES["Tasklet"]][:1] == ["cube"]


class UnknownConnector(sdgrad.BackwardImplementation):
    @staticmethod
    def backward(node, context, given_gradients, required_gradients):
        def rule(xx, grad_y):
            return grad_y * xx

        return rule


def test_a_parameter_that_is_no_connector_is_named():
    sdgrad.register_backward("Tasklet", name="wrong")(UnknownConnector)
    sdfg = cube_graph()
    before = text(sdfg)
    with pytest.raises(NameNotFound) as caught:
        sdgrad.add_backward_pass(sdfg, ["X"], ["Z"])
    assert "'xx'" in str(caught.value)
    assert "grad_y" in str(caught.value)
    assert text(sdfg) == before


# In place of a built-in rule -------------------------------------------------------------------------


class ScaledSolve(sdgrad.BackwardImplementation):
    """The rule for ``solve``, doubled, so that one sees who answered."""

    @staticmethod
    def backward(node, context, given_gradients, required_gradients):
        assert required_gradients == ["_ain", "_bin"]

        def rule(_ain, _bout, grad__bout):
            b = np.linalg.solve(_ain.T, grad__bout)
            return -2.0 * (b @ _bout.T), 2.0 * b

        return rule


def solve_one(A, B):
    return np.sum(np.linalg.solve(A, B) ** 2)


def solve_two(A, B):
    return np.sum(np.linalg.solve(A, B) ** 2)


def test_a_user_outranks_a_built_in_rule():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((3, 3)) + 3 * np.eye(3), rng.standard_normal((3, 2))
    x = np.linalg.solve(A, B)
    b = np.linalg.solve(A.T, 2 * x)
    wanted = -b @ x.T, b
    sdgrad.register_backward("Solve", name="scaled")(ScaledSolve)
    for found, w in zip(sdgrad.grad(solve_one, (0, 1))(A, B), wanted, strict=True):
        assert_close(found, 2 * w, 1e-10, "the user's")
    sdgrad.unregister_backward("Solve", "scaled")
    for found, w in zip(sdgrad.grad(solve_two, (0, 1))(A, B), wanted, strict=True):
        assert_close(found, w, 1e-10, "the built-in")


def test_an_adjoint_serves_forward_mode():
    """Its transpose is the tangent."""
    sdgrad.register_backward("Tasklet")(Cube)
    sdfg = sdgrad.add_forward_tangent(cube_graph(), ["X"], ["Z"])
    values = {"X": X.copy(), "Y": np.zeros(5), "Z": np.zeros(5), "tangent_X": V.copy(), "tangent_Z": np.zeros(5)}
    assert_close(call(sdfg, values)["tangent_Z"], 4 * X**3 * V, 1e-13, "tangent")
