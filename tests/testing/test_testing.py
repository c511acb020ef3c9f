"""The checks pass right gradients and catch wrong ones."""

import numpy as np
import pytest

from sdgrad.testing import GradientCheckError, check_grads, dot_product_test, taylor_test


def rng():
    return np.random.default_rng(11)


# Functions with their gradients, right ones; the tests spoil them.


def squares(x):
    return np.sum(x * x)


def squares_gradient(args, cotangents):
    return (2 * args[0] * cotangents[0],)


def mixed(x, n, y):
    return np.sin(x) * y**n, np.sum(x) + np.prod(y)


def mixed_gradient(args, cotangents):
    x, n, y = args
    v, w = cotangents
    return v * np.cos(x) * y**n + w, None, v * np.sin(x) * n * y ** (n - 1) + w * np.prod(y) / y


def relu(x):
    return np.maximum(x, 0) + np.abs(x)


def relu_gradient(args, cotangents):
    return (cotangents[0] * ((args[0] > 0) + np.sign(args[0])),)


def power(z):
    """|z|^2 z, which is not analytic."""
    return z * np.conj(z) * z


def power_gradient(args, cotangents):
    (z,), (v,) = args, cotangents
    return (2 * np.abs(z) ** 2 * v + z**2 * np.conj(v),)


CASES = {
    "squares": (squares, lambda r: (r.standard_normal((4, 5)),), squares_gradient),
    "large": (squares, lambda r: (r.standard_normal((40, 50)),), squares_gradient),
    "scalar": (squares, lambda r: (1.5,), squares_gradient),
    "mixed": (mixed, lambda r: (r.random(6), 3, 1 + r.random(6)), mixed_gradient),
    "kinks": (relu, lambda r: (r.standard_normal(50),), relu_gradient),
    "complex": (power, lambda r: (r.standard_normal(5) + 1j * r.standard_normal(5),), power_gradient),
}


def case(name, dtype=None):
    f, args, gradient = CASES[name]
    values = args(rng())
    if dtype is not None:
        values = tuple(v.astype(dtype) if isinstance(v, np.ndarray) else v for v in values)
    return f, values, gradient


def methods(report):
    return {c.method for a in report.arguments for c in a.comparisons}


@pytest.mark.parametrize("name", CASES)
def test_right_gradients_pass(name):
    f, args, gradient = case(name)
    report = check_grads(f, args, gradient=gradient)
    assert report.passed
    assert dot_product_test(f, args, gradient=gradient).error < 1e-9
    assert "ok" in str(report) and "WRONG" not in str(report)


def test_the_reference_is_the_complex_step_where_that_is_right():
    for name, expected in (("mixed", {"complex step"}), ("complex", {"central difference"})):
        f, args, gradient = case(name)
        assert methods(check_grads(f, args, gradient=gradient)) == expected
    # |x| takes complex numbers, and its complex step is zero: differences disagree and win.
    f, args, gradient = case("kinks")
    assert "central difference" in methods(check_grads(f, args, gradient=gradient))


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
def test_low_precision_is_judged_by_its_own_tolerance(dtype):
    f, args, gradient = case("complex" if dtype == "complex64" else "squares", dtype)
    report = check_grads(f, args, gradient=gradient)
    assert report.arguments[0].dtype == dtype
    assert report.passed

    def off_by_a_tenth(args, cotangents):
        return tuple(1.1 * g for g in gradient(args, cotangents))

    with pytest.raises(GradientCheckError, match="wrong"):
        check_grads(f, args, gradient=off_by_a_tenth)


def spoilers():
    def scaled(gs):
        return [g if g is None else 1.00001 * g for g in gs]

    def sign(gs):
        return [g if g is None else -g for g in gs]

    def zeros(gs):
        return [g if g is None else 0 * g for g in gs]

    def one_element(gs):
        gs = [g if g is None else np.array(g) for g in gs]
        gs[0].flat[-1] *= 1.001
        return gs

    def not_a_number(gs):
        gs = [g if g is None else np.array(g) for g in gs]
        gs[0].flat[-1] = np.nan
        return gs

    def conjugate(gs):
        return [g if g is None else np.conj(g) for g in gs]

    return [scaled, sign, zeros, one_element, not_a_number, conjugate]


@pytest.mark.parametrize(
    ("name", "spoil"),
    [(n, s) for n in CASES for s in spoilers() if n == "complex" or s.__name__ != "conjugate"],
)
def test_wrong_gradients_are_caught(name, spoil):
    f, args, gradient = case(name)

    def wrong(args, cotangents):
        return spoil(list(gradient(args, cotangents)))

    if name == "large" and spoil.__name__ == "one_element":
        # One element of 2000, wrong by a thousandth, shows in the random directions.
        with pytest.raises(GradientCheckError, match="random direction"):
            check_grads(f, args, gradient=wrong, rtol=1e-7)
        return
    with pytest.raises(GradientCheckError, match="is wrong at"):
        check_grads(f, args, gradient=wrong)


def test_tiny_gradients_are_judged_by_their_own_size():
    x = rng().standard_normal(5)
    with pytest.raises(GradientCheckError):
        check_grads(lambda x: 1e-12 * np.sum(x * x), (x,), gradient=lambda args, v: (0 * args[0],))
    small_and_large = np.array([1e-6, 1e6])

    def wrong_in_the_small_one(args, cotangents):
        return (2 * args[0] * np.array([2.0, 1.0]),)

    with pytest.raises(GradientCheckError, match=r"wrong at \[0\]"):
        check_grads(squares, (small_and_large,), gradient=wrong_in_the_small_one)


def test_the_error_says_what_where_and_against_what():
    f, args, gradient = case("mixed")

    def wrong(args, cotangents):
        gx, _, gy = gradient(args, cotangents)
        gy[2] += 1.0
        return gx, None, gy

    with pytest.raises(GradientCheckError) as caught:
        check_grads(f, args, gradient=wrong)
    text = str(caught.value)
    assert "the gradient of mixed with respect to 'y' is wrong at [2]" in text
    assert "expected" in text and "found" in text and "reference: complex step" in text
    verdicts = {a.name: a.verdict for a in caught.value.report.arguments}
    assert verdicts == {"x": "ok", "y": "WRONG"}
    (worst,) = (a.worst for a in caught.value.report.arguments if a.name == "y")
    assert worst.found - worst.expected == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("gradient", "message"),
    [
        (lambda args, v: (np.zeros(4),), "the shape"),
        (lambda args, v: (None,), "no gradient came"),
        (lambda args, v: (), "0 gradients came for 1 arguments"),
        (lambda args, v: (2j * args[0],), "is complex"),
    ],
)
def test_gradients_of_a_wrong_form_are_caught(gradient, message):
    with pytest.raises(GradientCheckError, match=message):
        check_grads(squares, (rng().standard_normal(5),), gradient=gradient)


def test_a_function_that_jumps_is_not_judged():
    def steps(x):
        return np.sum(np.sign(x) * np.sqrt(np.abs(x)))

    with pytest.raises(GradientCheckError, match="cannot be judged|is wrong"):
        check_grads(steps, (np.zeros(2),), gradient=lambda args, v: (np.zeros(2),))


def test_arguments_without_a_derivative():
    with pytest.raises(ValueError, match="no argument is a floating-point"):
        check_grads(squares, (np.arange(3),), gradient=squares_gradient)
    with pytest.raises(TypeError, match="output 0 of .* type int64"):
        check_grads(lambda x: np.argmax(x), (np.ones(3),), gradient=squares_gradient)
    with pytest.raises(TypeError, match="returns nothing"):
        check_grads(lambda x: None, (np.ones(3),), gradient=squares_gradient)
    with pytest.raises(ValueError, match="no argument is named 'z'; there are x"):
        check_grads(squares, (np.ones(3),), wrt=("z",), gradient=squares_gradient)
    with pytest.raises(ValueError, match="a mode is"):
        check_grads(squares, (np.ones(3),), modes=("reverse",))


def test_only_what_is_asked_for():
    f, args, gradient = case("mixed")
    report = check_grads(f, args, wrt=("y",), gradient=gradient)
    assert [a.name for a in report.arguments] == ["y"]


def test_arguments_are_left_alone():
    def overwrites(x):
        x *= x
        return np.sum(x)

    x = rng().standard_normal(4)
    before = x.copy()
    check_grads(overwrites, (x,), gradient=squares_gradient)
    np.testing.assert_array_equal(x, before)


# Through sdgrad's own entry points: stand-ins take their place.


def stand_in_vjp(f, *args, **kwargs):
    assert f is squares
    return np.sum(args[0] ** 2), lambda v: (2 * v * args[0],)


def test_the_default_is_reverse_mode(monkeypatch):
    monkeypatch.setattr("sdgrad.testing._checks.vjp", stand_in_vjp)
    assert check_grads(squares, (rng().standard_normal(5),)).passed
    monkeypatch.setattr("sdgrad.testing._checks.vjp", lambda f, x: (squares(x), lambda v: (v * x,)))
    with pytest.raises(GradientCheckError, match="is wrong"):
        check_grads(squares, (rng().standard_normal(5),))


def test_a_wrong_value_is_caught_before_its_gradient(monkeypatch):
    monkeypatch.setattr("sdgrad.testing._checks.vjp", lambda f, x: (1.001 * squares(x), lambda v: (2 * v * x,)))
    with pytest.raises(GradientCheckError, match="output 0 of squares is not what plain Python gives"):
        check_grads(squares, (rng().standard_normal(5),))


def test_forward_mode(monkeypatch):
    x = (rng().standard_normal(5),)
    monkeypatch.setattr("sdgrad.testing._checks.vjp", stand_in_vjp)

    def jvp(f, primals, tangents):
        return squares(*primals), 2 * np.sum(primals[0] * tangents[0])

    monkeypatch.setattr("sdgrad.testing._checks.jvp", jvp)
    assert check_grads(squares, x, modes=("fwd",)).arguments[0].mode == "fwd"
    assert dot_product_test(squares, x).method == "forward mode"
    monkeypatch.setattr("sdgrad.testing._checks.jvp", lambda f, p, t: (squares(*p), np.sum(p[0] * t[0])))
    with pytest.raises(GradientCheckError, match="wrong"):
        check_grads(squares, x, modes=("fwd",))
    with pytest.raises(GradientCheckError, match="forward mode"):
        dot_product_test(squares, x)


@pytest.mark.parametrize("factor", [2.0, 3.0])
def test_second_order(monkeypatch, factor):
    x = rng().standard_normal(5)

    class Gradient:
        def __init__(self, f, wrt):
            self.__name__ = "grad"

        def __call__(self, x):
            return 3 * x**2

    def vjp(f, x):
        if isinstance(f, Gradient):
            return f(x), lambda v: (factor * 3 * x * v,)
        return np.sum(x**3), lambda v: (3 * v * x**2,)

    monkeypatch.setattr("sdgrad.testing._checks.grad", Gradient)
    monkeypatch.setattr("sdgrad.testing._checks.vjp", vjp)

    def cubes(x):
        return np.sum(x**3)

    if factor == 2.0:
        report = check_grads(cubes, (x,), order=2)
        assert [a.order for a in report.arguments] == [1, 2]
    else:
        with pytest.raises(GradientCheckError, match="wrong"):
            check_grads(cubes, (x,), order=2)


def nonlinear(x, A):
    for i in range(1, 4):
        x[i] = x[i] * np.sin(x[i - 1])
    return np.sum(np.tanh(A @ x))


def test_both_modes_and_orders():
    """Nothing stands in: four checks for each argument."""
    args = (np.array([0.3, 0.4, 0.5, 0.6]), rng().standard_normal((3, 4)))
    report = check_grads(nonlinear, args, order=2, modes=("rev", "fwd"))
    assert [(a.name, a.mode, a.order) for a in report.arguments] == [
        (name, mode, order) for order in (1, 2) for mode in ("rev", "fwd") for name in ("x", "A")
    ]


# Taylor


@pytest.mark.parametrize("name", ["squares", "mixed", "complex", "large"])
def test_taylor_measures_order_two(name):
    f, args, gradient = case(name)
    assert taylor_test(f, args, gradient=gradient).order == pytest.approx(2.0, abs=0.1)

    def wrong(args, cotangents):
        return [g if g is None else 1.01 * g for g in gradient(args, cotangents)]

    with pytest.raises(GradientCheckError, match="shrinks with the power") as caught:
        taylor_test(f, args, gradient=wrong)
    assert caught.value.report.order < 1.4


def test_taylor_of_a_linear_function():
    x = rng().standard_normal(9)
    assert taylor_test(lambda x: np.sum(3 * x), (x,), gradient=lambda args, v: (3 * np.ones(9),)).order == np.inf
    with pytest.raises(GradientCheckError):
        taylor_test(lambda x: np.sum(3 * x), (x,), gradient=lambda args, v: (3.01 * np.ones(9),))


def test_the_dot_product_test_catches_a_wrong_gradient():
    f, args, gradient = case("mixed")

    def wrong(args, cotangents):
        gx, _, gy = gradient(args, cotangents)
        return gx, None, 1.0001 * gy

    with pytest.raises(GradientCheckError, match=r"<v, J u> = .* by complex step"):
        dot_product_test(f, args, gradient=wrong)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_engine_itself(dtype):
    def two_results(x, w):
        y = np.tanh(x @ w)
        return y, np.sum(y * y)

    r = rng()
    args = r.standard_normal((4, 5)).astype(dtype), r.standard_normal((5, 3)).astype(dtype)
    report = check_grads(two_results, args)
    assert [(a.name, a.dtype) for a in report.arguments] == [("x", dtype), ("w", dtype)]
    assert dot_product_test(two_results, args).error < (1e-4 if dtype == "float32" else 1e-10)
