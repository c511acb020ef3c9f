"""Objects, lists and dicts that arms and loops change: attributes and entries are handed on as names are."""

import numpy as np
import pytest

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.program.tree import Loop, walk
from sdgrad.testing import check_grads

X = np.array([0.5, 1.5, -0.7])


class Thing:
    """An object with whatever attributes a program gives it."""


class Slotted:
    __slots__ = ("u",)

    def __init__(self, u):
        self.u = u


class Filter:
    """A Kalman filter of two states."""

    def __init__(self):
        self.x, self.P, self.cost = np.zeros(2), np.eye(2), 0.0

    def step(self, z, F):
        self.x, self.P = F @ self.x, F @ self.P @ F.T
        self.x = self.x + self.P[:, 0] * (z - self.x[0]) / (self.P[0, 0] + 1.0)
        self.cost += (z - self.x[0]) ** 2


def attributes(x):
    p = Thing()
    p.a, p.b = 0.0, x
    if x[0] > 0.3:
        p.a = x[1]
    else:
        p.b = x * 2
    return p.a + np.sum(p.b)


def attribute_made_in_both_arms(x):
    p = Thing()
    if x[0] > 0.3:
        p.c = x[0] * 2
    else:
        p.c = x[1]
    return p.c


def arm_that_raises(x):
    p = Thing()
    p.n = 1.0
    if x[0] < 0.0:
        p.n = 5.0
        raise ValueError("negative")
    return p.n * x[0]


def entries_of_a_list(x):
    r = [x[0], x[1]]
    if x[2] < 0:
        r[0] = x[2] * 3
    else:
        r[1] = 0.0
    return r[0] * r[1]


def both_arms_append(x):
    r = []
    if x[2] < 0:
        r.append(x[0])
    else:
        r.append(x[1] * 2)
    return r[0] + len(r)


def entries_of_a_dict(x):
    d = {"a": x, "b": 1.0}
    if x[0] > 0:
        d["b"] = x[1]
    for i in range(3):
        if x[i] > 0:
            d["a"] = d["a"] * x[i]
    return np.sum(d["a"]) * d["b"]


def slots(x):
    p = Slotted(x[0])
    if x[1] > 0:
        p.u = p.u * 3
    else:
        p.u = p.u * 5
    return p.u


def names_of_a_function_around(x):
    c = 0.0

    def add(v):
        nonlocal c
        c = c + v

    if x[0] > 0:
        add(x[1])
    else:
        add(x[2])
    add(x[0])
    return c


def objects_in_objects(x):
    p = Thing()
    p.q = Thing()
    p.q.v = [x[0], {"k": x[1]}]
    if x[0] > 0.2:
        if x[1] > 9:
            p.q.v[1]["k"] = x[2]
        else:
            p.q.v[0] = x[2] * x[2]
    return p.q.v[0] * p.q.v[1]["k"]


def conditional_expression_with_an_effect(x):
    r = [x[2]]

    def put(v):
        r[0] = v
        return v

    y = put(x[0]) if x[1] > 0 else x[2]
    return y * r[0]


def bump(a):
    a[0] = a[0] + 1.0
    return a[0] > 0


def operand_with_an_effect(x):
    y, z = x * 1.0, x * 1.0
    if x[0] < 0 and bump(y):
        y = y * 2
    if x[0] > 0 or bump(z):
        z = z * 2
    return np.sum(y * z)


def operand_that_raises(x):
    def positive(v):
        if v < 0:
            raise ValueError("negative")
        return True

    return x[0] if x[2] > 0 and positive(x[2]) else x[1] * 2


def bounds_first(x):
    i = 0
    while i < 3 and x[i] > 0.0:
        i = i + 1
    return x[0] * i


def attributes_in_a_loop(x):
    p = Thing()
    p.t, p.h = 0.0, x
    for i in range(3):
        p.t += x[i] * x[i]
        p.h = np.sin(p.h) * p.t
    return p.t * np.sum(p.h)


def entries_in_a_while_loop(x):
    d = {"y": x, "n": 0}
    while np.sum(d["y"] ** 2) > 0.1:
        d["y"] = d["y"] * 0.5
        d["n"] += 1
    return np.sum(d["y"]) * d["n"]


def methods_in_a_loop(x):
    kalman, F = Filter(), np.array([[1.0, 0.1], [0.0, 0.9]])
    for i in range(3):
        kalman.step(x[i], F)
    return kalman.cost + np.sum(kalman.P)


SHARED = Thing()


def global_object(x):
    SHARED.v = 0.0
    for i in range(3):
        SHARED.v = SHARED.v + x[i] * x[i]
        if x[i] > 1.0:
            SHARED.v = SHARED.v * 2
    return SHARED.v


class Controller:
    def __init__(self, gain):
        self.gain, self.total, self.last = gain, 0.0, None

    def __call__(self, error):
        self.total += error * 0.1
        change = 0.0 if self.last is None else error - self.last
        self.last = error
        found = self.gain * error + self.total + change
        if found > 2.0:
            return 2.0
        return found


def none_before_the_first_trip(x):
    control, y = Controller(x[0]), 0.0
    for _ in range(6):
        y = y + 0.1 * control(x[1] - y)
    return y * x[2]


def first_trip_by_a_counter(x):
    for k in range(6):
        h = x * 2 if k == 0 else np.sin(h)  # noqa: F821
    return np.sum(h)


def array_after_the_first_trip(x):
    h = 0.0
    for _ in range(5):
        h = np.tanh(x + h)
    return np.sum(h)


counted, summed = 0, 0.0


def global_number(x):
    global summed
    summed = 0.0
    for k in range(4):
        summed = summed + x[k % 3] ** 2
        if x[k % 3] > 0:
            summed = summed * 1.1
    return summed


def tick():
    global counted
    counted += 1
    return counted


def global_counter_of_a_helper(x):
    global counted
    counted = 0
    s = 0.0
    for k in range(3):
        s = s + x[k] * tick()
    return s


PROGRAMS = [
    attributes, attribute_made_in_both_arms, arm_that_raises, entries_of_a_list, both_arms_append, entries_of_a_dict,
    slots, names_of_a_function_around, objects_in_objects, conditional_expression_with_an_effect,
    operand_with_an_effect, operand_that_raises, bounds_first, attributes_in_a_loop, entries_in_a_while_loop,
    methods_in_a_loop, global_object, global_number, global_counter_of_a_helper,
    none_before_the_first_trip, first_trip_by_a_counter, array_after_the_first_trip,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_program(f):
    assert sdgrad.compile_forward(f)(X) == pytest.approx(f(X.copy()), rel=1e-12)
    check_grads(f, (X,))


ONCE = [
    attributes_in_a_loop, methods_in_a_loop, global_object,
    none_before_the_first_trip, first_trip_by_a_counter, array_after_the_first_trip,
]  # fmt: skip


@pytest.mark.parametrize("f", ONCE, ids=lambda f: f.__name__)
def test_the_loop_is_recorded_once(f):
    program = sdgrad.trace(f, X).program
    assert [n for n in walk(program.body) if isinstance(n, Loop)]


def number_or_none(x):
    t = None
    if x[0] > 0:
        t = x[1]
    return x[0] if t is None else x[2]


def one_of_two_words(x):
    t = "a"
    if x[0] > 0:
        t = "b"
    return x[0] if t == "a" else x[1]


def key(x):
    t = "a"
    if x[0] > 0:
        t = "b"
    return {"a": x[0], "b": x[1]}[t]


def kind(x):
    t = None
    if x[0] > 0:
        t = x[1]
    return x[0] if isinstance(t, type(None)) else x[2]


def member(x):
    t = "a"
    if x[0] > 0:
        t = "b"
    return x[0] if t in ("a", "c") else x[1]


@pytest.mark.parametrize("f", [number_or_none, one_of_two_words, key, kind, member], ids=lambda f: f.__name__)
def test_what_only_a_run_decides_is_no_constant(f):
    compiled = sdgrad.compile_forward(f)
    for x in (X, -X):
        assert compiled(x) == pytest.approx(f(x), rel=1e-12)
    check_grads(f, (X,))


# What is outside of the function ---------------------------------------------------------------------


class Cell:
    def __init__(self):
        self.h, self.time = np.zeros(3), 0.0

    def step(self, x):
        self.h = np.tanh(self.h + x)
        return np.sum(self.h)

    def loss(self, x):
        self.last = np.sum(x * x)
        return self.last * 2

    def clock(self, x):
        self.time = self.time + 0.5
        return np.sum(x) * self.time


total = 0.0


def adds_to_a_global_number(x):
    global total
    total = total + np.sum(x)
    return total


def test_state_from_call_to_call_is_refused():
    own = Cell()
    for f, name in ((own.step, "'Cell.h'"), (adds_to_a_global_number, "'total'")):
        with pytest.raises(ParseError, match=rf"test_objects.py:\d+\n.*\n{name} is outside of the function"):
            sdgrad.grad(f)(X)
    assert np.array_equal(own.h, np.zeros(3)) and total == 0.0


def test_a_call_leaves_nothing_recorded_outside():
    own = Cell()
    np.testing.assert_allclose(sdgrad.grad(own.loss)(X), 4 * X)
    with pytest.raises(ParseError, match=r"'Cell.last' has a value in the compiled program only"):
        own.last + 1.0
    assert own.loss(X) == pytest.approx(2 * np.sum(X * X))


def test_numbers_of_python_go_on_from_call_to_call():
    own = Cell()
    gradient = sdgrad.grad(own.clock)
    assert [gradient(X)[0] for _ in range(3)] == [0.5, 1.0, 1.5]
    assert own.time == 1.5


def test_an_error_leaves_everything_as_it_was():
    own = Cell()

    def fails(x):
        own.h = np.sin(x)
        return np.packbits(own.h)

    with pytest.raises(ParseError):
        sdgrad.grad(fails)(X)
    assert np.array_equal(own.h, np.zeros(3))
