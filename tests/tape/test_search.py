"""What is kept for the backward pass, read off the plan: numbers, not bytes of a process."""

import inspect
import linecache

import numpy as np
import pytest

import sdgrad
from benchmarks.kernels import load
from sdgrad.autodiff.differentiate import differentiate_program
from sdgrad.autodiff.request import Request
from sdgrad.config import config
from sdgrad.specialize.signature import Signature
from sdgrad.tape.plan import TapePlan

N = 8


def plan_of(function, *args, wrt=None) -> TapePlan:
    """The plan for the gradient of a function's result by some (or all) of its float arguments."""
    names = list(inspect.signature(function).parameters)
    program = Signature.parse(function, dict(zip(names, args, strict=True))).program
    wanted = wrt or tuple(n for n, a in zip(names, args, strict=True) if np.asarray(a).dtype.kind == "f")
    outputs = tuple(n for n in program.arguments if n.startswith("__return"))
    return differentiate_program(program, Request(tuple(wanted), outputs, accumulate=False)).plan


def kernel_plan(name: str) -> TapePlan:
    kernel = load(name)
    args = kernel.inputs(kernel.sizes["small"], np.random.default_rng(0))
    return plan_of(kernel.numpy_version, *args, wrt=kernel.wrt)


def numbers(plan: TapePlan, **symbols: int) -> int:
    """How many floating-point numbers are kept."""
    size = plan.numbers()
    return int(size.subs({s: symbols[s.name.removesuffix("_0")] for s in size.free_symbols}))


def vector(n=N):
    return np.linspace(0.1, 1.0, n)


NO_TAPE = (
    "cholesky", "lu", "ludcmp", "trisolv", "symm", "spmv", "covariance", "go_fast", "azimint_naive",
    "jacobi_1d", "jacobi_2d", "heat_3d", "seidel_2d", "fdtd_2d", "deriche",
)  # fmt: skip


@pytest.mark.parametrize("name", NO_TAPE)
def test_kernels_that_need_no_tape(name):
    assert kernel_plan(name).numbers() == 0


def test_durbin_keeps_the_triangle_of_its_recurrence():
    (n,) = np.atleast_1d(load("durbin").sizes["small"])
    # y of every step (as a rectangle), and alpha and beta before and after each
    assert numbers(kernel_plan("durbin")) <= (n - 1) * (n - 1) + 4 * (n - 1)


def test_gram_schmidt_keeps_the_columns_it_overwrites():
    m, n = load("gramschmidt").sizes["small"]
    assert numbers(kernel_plan("gramschmidt")) <= n * (n - 1) * m


def test_adi_keeps_its_quotients():
    plan = kernel_plan("adi")
    steps, n = load("adi").sizes["small"]
    # the sweeps' coefficients and nothing of the field: four quotients of every inner point and step
    assert numbers(plan, TSTEPS_value=steps) <= 4 * steps * n * n
    assert all(k.of is None or not k.of.startswith("u") for k in plan.all_kept())


def recurrence(A):
    for i in range(1, A.shape[0]):
        A[i] = np.sin(A[i - 1] * A[i])
    return np.sum(A)


def test_a_recurrence_keeps_what_it_overwrites():
    assert numbers(plan_of(recurrence, vector())) <= N


def dot_products(A, W):
    for i in range(A.shape[0]):
        A[i] = np.sin(W[i, :] @ A)
    return np.sum(A)


def test_a_product_with_an_array_that_changes_keeps_one_number_a_trip():
    plan = plan_of(dot_products, vector(), np.ones((N, N)))
    assert numbers(plan) == N
    assert plan.undone == {"A"}


def linear_step(u, steps):
    for _ in range(steps):
        u[1:-1] = 0.5 * u[1:-1] + 0.25 * (u[:-2] + u[2:])
    return np.sum(u * u)


def test_linear_steps_keep_nothing():
    assert plan_of(linear_step, vector(), 5).numbers() == 0


def nonlinear_step(u, steps):
    for _ in range(steps):
        u[1:-1] = u[1:-1] - 0.1 * u[1:-1] * (u[2:] - u[:-2])
    return np.sum(u)


def test_a_nonlinear_step_keeps_the_grid_it_touches():
    assert numbers(plan_of(nonlinear_step, vector(), 5), steps_value=5) == 5 * (N - 2)


def with_a_temporary(u, steps):
    for _ in range(steps):
        old = u.copy()
        flux = old[1:] * old[:-1]
        u[1:-1] = old[1:-1] - 0.1 * (flux[1:] - flux[:-1])
    return np.sum(u)


def test_temporaries_of_a_step_are_computed_again():
    assert numbers(plan_of(with_a_temporary, vector(), 5), steps_value=5) <= 5 * N


def one_value_in_a_nest(A):
    B = A * 2.0
    s = 0.0
    for i in range(N):
        for j in range(N):
            s += np.sin(B[i]) * j
    for i in range(N):
        B[i] = B[i] * s
    return np.sum(B)


def test_a_value_is_kept_once_for_all_trips_that_do_not_change_it():
    assert numbers(plan_of(one_value_in_a_nest, vector())) <= N


def far_away(A):
    s = A[0]
    for i in range(100_000_000, 100_000_003):
        s = np.sin(s) * A[i - 100_000_000]
    return s


def test_trips_are_counted_from_the_first():
    assert numbers(plan_of(far_away, vector())) <= 2 * 3


def deciding(A):
    s = 1.0
    for i in range(N):
        if s * A[i] > 0.3:
            s = s * 0.5 + A[i]
        else:
            s = s + 2.0 * A[i]
    return s


def test_decisions_are_small_integers():
    plan = plan_of(deciding, vector())
    assert plan.numbers() == 0
    (decision,) = plan.decisions.values()
    assert decision.tape.dtype.bytes == 1
    assert decision.tape.shape == (N,)


def growing(A):
    s = A[0] + 1.0
    while s < 100.0:
        s = s * s + A[1]
    return s


def test_a_while_loop_keeps_one_number_a_trip():
    with config.override(without=("checkpoints",)):
        plan = plan_of(growing, vector(2))
    (counter,) = plan.counters.values()
    assert str(plan.numbers()) == counter.total


def test_the_plan_prints():
    assert "keeps" in str(plan_of(recurrence, vector()))
    assert str(plan_of(linear_step, vector(), 5)) == "no tape"


def test_a_change_of_sign_is_undone_without_a_tape():
    def f(x, c):
        b = np.sin(x)
        s = 0.0
        for _ in range(5):
            b[:] = -b
            s += np.sum(c * b * b * b)
        return s

    plan = plan_of(f, vector(), vector())
    assert plan.undone == {"b"} and len(plan.inverses) == 1 and plan.numbers() == 0


def test_exchanged_arrays_are_undone_together():
    def f(x, c):
        a, b, d = np.sin(x), x * x, np.cos(x)
        s = 0.0
        for _ in range(7):
            for j in range(N):
                t = a[j]
                a[j] = b[N - 1 - j]
                b[N - 1 - j] = d[j]
                d[j] = -t
            s += np.sum(a * b * d * d * c)
        return s

    plan = plan_of(f, vector(), vector())
    assert plan.undone == {"a", "b", "d"} and len(plan.inverses) == 1 and plan.numbers() == 0


def test_updates_of_integers_are_undone():
    def f(x, k):
        n = k.copy()
        s = 0.0
        for i in range(4):
            s += np.sum(np.sin(x * n))
            n[:] = 3 - n
            s += np.sum(np.exp(x * n))
            n += 2 * i
        return s

    plan = plan_of(f, vector(), np.arange(N))
    assert plan.undone == {"n"} and not plan.undo and not list(plan.all_kept())


@pytest.mark.parametrize("update", ["b * 0.5", "b + 1.0", "1.0 - b", "b / 4.0", "-b + b[0]"])
def test_updates_that_round_are_not_computed_back(update):
    """A number that overflows, or loses its last bits, is not the one that was there."""
    body = ["b = np.sin(x)", "s = 0.0", "for _ in range(5):", f"    b[:] = {update}", "    s += np.sum(b**3)"]
    source = "\n    ".join(["def f(x):", *body, "return s"])
    space: dict = {"np": np}
    linecache.cache["<update>"] = (len(source), None, source.splitlines(keepends=True), "<update>")
    exec(compile(source, "<update>", "exec"), space)
    plan = plan_of(space["f"], vector())
    assert not plan.inverses and int(plan.numbers()) >= 5 * N


def layers(h, V):
    for t in range(5):
        a = h @ V
        h = np.sin(a) * np.cos(a)
    return np.sum(h)


@pytest.mark.parametrize(("width", "kept"), [(8, False), (48, True)])
def test_long_sums_are_kept_and_short_ones_added_up_again(width, kept):
    rng = np.random.default_rng(0)
    h, V = rng.standard_normal((2, width)), rng.standard_normal((width, width))
    assert bool(plan_of(layers, h, V).reruns) is not kept
    _, gradients = sdgrad.value_and_grad(layers, wrt=("h", "V"))(h, V)
    for k, found in enumerate(gradients):
        move = rng.standard_normal(found.shape)
        moved = [x + 1e-20j * move if i == k else x for i, x in enumerate((h, V))]
        assert np.sum(found * move) == pytest.approx(layers(*moved).imag / 1e-20, rel=1e-9)


def looked_up(x, w, idx):
    y = np.zeros(w.shape[0])
    for i in range(x.shape[0]):
        y[idx[i]] += x[i] * w[idx[i]]
    return np.sum(y * y)


def binned(x, w, idx):
    """Places that are computed first, and not overwritten."""
    at = np.minimum(2 * idx, 3)
    y = np.zeros(w.shape[0])
    for i in range(x.shape[0]):
        y[at[i]] += x[i] * w[at[i]]
    return np.sum(y * y)


def moved_on(x, w, idx):
    """Places that are others in the end."""
    at = np.minimum(2 * idx, 3)
    y = np.zeros(w.shape[0])
    for i in range(x.shape[0]):
        y[at[i]] = 0.5 * y[at[i]] + x[i] * w[at[i]]
        at[i] = 0
    return np.sum(y * y)


def nested_places(x, w, idx):
    y = np.zeros(w.shape[0])
    for i in range(x.shape[0]):
        k = idx[idx[i]]
        y[k] += x[i] * w[k]
    return np.sum(y * y)


@pytest.mark.parametrize(("f", "kept"), [(looked_up, False), (binned, False), (nested_places, False), (moved_on, True)])
def test_places_are_read_again(f, kept):
    rng = np.random.default_rng(4)
    x, w, idx = rng.standard_normal(6), rng.standard_normal(4), np.array([0, 3, 1, 1, 2, 0])
    plan = plan_of(f, x, w, idx)
    assert any(k.name.endswith("_at") for k in plan.tape_containers) == kept
    found = sdgrad.grad(f, wrt=("x", "w"))(x, w, idx)
    for k, (gradient, size) in enumerate(zip(found, (6, 4), strict=True)):
        for j in range(size):
            step = 1e-6 * (np.arange(size) == j)
            ends = [f(*(v + s * step if n == k else v for n, v in enumerate((x, w))), idx.copy()) for s in (1, -1)]
            assert gradient[j] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6, abs=1e-8)
