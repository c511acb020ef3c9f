"""Derivatives given by the user: for functions and regions, in both modes, with values of the right trip.

Most rules here are the right derivative times two, so that a result shows whether the rule was used.
"""

import dace
import numpy as np
import pytest
from references import assert_close

import sdgrad
from sdgrad.errors import DifferentiationError, NameNotFound, ParseError

RNG = np.random.default_rng(3)
X, W = RNG.standard_normal((4, 5)), RNG.standard_normal(5)


# FreeTensor's three programs: automatic, custom, and custom inside a loop over rows ------------------------------


def softmax(x):
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


@sdgrad.custom_vjp
def doubled_softmax(x):
    e = np.exp(x - np.max(x))
    s = np.sum(e)
    y = e / s
    return y


@doubled_softmax.defvjp
def doubled_softmax_vjp(e, s, grad_y):
    """From two locals of the function."""
    return 2.0 * (e * grad_y / s - e * np.sum(e * grad_y) / (s * s))


def automatic(x, w):
    return np.sum(softmax(x) * w)


def custom(x, w):
    return np.sum(doubled_softmax(x) * w)


def row_vjp(y, i, grad_x, grad_y):
    grad_x[i] += 2.0 * y[i] * (grad_y[i] - np.sum(y[i] * grad_y[i]))


def rows(x, w):
    y = np.zeros_like(x)
    for i in range(x.shape[0]):
        with sdgrad.custom_region(row_vjp):
            e = np.exp(x[i] - np.max(x[i]))
            y[i, :] = e / np.sum(e)
    return np.sum(y * y * w)


def softmax_gradient(x, cotangent):
    y = softmax(x)
    return y * (cotangent - np.sum(y * cotangent))


def rows_gradient(x, w):
    return np.stack([softmax_gradient(r, 2 * softmax(r) * w) for r in x])


@pytest.mark.parametrize("f, factor", [(automatic, 1), (custom, 2)])
def test_softmax_of_a_vector(f, factor):
    gradient = sdgrad.grad(f)(X[0], W)
    assert_close(gradient, factor * softmax_gradient(X[0], W), 1e-12, f.__name__)


def test_region_in_a_loop_over_rows():
    assert_close(sdgrad.grad(rows)(X, W), 2 * rows_gradient(X, W), 1e-12, "rows")


@pytest.mark.parametrize(
    "f, argument, gradient", [(custom, X[0], softmax_gradient(X[0], W)), (rows, X, rows_gradient(X, W))]
)
def test_a_reverse_rule_serves_forward_mode(f, argument, gradient):
    direction = RNG.standard_normal(argument.shape)
    _, tangent = sdgrad.jvp(f, (argument, W), (direction, None))
    assert_close(tangent, 2 * np.sum(gradient * direction), 1e-12, f.__name__)


# Values of the right trip ----------------------------------------------------------------------------------------


@sdgrad.custom_vjp
def square(x):
    return x * x


@square.defvjp
def square_vjp(x, grad_out):
    return 4.0 * x * grad_out


def repeated(x, n):
    for _ in range(n):
        x = square(x) * 0.5
    return np.sum(x)


def overwriting(x, n):
    for i in range(n):
        x[1:] = square(x[:-1]) + x[1:]
    return np.sum(x)


def until(x):
    while np.sum(x) > 0.01:
        x = square(x) * 0.5
    return np.sum(x)


def by_hand(x, n, first):
    """The gradient of ``repeated`` with the factor of two, trip by trip."""
    values = [x]
    for _ in range(n):
        values.append(values[-1] ** 2 * 0.5)
    g = first
    for v in reversed(values[:-1]):
        g = 4.0 * v * 0.5 * g
    return g


def test_values_of_every_trip():
    x = np.array([0.9, 1.2, 1.5])
    assert_close(sdgrad.grad(repeated)(x, 4), by_hand(x, 4, np.ones(3)), 1e-12, "repeated")


def test_values_of_a_while_loop():
    x, trips, v = np.array([0.9, 0.7]), 0, np.array([0.9, 0.7])
    while np.sum(v) > 0.01:
        v, trips = v * v * 0.5, trips + 1
    assert trips > 2
    assert_close(sdgrad.grad(until)(x), by_hand(x, trips, np.ones(2)), 1e-12, "until")


def test_values_of_an_array_that_is_overwritten():
    x, n = np.array([0.9, 0.2, -0.5, 0.4]), 3
    values = [x]
    for _ in range(n):
        v = values[-1].copy()
        v[1:] = v[:-1] ** 2 + v[1:]
        values.append(v)
    g = np.ones(4)
    for v in reversed(values[:-1]):
        before = g.copy()
        before[:-1] += 4 * v[:-1] * g[1:]
        g = before
    assert_close(sdgrad.grad(overwriting)(x, n), g, 1e-12, "overwriting")


def update_vjp(y, t, grad_y):
    """``y = sin(y)`` in place: the region keeps the argument in ``t``."""
    grad_y[:] = 2.0 * np.cos(t) * grad_y


def in_place(x, n):
    y = x * 1.0
    for i in range(n):
        with sdgrad.custom_region(update_vjp):
            t = y * 1.0
            y[:] = np.sin(t)
    return np.sum(y)


def test_region_that_updates_in_place():
    v, g = X[0], np.ones(5)
    for _ in range(3):
        g, v = 2 * np.cos(v) * g, np.sin(v)
    assert_close(sdgrad.grad(in_place)(X[0], 3), g, 1e-12, "in place")
    direction = RNG.standard_normal(5)
    _, tangent = sdgrad.jvp(in_place, (X[0], 3), (direction, None))
    assert_close(tangent, np.sum(g * direction), 1e-12, "tangent")


def with_rule(rule):
    """One text, several functions."""

    def squares_in_a_loop(x):
        y = np.zeros_like(x)
        for i in range(x.shape[0]):
            with sdgrad.custom_region(rule):
                y[i] = x[i] * x[i]
        return np.sum(y)

    return squares_in_a_loop


def one_vjp(i, grad_x, grad_y):
    grad_x[i] += grad_y[i]


def ten_vjp(i, grad_x, grad_y):
    grad_x[i] += 10.0 * grad_y[i]


def test_the_same_text_with_another_rule():
    for rule, factor in ((one_vjp, 1.0), (ten_vjp, 10.0)):
        assert_close(sdgrad.grad(with_rule(rule))(W), np.full(5, factor), 1e-14, rule.__name__)


def test_a_region_keeps_only_what_its_rule_reads():
    """One row of ``y`` in a trip, which is not overwritten later: no tape at all."""
    from sdgrad.autodiff.differentiate import differentiate_program
    from sdgrad.autodiff.request import Request
    from sdgrad.specialize.signature import Signature

    program = Signature.of(rows, {"x": X, "w": W}).program
    plan = differentiate_program(program, Request(("x",), program.arguments[-1:], accumulate=False)).plan
    assert plan.numbers() == 0, plan


# Tangent rules ---------------------------------------------------------------------------------------------------


@sdgrad.custom_jvp
def scaled(x, factor):
    return np.sin(x) * factor, x * factor


@scaled.defjvp
def scaled_jvp(x, factor, tangent_x, tangent_factor):
    first = 2.0 * (np.cos(x) * factor * tangent_x + np.sin(x) * tangent_factor)
    return first, 3.0 * (factor * tangent_x + x * tangent_factor)


def uses_both(x, factor):
    a, b = scaled(x, factor)
    return np.sum(a) + np.sum(b)


def test_a_tangent_rule_in_both_modes():
    x, factor = X[0], 1.5
    gx, gf = 2 * np.cos(x) * factor + 3 * factor, np.sum(2 * np.sin(x) + 3 * x)
    gradients = sdgrad.grad(uses_both, wrt=(0, 1))(x, factor)
    assert_close(gradients[0], gx, 1e-12, "x")
    assert_close(gradients[1], gf, 1e-12, "factor")
    direction = RNG.standard_normal(5)
    _, tangent = sdgrad.jvp(uses_both, (x, factor), (direction, 0.5))
    assert_close(tangent, np.sum(gx * direction) + 0.5 * gf, 1e-12, "tangent")
    _, alone = sdgrad.jvp(uses_both, (x, factor), (None, 0.5))
    assert_close(alone, 0.5 * gf, 1e-12, "tangent of one argument")


def step_jvp(y, i, tangent_x, tangent_y):
    tangent_y[i] = 2.0 * y[i] * tangent_x[i]


def exponentials(x):
    y = np.zeros_like(x)
    for i in range(x.shape[0]):
        with sdgrad.custom_region(jvp=step_jvp):
            y[i] = np.exp(x[i])
    return np.sum(y * y)


def test_a_tangent_rule_of_a_region_in_both_modes():
    want = 2 * np.exp(X[0]) * 2 * np.exp(X[0])
    assert_close(sdgrad.grad(exponentials)(X[0]), want, 1e-12, "gradient")
    direction = RNG.standard_normal(5)
    _, tangent = sdgrad.jvp(exponentials, (X[0],), (direction,))
    assert_close(tangent, np.sum(want * direction), 1e-12, "tangent")


@sdgrad.custom_vjp
@sdgrad.custom_jvp
def both_rules(x):
    return x * x


both_rules.defvjp(square_vjp)


@both_rules.defjvp
def both_rules_jvp(x, tangent_x):
    return 6.0 * x * tangent_x


def uses_both_rules(x):
    return np.sum(both_rules(x))


def test_each_mode_uses_its_own_rule():
    assert_close(sdgrad.grad(uses_both_rules)(W), 4 * W, 1e-12, "reverse")
    _, tangent = sdgrad.jvp(uses_both_rules, (W,), (np.ones(5),))
    assert_close(tangent, np.sum(6 * W), 1e-12, "forward")


# Where they may stand --------------------------------------------------------------------------------------------


def of_rows_and_columns(a):
    s = 0.0
    for i in range(a.shape[0]):
        s += np.sum(square(a[i])) + np.sum(square(a[:, i])) + np.sum(square(a[i, ::2]))
    return s


def test_operands_that_are_parts_of_arrays():
    a = RNG.standard_normal((4, 4))
    want = 8 * a
    want[:, ::2] += 4 * a[:, ::2]
    assert_close(sdgrad.grad(of_rows_and_columns)(a), want, 1e-12, "parts")


@dace.program
@sdgrad.custom_vjp
def as_program(x: dace.float64[5]):
    return np.tanh(x)


@as_program.f.defvjp
def as_program_vjp(x, grad_out):
    return 2.0 * (1.0 - np.tanh(x) ** 2) * grad_out


def calls_a_program(x):
    return np.sum(as_program(x * 2.0))


def test_of_a_dace_program():
    want = 4 * (1 - np.tanh(2 * X[0]) ** 2)
    assert_close(sdgrad.grad(calls_a_program)(X[0]), want, 1e-12, "program")


def test_of_the_function_itself():
    values, pullback = sdgrad.vjp(doubled_softmax, X[0])
    assert_close(values, softmax(X[0]), 1e-14, "value")
    assert_close(pullback(W)[0], 2 * softmax_gradient(X[0], W), 1e-12, "gradient")


def nested(x):
    return np.sum(square(square(x)))


@sdgrad.custom_vjp
def outer(x):
    y = square(x) + x
    return y


@outer.defvjp
def outer_vjp(y, grad_y):
    return 10.0 * grad_y * y


def calls_outer(x):
    return np.sum(outer(x))


def test_rules_in_rules():
    assert_close(sdgrad.grad(nested)(W), 4 * W * 4 * W**2, 1e-12, "nested")
    assert_close(sdgrad.grad(calls_outer)(W), 10 * (W * W + W), 1e-12, "outer rule hides the inner one")


def in_a_branch(x, flag):
    if flag > 0:
        y = square(x)
    else:
        y = x * 3.0
    return np.sum(y)


@pytest.mark.parametrize("flag, want", [(1, 4 * W), (-1, np.full(5, 3.0))])
def test_in_a_branch(flag, want):
    assert_close(sdgrad.grad(in_a_branch)(W, flag), want, 1e-12, "branch")


def in_a_map(x: dace.float64[4, 5]):
    y = np.zeros_like(x)
    for i in dace.map[0:4]:
        y[i, :] = square(x[i, :])
    return np.sum(y)


def test_in_a_map():
    assert_close(sdgrad.grad(in_a_map)(X), 4 * X, 1e-12, "map")


# Higher orders ---------------------------------------------------------------------------------------------------


def sum_of_squares(x):
    return np.sum(square(x) * x)


def test_second_derivatives_are_those_of_the_rule():
    """``f = x^3`` with ``f' = 4 x * x + x^2``: the rule is differentiated, and the square's own rule applies again."""
    v = RNG.standard_normal(5)
    got = sdgrad.hvp(sum_of_squares, (W,), (v,))
    assert_close(got, (8 * W + 4 * W) * v, 1e-12, "hvp")
    assert_close(sdgrad.hessian(sum_of_squares)(W), np.diag(12 * W), 1e-12, "hessian")


# What is refused -------------------------------------------------------------------------------------------------


@sdgrad.custom_vjp
def misspelled(x):
    return x * 2.0


@misspelled.defvjp
def misspelled_vjp(z, grad_out):
    return z * grad_out


@sdgrad.custom_vjp
def too_many(x):
    return x * 2.0


@too_many.defvjp
def too_many_vjp(grad_out):
    return grad_out, grad_out


@sdgrad.custom_jvp
def not_linear(x):
    return x * 2.0


@not_linear.defjvp
def not_linear_jvp(tangent_x):
    return tangent_x * tangent_x


@sdgrad.custom_vjp
def in_its_argument(x):
    x[0] = 1.0
    return x * 2.0


@in_its_argument.defvjp
def in_its_argument_vjp(grad_out):
    return grad_out


@sdgrad.custom_vjp
def another_shape(x):
    return x * 2.0


@another_shape.defvjp
def another_shape_vjp(grad_out):
    return grad_out[1:]


@sdgrad.custom_jvp
def total_sine(x):
    return np.sum(np.sin(x))


@total_sine.defjvp
def total_sine_jvp(x, tangent_x):
    return np.cos(x) * tangent_x


def squared_vjp(x, grad_x, grad_p):
    grad_x += 2.0 * x * grad_p


def replaced(x):
    p = np.sin(x)
    with sdgrad.custom_region(squared_vjp):
        p[:] = x * x
    return p


@sdgrad.custom_vjp
def summed_up(x):
    y = x * 2.0
    return y


@summed_up.defvjp
def summed_up_vjp(grad_y):
    return np.sum(grad_y)


@sdgrad.custom_vjp
def straight(x, y):
    return x + np.floor(y)


@straight.defvjp
def straight_vjp(grad_out):
    return grad_out, 0.0  # a zero stands for an array of zeros


@sdgrad.custom_vjp
def without_rule(x):
    return x * 5.0


def silent_vjp(i, grad_y):
    grad_y[i] *= 0.0


def silent(x):
    y = np.zeros_like(x)
    for i in range(5):
        with sdgrad.custom_region(silent_vjp):
            y[i] = x[i]
    return np.sum(y)


def returns_from_a_region(x):
    with sdgrad.custom_region(silent_vjp):
        return np.sum(x)


def leaves_a_region(x):
    y = np.zeros_like(x)
    for i in range(5):
        with sdgrad.custom_region(one_vjp):
            if x[i] > 2.0:
                break
            y[i] = x[i]
    return np.sum(y)


@sdgrad.custom_vjp
def returns_a_dict(x):
    return {"y": x * 2.0}


@sdgrad.custom_vjp
def returns_nothing(x):
    x * 2.0  # noqa: B018


@sdgrad.custom_vjp
def takes_a_dict(p):
    return p["x"] * 2.0


takes_a_dict.defvjp(lambda grad_out: grad_out)


@sdgrad.custom_vjp
def takes_a_text(x, mode):
    return x * 2.0 if mode == "double" else x


takes_a_text.defvjp(lambda mode, grad_out: (grad_out * 2.0, mode))


def of_a_dict(x):
    return np.sum(takes_a_dict({"x": x}))


def of_a_text(x):
    return np.sum(takes_a_text(x, "double"))


def of_the_text_of_a_region(x):
    y, mode = np.zeros_like(x), "double"  # noqa: F841
    with sdgrad.custom_region(lambda mode, grad_x, grad_y: None):
        y[:] = x * 2.0
    return np.sum(y)


def adding_rule(x, i, grad_x, grad_s):
    grad_x[i] += 2.0 * x[i] * grad_s


def adds_to_a_number(x):
    s = 0.0
    for i in range(len(x)):
        with sdgrad.custom_region(adding_rule):
            s += x[i] ** 2
    return s


def _sum_of(function):
    def total(x):
        return np.sum(function(x))

    return total


@pytest.mark.parametrize(
    "f, error, message",
    [
        (_sum_of(misspelled), NameNotFound, "variable of 'misspelled' named 'z'"),
        (_sum_of(too_many), DifferentiationError, "returns 2 arrays, not one for each floating-point argument"),
        (_sum_of(not_linear), DifferentiationError, "not linear"),
        (_sum_of(in_its_argument), sdgrad.SdgradError, "writes its argument x"),
        (_sum_of(another_shape), DifferentiationError, "another shape for 'x'"),
        (_sum_of(summed_up), DifferentiationError, r"(?s)returns a number for 'x'.*an array of shape \(\d+,\)"),
        (total_sine, DifferentiationError, "(?s)another shape for 'out'.*make it a number"),
        (_sum_of(without_rule), DifferentiationError, "has no rule"),
        (returns_from_a_region, sdgrad.errors.ParseError, "a return.* in the region of 'silent_vjp'"),
        (leaves_a_region, sdgrad.SdgradError, "(a jump out of|break or continue in) the region of '?one_vjp"),
        (silent, DifferentiationError, "(?s)says nothing of 'x'.*take grad_x"),
        (_sum_of(returns_a_dict), ParseError, "returns a dict of values: return arrays and numbers in a tuple"),
        (_sum_of(returns_nothing), ParseError, "returns nothing: return what it computes, or use custom_region"),
        (of_a_dict, DifferentiationError, "(?s)which is no argument.*what is in 'p' has no cotangent"),
        (of_a_text, DifferentiationError, "(?s)asks for 'mode', which is a text.*in a function of 'mode'"),
        (
            of_the_text_of_a_region,
            DifferentiationError,
            "(?s)asks for 'mode', which is a text.*leave it out of the rule",
        ),
        (adds_to_a_number, DifferentiationError, r"(?s)assigns 's' anew.*term = .., and s \+= term"),
    ],
)
def test_refused_by_name(f, error, message):
    with pytest.raises(error, match=message):
        sdgrad.grad(f)(W)


def test_what_a_region_assigns_loses_its_tangent():
    """The rule does not write the cotangent of ``p``: its tangent from before was added, in forward mode."""
    x = np.array([0.3, 0.8])
    np.testing.assert_allclose(sdgrad.jacobian(replaced)(x), np.diag(2.0 * x), rtol=1e-14, atol=0)
    hessian = sdgrad.hessian(lambda x: np.sum(replaced(x) ** 2))(x)
    np.testing.assert_allclose(hessian, np.diag(12.0 * x**2), rtol=1e-14, atol=0)


def test_a_rule_may_return_zero_for_an_array():
    found = sdgrad.grad(lambda x, y: np.sum(straight(x, y) * W), wrt=(0, 1))(W, W)
    np.testing.assert_array_equal(found, (W, np.zeros_like(W)))


def test_outside_of_sdgrad_nothing_changes():
    assert_close(rows(X, W), np.sum(np.stack([softmax(r) for r in X]) ** 2 * W), 1e-12, "NumPy")
    with pytest.raises(sdgrad.errors.ArgumentError, match="expected a Python function"):
        sdgrad.custom_vjp(3)


# Cotangents that a rule binds anew, and values that only a rule reads ---------------------------------------------


def twelvefold(grad_x, grad_y):
    grad_x += 12.0 * grad_y


def twelvefold_bound_anew(grad_x, grad_y):
    grad_x = grad_x + 12.0 * grad_y  # noqa: F841


def returned_at_once(x):
    with sdgrad.custom_region(twelvefold):
        y = x * 3.0
    return y


def used_later(x):
    with sdgrad.custom_region(twelvefold):
        y = x * 3.0
    return np.sum(y) * 1.0


def bound_anew(x):
    with sdgrad.custom_region(twelvefold_bound_anew):
        y = x * 3.0
    return np.sum(y)


def of_a_computed_number(x):
    z = np.sum(x) * 2.0
    return returned_at_once(z)


@pytest.mark.parametrize("f", [returned_at_once, used_later, bound_anew])
def test_the_cotangent_of_a_number_in_a_region(f):
    assert sdgrad.value_and_grad(f)(2.0) == (6.0, 12.0)


@pytest.mark.parametrize("f", [used_later, bound_anew])
def test_the_cotangent_of_an_array_in_a_region(f):
    assert_close(sdgrad.grad(f)(np.ones(3)), np.full(3, 12.0), 1e-12, "result")


def test_a_region_over_a_number_that_was_computed_before():
    assert_close(sdgrad.grad(of_a_computed_number)(np.ones(3)), np.full(3, 24.0), 1e-12, "result")


def test_the_result_of_a_region_that_is_returned_at_once():
    y, pullback = sdgrad.vjp(returned_at_once, np.ones(3))
    assert_close(y, np.full(3, 3.0), 1e-12, "result")
    assert_close(pullback(np.arange(3.0))[0], 12 * np.arange(3.0), 1e-12, "result")


def scaled_by(q, grad_x, grad_y):
    grad_x += q * grad_y


def asks_for_an_array(x):
    q = np.sin(x) + 1.0  # noqa: F841  (no statement of the region reads it)
    with sdgrad.custom_region(scaled_by):
        y = x * 3.0
    return np.sum(y)


def asks_for_a_number(x):
    q = np.sum(x) * 2.0  # noqa: F841
    with sdgrad.custom_region(scaled_by):
        y = x * 3.0
    return np.sum(y)


def asks_for_a_constant(x):
    with sdgrad.custom_region(scaled_by):
        q = 7.0  # noqa: F841
        y = x * 3.0
    return np.sum(y)


@pytest.mark.parametrize(
    "f, factor",
    [
        (asks_for_an_array, np.sin(W) + 1.0),
        (asks_for_a_number, np.full(5, 2 * np.sum(W))),
        (asks_for_a_constant, np.full(5, 7.0)),
    ],
)
def test_a_rule_reads_what_its_region_does_not(f, factor):
    assert_close(sdgrad.grad(f)(W), factor, 1e-12, "result")


@sdgrad.custom_vjp
def squared_sine(x):
    root = np.sin(x)
    return root * root


def _by_root(root, x, grad_out):
    return grad_out * 2 * root * np.cos(x)


squared_sine.defvjp(_by_root)


def _region_rule(root, x, grad_y, grad_x):
    grad_x += grad_y * 2 * root * np.cos(x)
    grad_y[:] = 0.0


def by_a_function(x):
    return np.sum(squared_sine(x))


def by_a_region(x):
    y = np.zeros_like(x)
    with sdgrad.custom_region(_region_rule):
        root = np.sin(x)
        y[:] = root * root
    return np.sum(y)


@pytest.mark.parametrize("f", [by_a_function, by_a_region])
def test_second_derivatives_pass_through_local_variables_that_a_rule_reads(f):
    """They were lost: the derivative of the rule by ``root`` went nowhere."""
    x = np.array([0.3, 0.7])
    assert_close(sdgrad.grad(f)(x), np.sin(2 * x), 1e-14, "gradient")
    over = sdgrad.grad(lambda v: np.sum(sdgrad.grad(f)(v)))(x)
    assert_close(over, 2 * np.cos(2 * x), 1e-14, "reverse over reverse")
    assert_close(np.diag(sdgrad.hessian(f)(x)), 2 * np.cos(2 * x), 1e-14, "hessian")


def _through(rule):
    def f(x):
        y, z = np.zeros_like(x), np.zeros_like(x)
        with sdgrad.custom_region(rule):
            z[:] = np.sin(x)
            y[:] = z * z
        return np.sum(y * z)

    return f


def _cut_rule(z, grad_y, grad_x, grad_z):
    grad_x += grad_y * 3.0 * z
    grad_y[:] = 0.0


def _forgetful_rule(z, grad_y, grad_x):
    grad_x += grad_y * 3.0 * z


def _constant_rule(x, grad_x):
    grad_x += 100.0 * x


def test_a_region_cuts_off_what_its_rule_names_and_leaves():
    x = np.array([0.3, 0.7])
    assert_close(sdgrad.grad(_through(_cut_rule))(x), 3 * np.sin(x) ** 2, 1e-14, "gradient")


@pytest.mark.parametrize(("rule", "name"), [(_forgetful_rule, "z"), (_constant_rule, "y")])
def test_derivatives_leave_a_region_only_by_what_its_rule_names(rule, name):
    """The first one lost the derivative by ``z``; the second was ignored, as if there were no rule."""
    x = np.array([0.3, 0.7])
    for derivative in (sdgrad.grad(_through(rule)), lambda v: sdgrad.jvp(_through(rule), (v,), (v,))):
        with pytest.raises(DifferentiationError, match=f"(?s)says nothing of '{name}', by which.*take grad_{name}"):
            derivative(x)


def test_an_argument_that_the_value_does_not_need():
    """A straight-through estimator has a derivative by what only decides its shape; it was zero."""

    @sdgrad.custom_vjp
    def ones(x, k):
        return np.ones_like(k)

    ones.defvjp(lambda grad_out: (3 * grad_out, grad_out))
    weights = np.array([1.0, 2.0, 3.0])
    x = np.array([0.1, 0.2, 0.3])
    f = lambda x, k: np.sum(ones(np.sin(x), k) * weights)  # noqa: E731
    found = sdgrad.grad(f, wrt=("x", "k"))(x, x)
    np.testing.assert_allclose(found, (3 * weights * np.cos(x), weights), rtol=1e-13)
    assert sdgrad.jvp(f, (x, x), (np.ones(3), np.zeros(3)))[1] == pytest.approx(np.sum(3 * weights * np.cos(x)))
