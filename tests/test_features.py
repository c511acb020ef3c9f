"""One test for each feature that is owed, named after it. ``docs/features.md`` is made of these names and first lines.

``python tests/test_features.py`` writes the page; the last test compares. References are differences (``check_grads``),
closed forms, or another way to the same number.
"""

import inspect
import sys
from pathlib import Path

import dace
import numpy as np
import pytest

import sdgrad
from sdgrad.testing import check_grads

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]  # where this file runs as a script

from tests.api.test_backward_implementation import Cube, cube_graph  # noqa: E402
from tests.api.test_backward_implementation import V as CUBES_SEED  # noqa: E402
from tests.api.test_backward_implementation import X as CUBES_OF  # noqa: E402
from tests.api.test_backward_implementation import run as gradient_of  # noqa: E402

PAGE = Path(__file__).parents[1] / "docs" / "features.md"
X, Y = np.array([0.4, 0.9, 1.3, 0.7]), np.array([1.1, 0.6, 0.8, 1.4])
A = np.outer(X, Y) + np.eye(4)
I = np.array([2, 0, 2, 1])  # noqa: E741


def right(f, *arguments):
    """Both modes agree with differences, by every floating-point argument."""
    check_grads(f, arguments, order=1)


# Programs accepted


def test_in_place_overwrite_of_values_still_needed():
    """A value that is overwritten and needed by the adjoint is kept, or had otherwise; nothing is rewritten by hand."""

    def f(x):
        y = x * x
        z = np.sin(y)
        y[1:] = y[:-1] * z[1:]
        return np.sum(y * z)

    right(f, X)


def test_for_loops():
    """Loops over ranges, bounds from arguments."""

    def f(x, n):
        s = 0.0
        for i in range(n):
            s = s * x[i] + np.sin(x[i])
        return s

    right(f, X, 4)


def test_strided_and_negative_steps():
    """Steps of any sign and size, empty ranges."""

    def f(x):
        for i in range(3, -1, -2):
            x[i] = x[i] * x[i - 1]
        for i in range(0, 0, 3):
            x[i] = 0.0
        return np.sum(x)

    right(f, X)


def test_trip_count_known_only_at_run_time():
    """Bounds computed from data."""

    def f(x, idx):
        for i in range(idx[0] + 1):
            x[i] = np.exp(x[i]) * x[3]
        return np.sum(x)

    right(f, X, I)


def test_while_loops():
    """No bound is asked for."""

    def f(x):
        while np.sum(x) < 20.0:
            x = x * (1.0 + x)
        return np.sum(x * x)

    right(f, X)


def test_break_continue_early_return():
    """Jumps out of and within loops."""

    def f(x):
        s = 1.0
        for i in range(4):
            if x[i] > 1.2:
                break
            if x[i] < 0.5:
                continue
            s = s * x[i]
        if s > 100.0:
            return s
        return s * s

    right(f, X)


def test_data_dependent_branch():
    """An ``if`` on data, also on data that is overwritten later."""

    def f(x):
        if np.sum(x) > 1.0:
            x = x * x
        else:
            x = x * 3.0
        return np.sum(np.sin(x))

    right(f, X)


def test_data_dependent_branch_in_a_loop():
    """Each trip goes back through the arm it took."""

    def f(x):
        s = 0.5
        for i in range(4):
            if x[i] * s > 0.4:
                s = s * x[i]
            else:
                s = s + np.sin(x[i])
        return s

    right(f, X)


def test_gather_and_scatter():
    """Indices from arrays, duplicates included."""

    def f(x, idx):
        y = np.zeros(4)
        for i in range(4):
            y[idx[i]] += x[i] * x[idx[i]]
        return np.sum(y * y) + np.sum(x[idx] ** 3)

    right(f, X, I)


def test_same_array_read_twice_in_one_map():
    """One contribution for each use."""

    def f(x):
        return np.sum(x * x)

    assert np.allclose(sdgrad.grad(f)(X), 2 * X)


def squares(x):
    return x * x


@dace.program
def doubled(x: dace.float64[4]):
    return 2.0 * x


def test_nested_programs():
    """Calls of functions and of ``@dace.program``s."""

    def f(x):
        return np.sum(squares(doubled(x)) * x)

    right(f, X)


def test_views_and_aliasing():
    """Reshapes, slices, transposes, and writes through them."""

    def f(a):
        b = a.reshape(16)
        b[3] = b[2] * b[5]
        return np.sum(a.T @ a)

    right(f, A)


# What is kept for the backward pass


def test_store_or_recompute_by_hand():
    """``tapes=``: all, none, or the variables named."""

    def f(x, n):
        h = x * 1.0
        for _ in range(n):
            h = np.sin(h) * x
        return np.sum(h)

    found = []
    for tapes in ("least", "all", "none"):
        forward, backward = sdgrad.grad(f, requires=["x"], tapes=tapes)
        found.append(backward(forward(X, 3)[1])["x"])
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])


def test_undo_instead_of_store():
    """An overwritten array is put back where that keeps less than storing what is read of it."""

    def f(x):
        h = x * 1.0
        for _ in range(5):
            h[1:] = np.sin(h[1:]) * h[:-1]
        return np.sum(h)

    assert any(v.how == "put back" for s in sdgrad.explain(f, X).statements for v in s.values)


def test_checkpointing_of_loops():
    """A loop with a long tape keeps its state now and then, and runs again piece by piece on the way back."""

    def steps(x):
        y = np.copy(x)
        for _ in range(1200):
            y[:] = y - 0.001 * y * y
        return np.sum(y * y)

    x = np.linspace(0.2, 0.8, 600)
    kept = sdgrad.explain(steps, x).bytes_kept
    with sdgrad.config.override(without=("checkpoints",)):
        assert sdgrad.explain(steps, np.copy(x[:599])).bytes_kept > 10 * kept
    right(steps, x)


def test_user_can_read_which_values_are_kept_and_why():
    """``explain``: by source line, with bytes; as a page as well."""

    def f(x):
        for _ in range(3):
            x = np.sin(x) * x
        return np.sum(x)

    explanation = sdgrad.explain(f, X)
    assert explanation.bytes_kept == sum(v.size for v in explanation.tape) > 0
    assert any("np.sin(x) * x" in s.line for s in explanation.statements)


def test_tape_passed_explicitly():
    """Forward returns outputs and tape, backward takes the tape."""

    def f(x):
        return np.sum(np.exp(x) * x)

    forward, backward = sdgrad.grad(f, requires=["x"])
    value, tape = forward(X)
    assert np.isclose(value, f(X)) and np.allclose(backward(tape)["x"], np.exp(X) * (1 + X))


# User control of derivatives


def test_own_rule_for_an_operator():
    """``register_backward`` for nodes of graphs, ``register_scalar_rule`` for scalar functions."""
    with pytest.raises(sdgrad.DifferentiationError):
        sdgrad.add_backward_pass(cube_graph(), ["X"], ["Z"])
    sdgrad.register_backward("Tasklet")(Cube)
    try:
        graph = sdgrad.add_backward_pass(cube_graph(), ["X"], ["Z"])
    finally:
        sdgrad.unregister_backward("Tasklet", "Cube")
    assert np.allclose(gradient_of(graph), 4 * CUBES_OF**3 * CUBES_SEED)


@sdgrad.custom_vjp
def cube(x):
    y = x * x * x
    return y


@cube.defvjp
def cube_vjp(x, grad_y):
    return 3.0 * x * x * grad_y


def test_own_rule_for_a_function():
    """``custom_vjp`` and ``custom_jvp``."""

    def f(x):
        return np.sum(cube(x))

    right(f, X)


def region_vjp(t, i, grad_x, grad_y):
    grad_x[i] += np.cos(t) * grad_y[i]


def test_own_rule_for_a_region_of_statements():
    """``custom_region``: the adjoint of some statements, in place."""

    def f(x):
        y = np.zeros(4)
        for i in range(4):
            with sdgrad.custom_region(region_vjp):
                t = x[i]
                y[i] = np.sin(t)
        return np.sum(y * y)

    right(f, X)


def test_versioned_forward_values_in_own_rule():
    """A rule sees the values of the trip that is reversed."""

    def f(x):
        for _ in range(3):
            x = cube(x) * 0.5
        return np.sum(x)

    right(f, X)


def test_own_rule_valid_in_both_modes():
    """A reverse rule's transpose serves forward mode, and the other way round."""

    def f(x):
        return np.sum(cube(x) * x)

    _, tangent = sdgrad.jvp(f, (X,), (Y,))
    assert np.isclose(tangent, np.sum(sdgrad.grad(f)(X) * Y))


def test_detach():
    """``stop_gradient``, and ``stop=`` on graphs."""

    def f(x):
        return np.sum(sdgrad.stop_gradient(x * x) * x)

    assert np.allclose(sdgrad.grad(f)(X), X * X)


# Modes and derived quantities


def test_forward_mode():
    """``jvp`` and ``add_forward_tangent``: no tape."""

    def f(x):
        return np.sin(x) * x[0]

    _, tangent = sdgrad.jvp(f, (X,), (Y,))
    assert np.allclose(tangent, np.cos(X) * Y * X[0] + np.sin(X) * Y[0])


def power(x):
    return np.sum(x**5)


def test_higher_order():
    """Derivatives are functions that can be differentiated again."""

    assert np.allclose(sdgrad.jacobian(sdgrad.grad(power))(X), np.diag(20 * X**3))
    third = sdgrad.jacobian(sdgrad.hessian(power))(X)
    assert np.allclose(third[range(4), range(4), range(4)], 60 * X**2) and np.count_nonzero(third) == 4


def test_hessian_vector_product():
    """``hvp``, forward over reverse."""
    assert np.allclose(sdgrad.hvp(power, (X,), (Y,)), 20 * X**3 * Y)


def test_dense_jacobian():
    """``jacobian``: forward or reverse by shape, all directions in one call."""

    def f(x):
        return np.sin(x[:2]) * x[2:]

    want = np.hstack([np.diag(np.cos(X[:2]) * X[2:]), np.diag(np.sin(X[:2]))])
    assert np.allclose(sdgrad.jacobian(f)(X), want)


def test_sparse_jacobian_and_hessian():
    """``sparse_jacobian`` and ``sparse_hessian``: pattern from the program, coloured."""

    def f(x):
        return x[1:] * x[:-1]

    found = sdgrad.sparse_jacobian(f)(X)
    assert found.nnz == 6 and np.allclose(found.toarray(), sdgrad.jacobian(f)(X))


def test_linearize_once_apply_many():
    """``linearize``: the function is computed once."""

    def f(x):
        return np.sin(x) * x

    _, push = sdgrad.linearize(f, X)
    for v in (X, Y):
        assert np.allclose(push(v), (np.cos(X) * X + np.sin(X)) * v)


def test_batching():
    """``vmap`` over a leading axis, and ``jvp(.., batched=True)``."""
    assert np.allclose(sdgrad.vmap(sdgrad.grad(power))(A), 5 * A**4)


def test_several_outputs_with_seeds():
    """``vjp``: one cotangent for each output."""

    def f(x):
        return np.sum(x * x), np.sin(x)

    _, pullback = sdgrad.vjp(f, X)
    assert np.allclose(pullback(2.0, Y)[0], 4 * X + np.cos(X) * Y)


# Calling conventions


def test_value_and_gradient_in_one_call():
    """``value_and_grad``: one compiled program."""
    value, gradient = sdgrad.value_and_grad(power)(X)
    assert np.isclose(value, power(X)) and np.allclose(gradient, 5 * X**4)


def test_attached_backward():
    """``attach_backward=True``: ``g.backward``, with maps of names."""
    g = sdgrad.grad(power, requires=["x"], attach_backward=True)
    g(X)
    assert np.allclose(g.backward()["x"], 5 * X**4) and g.input_name_to_gradient_name == {"x": "grad_x"}


def in_place(x):
    x[:] = np.sin(x)
    return np.sum(x)


def test_in_place_and_out_of_place():
    """Arguments are left alone, or with ``inplace=True`` written."""
    x = X.copy()
    sdgrad.grad(in_place)(x)
    assert np.array_equal(x, X)
    sdgrad.grad(in_place, inplace=True)(x)
    assert np.allclose(x, np.sin(X))


def test_accumulation():
    """Gradients of graphs accumulate; ``backward(tape, into=..)`` and ``zero_grad`` for functions."""
    forward, backward = sdgrad.grad(power, requires=["x"])
    into = np.ones(4)
    backward(forward(X)[1], into={"x": into})
    assert np.allclose(into, 1 + 5 * X**4)
    sdgrad.zero_grad(into)
    assert not into.any()


def ignores(x, y):
    return np.sum(x)


def test_unused_input():
    """``unused="zero"``, ``"none"`` or ``"error"``."""
    assert np.array_equal(sdgrad.grad(ignores, 1)(X, Y), np.zeros(4))
    assert sdgrad.grad(ignores, 1, unused="none")(X, Y) is None
    with pytest.raises(sdgrad.errors.UnusedInputError):
        sdgrad.grad(ignores, 1, unused="error")(X, Y)


# Numerics


def test_complex_numbers():
    """PyTorch's convention: the gradient is the direction of steepest ascent."""

    def f(z):
        return np.sum(np.real(z * np.conj(z)))

    z = X + 1j * Y
    assert np.allclose(sdgrad.grad(f)(z), 2 * z)


def test_low_precision():
    """``float16``: cotangents and sums are in ``float32``."""

    def f(x):
        return np.sum(x * x)

    found = sdgrad.grad(f)(X.astype(np.float16))
    assert found.dtype == np.float16 and np.allclose(found, 2 * X, atol=1e-2)


def test_integer_inputs():
    """An error that names the argument."""
    with pytest.raises(sdgrad.errors.ArgumentError, match="argument 'x' is int64"):
        sdgrad.grad(power)(I)


def test_the_branch_not_taken():
    """It contributes nothing, even where its derivative is infinite."""

    def f(x):
        return np.sum(np.where(x > 0.0, np.sqrt(x), 0.0))

    assert np.array_equal(sdgrad.grad(f)(np.array([0.0, 4.0])), [0.0, 0.25])


def test_ties():
    """Equal extremes share."""

    def f(x):
        return np.max(x)

    assert np.array_equal(sdgrad.grad(f)(np.array([1.0, 3.0, 3.0])), [0.0, 0.5, 0.5])


def test_deterministic_accumulation():
    """No atomics: the same bits every time."""

    def f(a, idx):
        y = np.zeros(4)
        for i in range(4):
            y[idx[i]] += np.sum(a[i] * a[idx[i]])
        return np.sum(y * y)

    assert np.array_equal(sdgrad.grad(f)(A, I), sdgrad.grad(f)(A, I))


# Tools


def test_gradient_checker():
    """``sdgrad.testing``: differences, both modes, any order; wrong gradients are found."""
    check_grads(power, (X,), order=2)


def test_misuse_of_a_tape_is_found():
    """Checked mode: arrays changed between forward and backward."""
    x = X.copy()
    with sdgrad.config.override(checked=True):
        forward, backward = sdgrad.grad(power, requires=["x"])
        _, tape = forward(x)
        x[0] = 0.0
        with pytest.raises(sdgrad.errors.TapeError):
            backward(tape)


def test_refusals_name_every_problem():
    """All at once, with the source line and a hint, before anything is changed."""
    sdfg = dace.SDFG("refused")
    for name in "AB":
        sdfg.add_array(name, [4], dace.float64)
    state = sdfg.add_state()
    tasklet = state.add_tasklet("secret", {"a"}, {"b"}, "b = a;", language=dace.Language.CPP)
    state.add_edge(state.add_read("A"), None, tasklet, "a", dace.Memlet("A[0]"))
    state.add_edge(tasklet, "b", state.add_write("B"), None, dace.Memlet("B[0]"))
    with pytest.raises(sdgrad.DifferentiationError, match="(?s)'secret'.*hint"):
        sdgrad.add_backward_pass(sdfg, inputs=["A"], outputs=["B"])


def test_save_and_load(tmp_path):
    """``compile_gradient``, ``save``, ``load``; ``export_c`` for C."""
    path = sdgrad.compile_gradient(power, X).save(tmp_path / "power")
    assert np.allclose(sdgrad.load(path)(X)[1], 5 * X**4)


def test_functions_of_tensors():
    """``sdgrad.torch.function``: part of torch's graph, to any order."""
    import torch

    import sdgrad.torch

    t = torch.tensor(X, requires_grad=True)
    sdgrad.torch.function(power)(t).backward()
    assert np.allclose(t.grad, 5 * X**4)


def test_threads():
    """Compiled gradients may be called from several threads."""
    from concurrent.futures import ThreadPoolExecutor

    gradient = sdgrad.grad(power)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(gradient, [X] * 20):
            assert np.allclose(found, 5 * X**4)


# The page


def page() -> str:
    own = sys.modules[__name__]
    rows = []
    for name, test in vars(own).items():
        if name.startswith("test_") and test.__doc__ and test is not test_the_page_is_made_of_these_tests:
            words = name.removeprefix("test_").replace("_", " ")
            rows.append((inspect.getsourcelines(test)[1], f"| {words} | {' '.join(test.__doc__.split())} |"))
    head = "# Features\n\nEach row is a test of that name in `tests/test_features.py`.\n\n"
    return head + "| feature | here |\n|---|---|\n" + "\n".join(text for _, text in sorted(rows)) + "\n"


def test_the_page_is_made_of_these_tests():
    """``docs/features.md`` is up to date."""
    assert PAGE.read_text() == page(), "run: python tests/test_features.py"


if __name__ == "__main__":
    PAGE.write_text(page())
