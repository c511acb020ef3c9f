"""Recorded functions: values as in NumPy, gradients by differences, or an error that says what to do."""

import functools
import math

import dace
import numpy as np
import pytest

import sdgrad
from sdgrad.errors import ParseError

X = np.array([0.5, 1.5, -0.7])
TABLE = np.array([0.3, 0.1, 0.4, 0.2])
LAYERS = [(np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]), 0.5), (np.array([[1.0, -1.0]]), 0.25)]


def append_in_a_loop(x):
    r = []
    for i in range(len(x)):
        r.append(x[i] * i)
    return np.sum(np.array(r) ** 2)


def comprehension(x):
    return sum([v * v for v in x if True]) + max(abs(v) for v in x)


def list_of_arrays(x):
    h = [x, 2 * x]
    a, *rest = h
    return np.sum(h[1] * a) + len(rest)


def inner_function(x):
    def h(v):
        if v > 1:
            return v * x[0]
        return v + x[1]

    return h(x[0]) * h(x[1])


def function_as_argument(x):
    def twice(f, v):
        return f(f(v))

    return twice(lambda t: t * t + 1, x[0])


def partials(x):
    scale = functools.partial(lambda by, v: v * by, 3.0)
    return np.sum(scale(x))


def options(x, kind="l2", off=None):
    mask = np.ones(3) if off is None else off
    if kind == "l2":
        return np.sqrt(np.sum(x * x * mask))
    return np.sum(np.abs(x))


def size_of_an_array(x):
    n = len(x)
    y = np.zeros(n)
    for i in range(n - 1):
        y[i + 1] = y[i] + x[i] ** 2
    return y[-1] * y[1]


def loops_over_arrays(x):
    s = 0.0
    for v in x:
        s += v * v
    for k, v in enumerate(x):
        s += k * v
    for a, b in zip(x, x[::-1], strict=True):
        s += a * b
    for k in reversed(range(3)):
        s = s * x[k] + 1
    return s


def rows(x):
    m = np.outer(x, x)
    s = 0.0
    for row in m:
        s += row[0] * np.sum(row)
    return s


def becomes_an_array(x):
    s = 0.0
    s += x
    return np.sum(s * s)


def becomes_real(x):
    s = 0
    for i in range(3):
        s = s + x[i] / (i + 1)
    return s * s


def shrinking(x):
    v = x * x
    for _ in range(2):
        v = v[1:] + v[:-1]
    return v[0]


def other_shapes(x):
    y = x
    for w, b in LAYERS:
        y = np.tanh(w @ y + b)
    return y[0]


def chosen(x):
    return x[0] if x[0] > x[1] else x[1] * 2


def chained(x):
    if 0 < x[0] < 1 and not x[1] < 0:
        return x[0] * x[1]
    return 0.0


def branch_in_a_loop(x):
    best, place = x[0], 0
    for i in range(3):
        if x[i] > best:
            best = x[i]
            place = i
    return best * x[place]


def exits(x):
    s = 0.0
    for i in range(3):
        if x[i] < 0:
            continue
        for j in range(3):
            if x[i] * x[j] > 2:
                break
            s += x[i] * x[j]
        if s > 3:
            return s * 2
    return s


def newton(x):
    y, steps = 1.0 + x[0], 0
    while abs(y * y - x[1]) > 1e-9 and steps < 50:
        y = (y + x[1] / y) / 2
        steps += 1
    return y


def forever(x):
    t = x[0]
    while True:
        t = t * 1.5
        if t > 10:
            break
    return t


def exchanged(x):
    a, b = x[0], x[1]
    for _ in range(3):
        a, b = b, a + b
    return a * b


def views(x):
    y = np.zeros((2, 3))
    row = y[0]
    row[:] = x
    y.T[1] = x[:2]
    y[1, 1:] += row[:2]
    return np.sum(y**2)


def assigned_lists(x):
    m = np.eye(3)
    m[:2, 2] = [x[0], x[1]]
    m[0:2] *= 2
    return np.sum(m @ x)


def known_then_written(x):
    z = np.zeros(3)
    s = 0.0
    for i in range(3):
        s += z[0] * x[i]
        z[0] = z[0] + x[i]
    return s


def global_array(x):
    return np.dot(TABLE[:3], x) + TABLE[-1] * x[0]


def index_arrays(x):
    i = np.array([2, 0, 2])
    y = np.zeros(4)
    np.add.at(y, i, x)
    y[[3, 1]] = x[[0, 1]]
    return np.sum(y * np.arange(4.0)) + np.sum(x[[True, False, True]])


def masks(x):
    y = np.where(x > 0, np.sqrt(np.abs(x)), x)
    y[y < 0] = 2.0
    return np.sum(y * x)


def numbers(x):
    n = int(len(x) / 2) + 1
    return float(x[0]) * n + math.sin(x[1]) * round(2.6) + math.pi * abs(x[2]) + np.float64(2) * min(x[0], x[1])


def strings(x):
    total = 0.0
    for name in ("a", "b"):
        total += {"a": x[0], "b": x[1] ** 2}[f"{name}"]
    return total


class Model:
    def __init__(self, scale):
        self.scale, self.log = scale, []

    def __call__(self, x):
        if x[0] > 0:
            return self.scale * x
        return x

    def loss(self, x):
        return np.sum(self(x) ** 2)


MODEL = Model(1.5)


def objects(x):
    own = Model(x[1])
    own.scale += 1
    return MODEL.loss(x) + own.loss(x)


def recursion(x):
    def power(v, n):
        return 1.0 if n == 0 else v * power(v, n - 1)

    return power(x[0], 4) + power(x[1], 2)


def written_argument(x):
    def fill(out, v):
        for i in range(3):
            out[i] = v[i] * (i + 1)
        return out

    y = np.empty_like(x)
    return np.sum(fill(y, x) * y)


def triangles(x):
    m = np.zeros((3, 3))
    for i in range(3):
        for j in range(i + 1):
            m[i, j] = x[i] * x[j] + (i == j)
        m[i, :i] /= 2.0
    return np.sum(m[1:, :2] @ m[:2, 1:]) + np.trace(m)


def reductions(x):
    m = np.stack([x, x**2, np.sin(x)])
    return m.mean() + m.std(axis=0).sum() + m.max(axis=1)[0] + np.prod(m[0]) + np.cumsum(m[1])[-1] + np.linalg.norm(x)


def systems(x):
    m = np.diag(x**2 + 1) + np.outer(x, x)
    return np.sum(np.linalg.solve(m, x)) + np.linalg.inv(m)[0, 1] + np.linalg.cholesky(m)[2, 0]


def keywords(x, *args, scale=2.0, **more):
    return np.sum(x) * scale + len(args) + len(more)


PROGRAMS = [
    append_in_a_loop, comprehension, list_of_arrays, inner_function, function_as_argument, partials, options,
    size_of_an_array, loops_over_arrays, rows, becomes_an_array, becomes_real, shrinking, other_shapes, chosen, chained,
    branch_in_a_loop, exits, newton, forever, exchanged, views, assigned_lists, known_then_written, global_array,
    index_arrays, masks, numbers, strings, objects, recursion, written_argument, triangles, reductions, systems,
]  # fmt: skip


def differences(f, x):
    return np.array([(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(x.size)])


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_value_and_gradient(f):
    value, gradient = sdgrad.value_and_grad(f)(X)
    assert value == pytest.approx(f(X.copy()), rel=1e-12)
    np.testing.assert_allclose(gradient, differences(f, X), rtol=1e-5, atol=1e-7)


def test_options_are_pythons():
    g = sdgrad.grad(options)
    np.testing.assert_allclose(g(X, "l1"), np.sign(X))
    np.testing.assert_allclose(g(X, off=np.array([1.0, 0, 0])), [1, 0, 0])
    np.testing.assert_allclose(g(X), X / np.linalg.norm(X))


def test_counts_that_shapes_need():
    def f(x, n):
        y = np.zeros(n)
        y[:3] = x
        return np.sum(y.reshape(2, n // 2)[1] ** 2)

    g = sdgrad.grad(f, wrt=0)
    np.testing.assert_allclose(g(X, 4), [0, 0, 2 * X[2]])
    np.testing.assert_allclose(g(X, 6), [0, 0, 0])


def test_counts_that_loops_need_have_one_program():
    def f(x, n):
        s = x[0]
        for i in range(n):
            s = s * x[i % 3]
        return s

    g = sdgrad.grad(f, wrt=0)
    for n in (1, 4):
        np.testing.assert_allclose(g(X, n), differences(lambda x, n=n: f(x, n), X), rtol=1e-6)


def test_lambdas():
    assert sdgrad.grad(lambda t: t**2)(3.0) == 6.0


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: np.sum(np.unique(x)), "numpy.unique"),
        (lambda x: np.sum([v for v in x if v > 0]), "truth value"),
        (lambda x: [1, 2, 3][x[0]], "index"),
        (lambda x: np.sum(x) if x > 0 else 0, "ambiguous"),
    ],
    ids=["no rule", "filter", "list index", "truth of an array"],
)
def test_refused(f, words):
    with pytest.raises((ParseError, ValueError, TypeError), match=words):
        sdgrad.grad(f)(X)


def one_arm(x):
    if x[0] > 0:
        y = [x[1], x[2]]
    return y[0]


def an_alias_in_an_arm(x):
    a, b = x * 1, x * 2
    c = a if x[0] > 0 else b
    c[0] = 5.0
    return np.sum(a)


def appended_in_an_arm(x):
    r = []
    if x[0] > 0:
        r.append(x[0])
    return r[0]


@pytest.mark.parametrize(
    ("f", "words"),
    [(one_arm, "one arm only"), (an_alias_in_an_arm, "copy"), (appended_in_an_arm, "r has other entries")],
    ids=["name", "alias", "list"],
)
def test_what_only_a_run_decides(f, words):
    with pytest.raises((ParseError, UnboundLocalError, ValueError, TypeError), match=words):
        sdgrad.grad(f)(X)


DOUBLE = dace.float64


def of_a_type_of_dace(x):
    y = np.zeros(x.shape, dtype=DOUBLE)
    y[:] = x * DOUBLE(3)
    return np.sum(y)


def test_types_of_dace_are_those_of_numpy():
    assert np.allclose(sdgrad.grad(of_a_type_of_dace)(np.ones(3)), 3.0)
