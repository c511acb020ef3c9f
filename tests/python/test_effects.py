"""Operands and arms that do more than compute a value: only those that Python evaluates take effect."""

import functools

import numpy as np
import pytest

import sdgrad
from python.check import OTHER, Programs, X, check, name_of
from sdgrad.errors import ParseError
from sdgrad.program.tree import Loop, walk

program = Programs()


def bump(a):
    a[0] = 5.0
    return a[0]


@program
def and_(x):
    y = x * 1.0
    if x[1] > 1.0 and bump(y) > 0.0:
        y = y * 2
    return np.sum(y * x)


@program
def or_(x):
    y = x * 1.0
    if x[1] > 1.0 or bump(y) > 0.0:
        y = y * 2
    return np.sum(y * x)


@program
def chain(x):
    y = x * 1.0
    if 1.0 < x[1] < bump(y) < 7.0:
        y = y * 2
    return np.sum(y * x)


@program
def condition_of_a_while_loop(x):
    y, n = x * 1.0, 0
    while n < 3 and bump(y) > 0.0:
        n = n + 1
        y = y * 0.5
    return np.sum(y * x)


@program
def name_of_the_function_around(x):
    n = 1.0

    def count():
        nonlocal n
        n = n * 2.0
        return True

    if x[0] > 0.0 and count():
        n = n + 1
    return n * x[0]


@program
def operand_that_raises(x):
    def fail(v):
        raise ValueError("never")

    if x[0] < 100 or fail(x):
        return x[1]
    return x[2]


@program
def operand_that_asserts(x):
    def positive(v):
        assert v > 0
        return v

    if x[2] > 0 and positive(x[2]) < 1:
        return x[0]
    return x[1]


@program
def conditional_expression(x):
    t = 1.0

    def put(b):
        nonlocal t
        t = b
        return b

    s = put(2.0) if x[0] > 0 else 0.0
    return t * x[0] + s


@program
def helper_that_sets_an_attribute(x):
    class Box:
        v = 1.0

    def put(b, v):
        b.v = v
        return v

    box = Box()
    s = put(box, x[1]) if x[0] > 0 else x[2]
    return s * box.v


@program
def attribute_of_a_class_in_a_loop(x):
    class Box:
        v = 1.0

    box = Box()
    for i in range(3):
        if x[i] > 0:
            box.v = box.v * x[i] + 1.0
    return box.v * x[0]


@program
def bounds_before_the_element(x):
    k = 0
    while k < 4 and x[k] > 0.0:
        k = k + 1
    return x[0] * k


@program
def name_of_the_function_around_in_a_chain(x):
    n = 1.0

    def count():
        nonlocal n
        n = n * 2.0
        return 10.0

    if 0.0 < x[0] < count():
        n = n + 1
    return n * x[0]


class OneSlot:
    __slots__ = "value"

    def __init__(self):
        self.value = 1.0


class PrivateSlot:
    __slots__ = ("__value",)

    def __init__(self):
        self.__value = 1.0

    def times(self, by):
        self.__value = self.__value * by
        return self.__value


@program
def slots_of_objects(x):
    one, private = OneSlot(), PrivateSlot()
    if x[0] > 0.0:
        one.value = 2.0
        private.times(3.0)
    return one.value * x[0] + private.times(1.0) * x[1]


@program
def partial_that_changes_a_list(x):
    def times(held, by):
        held[0] = held[0] * by
        return True

    held = [1.0]
    double = functools.partial(times, held, by=2.0)
    if x[0] > 0.0 and double():
        held[0] = held[0] + 1
    return held[0] * x[0]


@program
def partial_that_changes_a_name(x):
    n = 1.0

    def times(by):
        nonlocal n
        n = n * by

    double = functools.partial(times, 2.0)
    if x[1] > 0.0:
        double()
    return n * x[0]


@pytest.mark.parametrize("f", program, ids=name_of)
def test_program(f):
    check(f, X, OTHER)


def exchanged(x):
    a, b = x * 2.0, x * 3.0
    w = a
    for _ in range(4):
        a, b = b, a
        w[0] = w[0] + x[1]
    return np.sum(a)


def part_of_one_that_is_exchanged(x):
    a, b = x * 2.0, x * 3.0
    w = a[:2]
    for _ in range(4):
        w *= 0.5
        a, b = b, a
    return np.sum(a)


@pytest.mark.parametrize("f", [exchanged, part_of_one_that_is_exchanged], ids=name_of)
def test_names_of_one_array_that_loops_exchange_are_refused(f):
    """Which array the other name has after a trip, only a run knows."""
    with pytest.raises(ParseError, match=r"may share the memory of one"):
        sdgrad.compile_forward(f)(X)


# Views that a loop may leave as they were -------------------------------------------------------------

views = Programs()


@views
def inner_loop_over_a_row(x):
    ys = np.empty((5, 4))
    ys[0] = x
    s = 0.0
    for i in range(1, 5):
        y = ys[i - 1]
        for _ in range(3):
            y = np.sin(y)
        ys[i] = y
        s = s + np.sum(y * y)
    return np.sum(ys) + s


@views
def inner_while_loop_over_a_row(x):
    ys = np.empty((5, 4))
    ys[0] = x
    for i in range(1, 5):
        y = ys[i - 1]
        while np.sum(y * y) > 0.3:
            y = 0.9 * y
        ys[i] = y
    return np.sum(ys)


@views
def no_trip(x):
    ys = np.zeros((3, 4))
    ys[0] = x
    y = ys[0]
    for _ in range(0):
        y = np.sin(y)
    ys[0] = 2.0
    return np.sum(y * x)


@pytest.mark.parametrize("f", views, ids=name_of)
def test_view(f):
    check(f, X)


# Sizes that integer arguments decide ------------------------------------------------------------------

SLICES = {
    "end": lambda x, k: x[:k],
    "begin": lambda x, k: x[k:] * 2.0,
    "from the end": lambda x, k: x[: len(x) - k],
    "remainder": lambda x, k: x[k % 2 : k % 2 + 2],
    "beyond the end": lambda x, k: x[k : k + 2],
}


@pytest.mark.parametrize("name", SLICES)
def test_results_have_the_size_that_numpy_gives_them(name):
    f = sdgrad.compile_forward(SLICES[name])
    for k in (2, 3, 1, 0):
        np.testing.assert_array_equal(f(X, k), SLICES[name](X, k))


def test_slices_beyond_an_array_are_cut_off():
    def squares(x, k):
        return np.sum(x[k : k + 2] ** 2)

    gradient = sdgrad.grad(squares)
    for k in (0, 2, 3, 5, -2, 1):
        wanted = np.zeros(4)
        wanted[k : k + 2] = 2 * X[k : k + 2]
        np.testing.assert_allclose(gradient(X, k), wanted)


def test_results_of_a_size_that_data_decide_are_refused():
    with pytest.raises(ParseError, match="which only a run knows"):
        sdgrad.compile_forward(lambda x, k: x[: k[0]])(X, np.array([2, 3]))


# Other faults that were found -------------------------------------------------------------------------


def test_a_generator_with_a_loop_is_compiled_once():
    sizes = [1, 3]

    def pieces(w):
        for m in sizes:
            yield w[:m]

    def f(w):
        return sum(np.sum(p * p) for p in pieces(w))

    from sdgrad.specialize import signature

    gradient, made = sdgrad.grad(f), []
    original = signature.compile_gradients
    signature.compile_gradients = lambda asked: made.append(1) or original(asked)
    try:
        for _ in range(3):
            gradient(X)
    finally:
        signature.compile_gradients = original
    assert len(made) == 1


def test_calls_with_none_texts_and_arrays_among_the_defaults():
    def f(x, off=None, names=("a",), scale=np.ones(4)):  # noqa: B008
        return np.sum(scale * x)

    both = sdgrad.value_and_grad(f)
    for k in range(4):
        value, gradient = both(X + k)
        assert value == pytest.approx(np.sum(X + k)) and np.array_equal(gradient, np.ones(4))
    assert both(X, None, ("a",), X)[0] == pytest.approx(np.sum(X * X))


def test_ranges_of_a_size_that_only_a_run_knows():
    labels = np.arange(12) % 3
    rows = np.arange(36.0).reshape(12, 3) / 10

    def loss(w, k):
        own = slice(k % 3 * 4, (k % 3 + 1) * 4)
        z = rows[own] * w
        z = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
        return np.sum(z[np.arange(len(labels[own])), labels[own]])

    w = np.array([0.3, -0.2, 0.5])
    assert sdgrad.value_and_grad(loss)(w, 1)[0] == pytest.approx(loss(w, 1))


def test_slices_with_remainders_in_matrix_products():
    rows = np.arange(24.0).reshape(12, 2) / 10

    def trained(w):
        s = 0.0
        for k in range(4):
            own = slice(k % 2, None, 2)
            h = np.tanh(rows[own] @ w)
            s = s + np.sum(h * h) * w[0]
            w = w + 0.1 * (rows[own].T @ h)
        return s

    sdgrad.testing.check_grads(trained, (np.array([0.3, 0.4]),))


# Texts of numbers that loops count ----------------------------------------------------------------------

PARAMETERS = {"W0": np.array([0.3, -0.2, 0.5, 0.1]), "W1": np.array([-0.4, 0.6, 0.2, 0.9]), "b1": np.ones(4)}


def keys(x):
    for k in range(2):
        x = np.tanh(x * PARAMETERS[f"W{k}"] + PARAMETERS["W" + str(k)] - PARAMETERS["W{}".format(k)])  # noqa: UP032
    return np.sum(x * x)


def keys_that_may_lack(x):
    for k in range(3):
        x = np.tanh(x * PARAMETERS.get(f"W{k}", 0.5))
        if f"b{k}" in PARAMETERS:
            x = x + PARAMETERS[f"b{k}"]
    return np.sum(x * x)


def texts_compared(x):
    for k in range(3):
        name = f"W{k:d}"
        if name == "W1" or str(k) == "2":
            x = np.tanh(x * 2.0)
        x = x * (1.0 + len(f"{k}{k}"))
    return np.sum(x)


@pytest.mark.parametrize("f", [keys, keys_that_may_lack, texts_compared], ids=name_of)
def test_texts_of_counters(f):
    check(f)


def shown_only(x):
    for k in range(2000):
        if not x[0] < 1e9:
            raise ValueError(f"step {k}: {x[0]:.3f} at " + str(k) + " and {}".format(k))  # noqa: UP032
        print(f"step {k}: {x[0]:.2f}", k, str(k))
        x = x * 0.999
    return np.sum(x)


def test_what_is_only_shown_needs_no_value(capsys):
    program = sdgrad.trace(shown_only, X).program
    assert [n for n in walk(program.body) if isinstance(n, Loop)]
    assert capsys.readouterr().out.count("step") == 1
