"""Names: where they are looked up, who binds them, and what they may be."""

import math

import numpy as np
import pytest

import sdgrad
from python.check import Programs, X, check, differences, name_of

program = Programs()

RATE = 1.5
TABLE = np.array([1.0, -2.0, 0.5, 3.0])


@program
def two_targets(x):
    a = b = x[0] * 2.0
    a = a * 3.0
    return a * b


@program
def two_targets_of_zero(x):
    a = b = 0.0
    for i in range(4):
        a = a + x[i]
        b = b + a
    return a + b


@program
def two_counters(x):
    i = j = 0
    for _ in range(3):
        i = i + 1
        j = j + 2
    return x[i] * j


@program
def names_that_rewrites_use(x):
    argument, argument_1, has_returned = x[0], x[1], 2.0
    y = np.abs(0.1 * argument_1) * argument
    for j in range(4):
        has_returned = has_returned + x[j]
        if j == 2:
            return has_returned * y * argument_1
    return has_returned


@program
def names_of_generated_code(x):
    double, this, new, template, auto = x[0], x[1], x[2], x[3], 2.0
    dace, __return, state, i0, carried, exp, M_PI, int64, N = (
        double * this,
        new,
        template,
        auto,
        1.0,
        x[0],
        3.0,
        4.0,
        5.0,
    )
    for main in range(3):
        carried = carried * exp + dace * main
        while i0 < 5.0:
            i0 = i0 * 2.0
    if state > 0.0:
        __return = __return * M_PI
    return carried * __return + i0 * int64 * state + N * np.exp(exp)


@program
def names_of_python_and_numpy(x):
    sum, len, list, range, np = x[0], x[1], x[2], 3.0, math.sin(x[3])
    max = lambda a, b: a * b  # noqa: E731
    for abs in (1.0, 2.0):
        sum = max(sum, abs) + len
    return sum * list + range * np


@program
def letters_of_all_alphabets(x):
    θ, größe, δx = x[0], x[1], x[2]
    for λ in (0.5, 2.0):
        θ = θ * λ + größe * δx
    return θ * δx


@program
def comprehensions_have_names_of_their_own(x):
    v, k = x[0], 3
    parts = [v * k for k, v in enumerate(x)]
    total = sum(k * 2.0 for k in parts)
    [last := v * 2.0 for v in x[:2]]
    return v * k + total + last


@program
def inner_names_hide_outer_ones(x):
    y, s = x[0], x[1]

    def f(y, s=2.0):
        def g(s):
            y = s * 3.0
            return y

        return g(y) * s

    class Inside:
        s = 5.0
        t = s + 1.0

        def read(self):
            return s

    return f(s) + y * s + Inside.t * Inside().read() + f(y, x[2])


@program
def deleted_and_bound_again(x):
    a, b, rest = x[0], x[1], [x[2], x[3]]
    c = a * b
    del a, b
    a = c * rest[0]
    del rest[0], c
    y = x * 1.0
    for i in range(3):
        t = y[i] * a
        y[i + 1] += t
        del t
    del i
    return a * rest[0] + np.sum(y)


@program
def names_of_other_functions(x):
    total, y = 0.0, x * 1.0

    def add(v):
        nonlocal total

        def twice():
            nonlocal total, y
            total += 2.0 * v
            y = y * 0.5

        twice()
        total = total * x[0]

    for k in range(3):
        add(x[k])
    return total + np.sum(y * x)


@program
def globals_of_the_module(x):
    from math import cos as f
    from math import pi

    import numpy as numbers

    s: float = RATE * np.dot(TABLE, x)
    t: np.ndarray
    t = numbers.tanh(x)
    return s * f(t[0]) + pi * globals()["RATE"] * t[1]


calls, memory = 0, [1.0]


@program
def globals_that_are_written(x):
    global calls
    calls = 3
    calls += 1
    memory[0] = 2.5
    return calls * x[0] * x[1] + memory[0] * x[2]


@program
def texts(x):
    n, width = 3, 0.5
    key = f"layer_{n:02d}/{width!r:>5}/{'x'.upper()}{n + 1=}"
    d = {key: x[0], "layer_%d" % n: x[1], "{}-{a}".format(1, a=2): x[2]}  # noqa: UP031, UP032
    name = "".join(reversed("ba")) + "c" * 2
    s = d["layer_03/  0.5/Xn + 1=4"] * d["layer_3"] + d["1-2"] * name.count("c")
    return s * ("a" < "b") + len(key.split("/")) * x[3]


@program
def printed(x):
    s = np.sum(x * x)
    print("value", s, x[0], f"{s}", f"{x[1]:.3f}", x, sep="; ")
    print(f"shape {x.shape} of {x.dtype}", end="")
    return s * x[0]


@pytest.mark.parametrize("f", program, ids=name_of)
def test_program(f):
    check(f)


def scaled_by_a_global(x):
    return RATE * np.sum(x * TABLE) ** 2


def test_globals_that_change_between_calls():
    global RATE, TABLE
    g, before = sdgrad.grad(scaled_by_a_global), (RATE, TABLE)
    try:
        for RATE, TABLE in ((2.0, before[1]), (2, before[1]), (X[0], X), (-1.0, np.arange(4)), before):
            np.testing.assert_allclose(g(X), differences(scaled_by_a_global, X), rtol=1e-6)
    finally:
        RATE, TABLE = before


def test_a_name_without_a_value():
    def f(x):
        if len(x) > 9:
            y = 1.0
        return x[0] * y

    def g(x):
        y = x[0]
        del y
        return y * x[0]  # noqa: F821

    for h in (f, g):
        with pytest.raises(UnboundLocalError, match="y"):
            sdgrad.grad(h)(X)
    with pytest.raises(NameError, match="nowhere"):
        sdgrad.grad(lambda x: nowhere * x[0])(X)  # noqa: F821
