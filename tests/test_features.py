"""Test each promised feature once, under its name. ``docs/features.md`` lists these names and docstrings.

``python tests/test_features.py`` writes the page, and the last test compares it. References are differences
(``check_grads``), closed forms, or a second way to compute the same number.
"""

import inspect
import sys
from pathlib import Path

import dace
import numpy as np
import pytest
import scipy.sparse

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
    """Compare the gradient by every floating-point argument with differences."""
    check_grads(f, arguments, order=1)


# Programs accepted


def test_in_place_overwrite_of_values_still_needed():
    """The adjoint still gets overwritten values: from the tape or another source. The user rewrites nothing by hand."""

    def f(x):
        y = x * x
        z = np.sin(y)
        y[1:] = y[:-1] * z[1:]
        return np.sum(y * z)

    right(f, X)


def test_for_loops():
    """Loops run over ranges. Arguments can be bounds."""

    def f(x, n):
        s = 0.0
        for i in range(n):
            s = s * x[i] + np.sin(x[i])
        return s

    right(f, X, 4)


def test_strided_and_negative_steps():
    """Steps have any sign and size. A range may be empty."""

    def f(x):
        for i in range(3, -1, -2):
            x[i] = x[i] * x[i - 1]
        for i in range(0, 0, 3):
            x[i] = 0.0
        return np.sum(x)

    right(f, X)


def test_trip_count_known_only_at_run_time():
    """The bounds of a loop can depend on data."""

    def f(x, idx):
        for i in range(idx[0] + 1):
            x[i] = np.exp(x[i]) * x[3]
        return np.sum(x)

    right(f, X, I)


def test_while_loops():
    """The user gives no bound on the number of iterations."""

    def f(x):
        while np.sum(x) < 20.0:
            x = x * (1.0 + x)
        return np.sum(x * x)

    right(f, X)


def test_break_continue_early_return():
    """A jump can end an iteration, a loop or the function."""

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
    """An ``if`` can read data. The program may overwrite this data later."""

    def f(x):
        if np.sum(x) > 1.0:
            x = x * x
        else:
            x = x * 3.0
        return np.sum(np.sin(x))

    right(f, X)


def test_data_dependent_branch_in_a_loop():
    """The adjoint of each iteration takes the branch of that iteration."""

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
    """Indices come from arrays, and may repeat."""

    def f(x, idx):
        y = np.zeros(4)
        for i in range(4):
            y[idx[i]] += x[i] * x[idx[i]]
        return np.sum(y * y) + np.sum(x[idx] ** 3)

    right(f, X, I)


def test_same_array_read_twice_in_one_map():
    """Each use of the array adds a contribution to its gradient."""

    def f(x):
        return np.sum(x * x)

    assert np.allclose(sdgrad.grad(f)(X), 2 * X)


def squares(x):
    return x * x


@dace.program
def doubled(x: dace.float64[4]):
    return 2.0 * x


def test_nested_programs():
    """A function can call functions and ``@dace.program``s."""

    def f(x):
        return np.sum(squares(doubled(x)) * x)

    right(f, X)


def test_views_and_aliasing():
    """Slices, transposes, diagonals and reshapes of whole arrays are views: a write to one changes the array."""

    def f(a):
        b = a.reshape(16)
        b[3] = b[2] * b[5]
        return np.sum(a.T @ a)

    right(f, A)


# What is kept for the backward pass


def test_store_or_recompute_by_hand():
    """``tapes=`` chooses the values on the tape: all, none, or the named variables. The default keeps the least."""

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
    """The backward pass restores an overwritten array if this takes less tape than the values read from it."""

    def f(x):
        h = x * 1.0
        for _ in range(5):
            h[1:] = np.sin(h[1:]) * h[:-1]
        return np.sum(h)

    assert any(v.how == "put back" for s in sdgrad.explain(f, X).statements for v in s.values)


def test_checkpointing_of_loops():
    """A loop with a long tape keeps checkpoints. The backward pass runs some trips again, as few as it must."""

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


def test_programs_of_several_ranks():
    """mpi4py's messages, broadcasts, reductions and exchanges have adjoints, in functions and in graphs."""
    from tests.distributed.ranks import run

    for errors in run("tests.distributed.cases", 2, "overlap", "sums").values():
        assert errors["modes"] < 1e-13 and errors["differences"] < 1e-7


def test_checkpoints_by_hand():
    """``checkpoint(f)`` keeps the arguments of a call, and computes the rest again. A policy keeps more."""

    def block(x, w):
        return np.tanh(np.sin(x) @ w)

    x, w = np.linspace(0, 1, 9).reshape(3, 3), np.eye(3)
    again = sdgrad.checkpoint(block)
    wanted, found = (
        sdgrad.grad(lambda x: np.sum(block(block(x, w), w))),
        sdgrad.grad(lambda x: np.sum(again(again(x, w), w))),
    )
    np.testing.assert_allclose(found(x), wanted(x), rtol=1e-13)


def test_a_limit_of_memory_in_bytes():
    """A call takes no more memory than you allow, by the fastest plan. A limit that cannot be met is refused."""

    def steps(x):
        y = np.copy(x)
        for _ in range(300):
            y[:] = np.sin(y) + 0.1 * y
        return np.sum(y * y)

    x = np.linspace(0.2, 0.8, 500)
    assert np.array_equal(sdgrad.grad(steps, memory_limit="10%")(x), sdgrad.grad(steps)(x))
    with pytest.raises(sdgrad.errors.MemoryLimitError) as error:
        sdgrad.grad(steps, memory_limit=1000)(x)
    assert error.value.least > 1000


def test_user_can_read_which_values_are_kept_and_why():
    """``explain`` lists the values by source line, with bytes. It can write the list as an HTML page."""

    def f(x):
        for _ in range(3):
            x = np.sin(x) * x
        return np.sum(x)

    explanation = sdgrad.explain(f, X)
    assert explanation.bytes_kept == sum(v.size for v in explanation.tape) > 0
    assert any("np.sin(x) * x" in s.line for s in explanation.statements)


def test_tape_passed_explicitly():
    """The forward function returns outputs and tape. The backward function takes the tape."""

    def f(x):
        return np.sum(np.exp(x) * x)

    forward, backward = sdgrad.grad(f, requires=["x"])
    value, tape = forward(X)
    assert np.isclose(value, f(X)) and np.allclose(backward(tape)["x"], np.exp(X) * (1 + X))


# User control of derivatives


def test_own_rule_for_an_operator():
    """``register_backward`` adds a rule for nodes of graphs, ``register_scalar_rule`` one for scalar functions."""
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
    """``custom_vjp`` takes a rule for reverse mode, ``custom_jvp`` one for forward mode."""

    def f(x):
        return np.sum(cube(x))

    right(f, X)


def region_vjp(t, i, grad_x, grad_y):
    grad_x[i] += np.cos(t) * grad_y[i]


def test_own_rule_for_a_region_of_statements():
    """``custom_region`` takes the adjoint of a group of statements. This adjoint works in place."""

    def f(x):
        y = np.zeros(4)
        for i in range(4):
            with sdgrad.custom_region(region_vjp):
                t = x[i]
                y[i] = np.sin(t)
        return np.sum(y * y)

    right(f, X)


def test_versioned_forward_values_in_own_rule():
    """In a loop, a rule gets the values of the iteration that it reverses."""

    def f(x):
        for _ in range(3):
            x = cube(x) * 0.5
        return np.sum(x)

    right(f, X)


def test_own_rule_valid_in_both_modes():
    """The transpose of a reverse rule serves forward mode. The transpose of a forward rule serves reverse mode."""

    def f(x):
        return np.sum(cube(x) * x)

    _, tangent = sdgrad.jvp(f, (X,), (Y,))
    assert np.isclose(tangent, np.sum(sdgrad.grad(f)(X) * Y))


def test_detach():
    """``stop_gradient`` stops derivatives in functions, ``stop=`` in graphs."""

    def f(x):
        return np.sum(sdgrad.stop_gradient(x * x) * x)

    assert np.allclose(sdgrad.grad(f)(X), X * X)


def test_python_called_at_run_time():
    """``pure_callback`` calls Python from compiled code, with a derivative of the user's."""

    table = sdgrad.pure_callback(lambda x: np.interp(x, Y, Y**2), X, vjp=lambda g, x: g * np.interp(x, Y, 2 * Y))
    assert np.allclose(sdgrad.grad(lambda x: np.sum(table(x)))(X), np.interp(X, Y, 2 * Y))


def test_results_compared_with_numpy():
    """The first call compares values with NumPy's, and names the statement that differs (``config.verify``)."""

    with sdgrad.config.override(verify="always"), pytest.raises(sdgrad.errors.VerificationError):
        sdgrad.compile_forward(lambda a: abs(a**0.5))(-2.0)  # Python's power is complex there
    with pytest.raises(ZeroDivisionError):
        sdgrad.compile_forward(lambda a: 1.0 / a)(0.0)


# Modes and derived quantities


def test_forward_mode():
    """``jvp`` and ``add_forward_tangent`` need no tape."""

    def f(x):
        return np.sin(x) * x[0]

    _, tangent = sdgrad.jvp(f, (X,), (Y,))
    assert np.allclose(tangent, np.cos(X) * Y * X[0] + np.sin(X) * Y[0])


def power(x):
    return np.sum(x**5)


def test_higher_order():
    """Every derivative is a function. It can be differentiated again."""

    assert np.allclose(sdgrad.jacobian(sdgrad.grad(power))(X), np.diag(20 * X**3))
    third = sdgrad.jacobian(sdgrad.hessian(power))(X)
    assert np.allclose(third[range(4), range(4), range(4)], 60 * X**2) and np.count_nonzero(third) == 4


def test_hessian_vector_product():
    """``hvp`` applies forward mode to reverse mode."""
    assert np.allclose(sdgrad.hvp(power, (X,), (Y,)), 20 * X**3 * Y)


def test_solutions_of_equations():
    """``root``, ``fixed_point``, ``minimize``, ``linear_solve`` and SciPy's differentiate equations, not searches."""
    right(lambda a: sdgrad.root(lambda x: x**3 + x - a, 1.0), 2.0)
    assert sdgrad.grad(lambda a: sdgrad.fixed_point(lambda x: 0.5 * np.cos(a * x), 1.0))(0.8) < 0


def test_initial_value_problems():
    """``solve_ivp`` has explicit, implicit and multistep methods, events, dense output, two adjoints."""
    found = sdgrad.grad(lambda k: sdgrad.solve_ivp(lambda t, y: -k * y, (0.0, 1.0), X, rtol=1e-10, atol=1e-12).y[0, -1])
    assert found(0.7) == pytest.approx(-X[0] * np.exp(-0.7), rel=1e-8)


def test_sparse_matrices():
    """Matrices of ``scipy.sparse`` are arguments and made inside; products and solves differentiate by entries."""
    K = scipy.sparse.csr_array(np.diag(Y) + np.diag([0.3, 0.2, 0.1], 1))
    found = sdgrad.grad(lambda K, x: np.sum((K @ x) ** 2), wrt="K")(K, X)
    np.testing.assert_allclose(found.toarray(), np.outer(2 * (K @ X), X) * (K.toarray() != 0), rtol=1e-13)


def test_dense_jacobian():
    """``jacobian`` chooses forward or reverse mode by the shapes. One call computes all directions, many at once."""

    def f(x):
        return np.sin(x[:2]) * x[2:]

    want = np.hstack([np.diag(np.cos(X[:2]) * X[2:]), np.diag(np.sin(X[:2]))])
    assert np.allclose(sdgrad.jacobian(f)(X), want)


def test_sparse_jacobian_and_hessian():
    """``sparse_jacobian`` and ``sparse_hessian`` read the pattern from the program, and colour the columns."""

    def f(x):
        return x[1:] * x[:-1]

    found = sdgrad.sparse_jacobian(f)(X)
    assert found.nnz == 6 and np.allclose(found.toarray(), sdgrad.jacobian(f)(X))


def test_linearize_once_apply_many():
    """``linearize`` computes the function once for any number of tangents."""

    def f(x):
        return np.sin(x) * x

    _, push = sdgrad.linearize(f, X)
    for v in (X, Y):
        assert np.allclose(push(v), (np.cos(X) * X + np.sin(X)) * v)


def test_batching():
    """``vmap`` maps a function over a leading axis. ``jvp(.., batched=True)`` takes many tangents in one call."""
    assert np.allclose(sdgrad.vmap(sdgrad.grad(power))(A), 5 * A**4)


def test_several_outputs_with_seeds():
    """The pullback of ``vjp`` takes one cotangent for each output."""

    def f(x):
        return np.sum(x * x), np.sin(x)

    _, pullback = sdgrad.vjp(f, X)
    assert np.allclose(pullback(2.0, Y)[0], 4 * X + np.cos(X) * Y)


# Calling conventions


def test_value_and_gradient_in_one_call():
    """``value_and_grad`` computes both with one compiled program."""
    value, gradient = sdgrad.value_and_grad(power)(X)
    assert np.isclose(value, power(X)) and np.allclose(gradient, 5 * X**4)


def test_attached_backward():
    """``attach_backward=True`` adds ``g.backward`` to the function ``g``, and maps from names to gradient names."""
    g = sdgrad.grad(power, requires=["x"], attach_backward=True)
    g(X)
    assert np.allclose(g.backward()["x"], 5 * X**4) and g.input_name_to_gradient_name == {"x": "grad_x"}


def in_place(x):
    x[:] = np.sin(x)
    return np.sum(x)


def test_in_place_and_out_of_place():
    """A call leaves its arguments unchanged. With ``inplace=True`` it writes them."""
    x = X.copy()
    sdgrad.grad(in_place)(x)
    assert np.array_equal(x, X)
    sdgrad.grad(in_place, inplace=True)(x)
    assert np.allclose(x, np.sin(X))


def test_accumulation():
    """Gradients of graphs accumulate. For functions, ``backward(tape, into=..)`` adds, and ``zero_grad`` clears."""
    forward, backward = sdgrad.grad(power, requires=["x"])
    into = np.ones(4)
    backward(forward(X)[1], into={"x": into})
    assert np.allclose(into, 1 + 5 * X**4)
    sdgrad.zero_grad(into)
    assert not into.any()


def ignores(x, y):
    return np.sum(x)


def test_unused_input():
    """The gradient of an unused input is zero, None or an error: ``unused="zero"``, ``"none"`` or ``"error"``."""
    assert np.array_equal(sdgrad.grad(ignores, 1)(X, Y), np.zeros(4))
    assert sdgrad.grad(ignores, 1, unused="none")(X, Y) is None
    with pytest.raises(sdgrad.errors.UnusedInputError):
        sdgrad.grad(ignores, 1, unused="error")(X, Y)


# Numerics


def test_complex_numbers():
    """The gradient is the direction of steepest ascent, as in PyTorch."""

    def f(z):
        return np.sum(np.real(z * np.conj(z)))

    z = X + 1j * Y
    assert np.allclose(sdgrad.grad(f)(z), 2 * z)


def test_low_precision():
    """Cotangents and sums of ``float16`` values have the type ``float32``."""

    def f(x):
        return np.sum(x * x)

    found = sdgrad.grad(f)(X.astype(np.float16))
    assert found.dtype == np.float16 and np.allclose(found, 2 * X, atol=1e-2)


def test_integer_inputs():
    """A gradient by an integer argument is an error. The error names the argument."""
    with pytest.raises(sdgrad.errors.ArgumentError, match="argument 'x' is int64"):
        sdgrad.grad(power)(I)


def test_the_branch_not_taken():
    """This branch contributes nothing, even if its derivative is infinite."""

    def f(x):
        return np.sum(np.where(x > 0.0, np.sqrt(x), 0.0))

    assert np.array_equal(sdgrad.grad(f)(np.array([0.0, 4.0])), [0.0, 0.25])


def test_ties():
    """Equal extremes share the cotangent equally."""

    def f(x):
        return np.max(x)

    assert np.array_equal(sdgrad.grad(f)(np.array([1.0, 3.0, 3.0])), [0.0, 0.5, 0.5])


def test_deterministic_accumulation():
    """Sums use no atomics. Every call returns the same bits."""

    def f(a, idx):
        y = np.zeros(4)
        for i in range(4):
            y[idx[i]] += np.sum(a[i] * a[idx[i]])
        return np.sum(y * y)

    assert np.array_equal(sdgrad.grad(f)(A, I), sdgrad.grad(f)(A, I))


# Tools


def test_gradient_checker():
    """``sdgrad.testing`` compares both modes with differences, to second order. It finds wrong gradients."""
    check_grads(power, (X,), order=2)


def test_misuse_of_a_tape_is_found():
    """Checked mode finds arrays that change between a forward call and its backward call."""
    x = X.copy()
    with sdgrad.config.override(checked=True):
        forward, backward = sdgrad.grad(power, requires=["x"])
        _, tape = forward(x)
        x[0] = 0.0
        with pytest.raises(sdgrad.errors.TapeError):
            backward(tape)


def test_refusals_name_every_problem():
    """One error names all problems, each with source line and hint. The program stays unchanged."""
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
    """``compile_gradient`` compiles a program. ``save`` and ``load`` use files. ``export_c`` writes a C library."""
    path = sdgrad.compile_gradient(power, X).save(tmp_path / "power")
    assert np.allclose(sdgrad.load(path)(X)[1], 5 * X**4)


def test_functions_of_tensors():
    """``sdgrad.torch.function`` makes a function a part of torch's graph, with derivatives of any order."""
    import torch

    import sdgrad.torch

    t = torch.tensor(X, requires_grad=True)
    sdgrad.torch.function(power)(t).backward()
    assert np.allclose(t.grad, 5 * X**4)


def test_random_numbers_with_keys():
    """``sdgrad.random`` draws the same numbers in programs as outside, with derivatives by parameters."""

    def mean(a, key):
        key, sub = sdgrad.random.split(key)
        return np.mean(sdgrad.random.gamma(key, a, (20_000,)) * np.exp(a * sdgrad.random.normal(sub)))

    key = sdgrad.random.key(5)
    value, slope = sdgrad.value_and_grad(mean)(2.0, key)
    z = sdgrad.random.normal(sdgrad.random.split(key)[1])
    assert np.isclose(value, mean(2.0, key))
    assert np.isclose(slope, np.exp(2.0 * z) * (1 + 2.0 * z), rtol=0.03)


def test_command_line(capsys):
    """``sdgrad`` shows what it does, looks at an installation, checks, explains and measures gradients, and cleans."""
    from sdgrad import cli

    assert cli.main(["--help"]) == 0 and "doctor" in capsys.readouterr().out
    assert cli.main(["cache", "size", "--json"]) == 0 and "bytes" in capsys.readouterr().out


def test_threads():
    """Several threads may call a compiled gradient at the same time."""
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
    return head + "| feature | behaviour |\n|---|---|\n" + "\n".join(text for _, text in sorted(rows)) + "\n"


def test_the_page_is_made_of_these_tests():
    """Check that ``docs/features.md`` is up to date."""
    assert PAGE.read_text() == page(), "run: python tests/test_features.py"


if __name__ == "__main__":
    PAGE.write_text(page())
