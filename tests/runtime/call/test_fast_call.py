"""Calls that are prepared: they do what the first call of a kind does."""

import contextlib
import dataclasses
import gc
from typing import NamedTuple

import numpy as np
import pytest

import sdgrad
from sdgrad.api.gradient import GradFunction

SCALE = np.array([1.0, 2.0, 3.0])


def mixed(x, s, k, y):
    x[k] = x[k] * s
    for i in range(k):
        x[i] += y[i] * s
    return np.sum(x * x)


def with_a_closure(x):
    return np.sum(x * SCALE)


def sized(x, n):
    w = np.zeros(n)
    for i in range(n):
        w[i] = x[i] * x[i]
    return np.sum(w)


def two(x):
    return x * 2.0, np.sum(x)


def arguments():
    return np.array([1.0, 2.0, 3.0]), 0.5, 2, np.array([0.1, 0.2, 0.3])


@pytest.fixture
def generals(monkeypatch):
    """The calls that go the general way."""
    seen = []
    general = GradFunction.general

    def counted(self, args, kwargs):
        seen.append(args)
        return general(self, args, kwargs)

    monkeypatch.setattr(GradFunction, "general", counted)
    return seen


def test_later_calls_are_direct(generals):
    f = sdgrad.value_and_grad(mixed, wrt=("x", "s", "y"))
    first = f(*arguments())
    args = arguments()
    later = [f(*args) for _ in range(3)]
    assert len(generals) == 1
    np.testing.assert_array_equal(args[0], arguments()[0])  # what the program writes is a copy
    for value, gradients in later:
        assert type(value) is type(first[0]) and value == first[0]
        for found, right in zip(gradients, first[1], strict=True):
            assert type(found) is type(right) and np.shape(found) == np.shape(right)
            np.testing.assert_array_equal(found, right)
    later[0][1][0][:] = 0.0
    np.testing.assert_array_equal(later[1][1][0], first[1][0])  # results are everybody's own
    x, s, k, y = arguments()
    np.testing.assert_array_equal(f(x, s, 0, y)[1][2], 0.0)  # numbers are arguments


@pytest.mark.parametrize(
    "change",
    [
        lambda x, s, k, y: (x.astype(np.float32), s, k, y.astype(np.float32)),
        lambda x, s, k, y: (np.append(x, 4.0), s, k, np.append(y, 0.4)),
        lambda x, s, k, y: (x, np.float64(s), k, y),
        lambda x, s, k, y: (x, np.array(s), k, y),
        lambda x, s, k, y: (x, np.array([s]), k, y),
    ],
)
def test_other_kinds_go_the_general_way(generals, change):
    f = sdgrad.grad(mixed)
    f(*arguments())
    with contextlib.suppress(sdgrad.errors.SdgradError):
        f(*change(*arguments()))
    assert len(generals) == 2
    f(*arguments())
    f(y=arguments()[3], x=arguments()[0], s=0.5, k=2)
    assert len(generals) == 3


def test_arrays_with_strides_are_direct(generals):
    f = sdgrad.grad(mixed, wrt=("x", "y"))
    right = f(*arguments())
    x, s, k, y = arguments()
    strided = np.repeat(x, 2)[::2]
    for found, expected in zip(f(strided, s, k, y[::-1].copy()[::-1]), right, strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(strided, x)  # what the program writes is a copy
    assert len(generals) == 1


def test_what_is_not_an_argument_is_looked_up(generals):
    x = np.ones(3)
    f = sdgrad.grad(with_a_closure)
    np.testing.assert_array_equal(f(x), [1.0, 2.0, 3.0])
    SCALE[0] = 7.0
    try:
        np.testing.assert_array_equal(f(x), [7.0, 2.0, 3.0])
    finally:
        SCALE[0] = 1.0
    g = sdgrad.grad(sized)
    np.testing.assert_array_equal(g(x, 2), [2.0, 2.0, 0.0])
    np.testing.assert_array_equal(g(x, 3), [2.0, 2.0, 2.0])


def test_numbers_of_numpy_are_direct(generals):
    f = sdgrad.value_and_grad(lambda x, s: np.sum(x * x) * s, wrt=("x", "s"))
    x = np.array([1.0, 2.0, 3.0])
    for s in (np.float64(0.5), np.float64(-2.0), np.float64(3.0)):
        value, (dx, ds) = f(x, s)
        assert value == 14.0 * s and ds == 14.0
        np.testing.assert_array_equal(dx, 2.0 * s * x)
    assert len(generals) == 1


def test_the_function_itself():
    f, x = sdgrad.compile_forward(two), np.arange(3.0)
    first, again = f(x), f(x)
    for found in (first, again):
        np.testing.assert_array_equal(found[0], 2 * x)
        assert found[1] == 3.0 and np.shape(found[1]) == ()
    assert first[0] is not again[0]


class Layer(NamedTuple):
    W: np.ndarray
    b: np.ndarray


@dataclasses.dataclass
class Model:
    layers: list
    scale: float


def of_pairs(layers, x):
    for W, b in layers:
        x = np.tanh(x * W + b)
    return np.sum(x)


def of_a_dict(params, x):
    for k in range(2):
        x = np.tanh(x * params[f"W{k}"] + params["more"][0][f"b{k}"])
    return np.sum(x) * (1.0 if params["none"] is None else 2.0)


def of_a_model(model, x):
    return of_pairs(model.layers, x) * model.scale


def pairs(k):
    return [(SCALE + k, SCALE * k), (SCALE - k, SCALE)]


NESTS = {
    "lists of tuples": (of_pairs, pairs),
    "named tuples": (of_pairs, lambda k: tuple(Layer(*p) for p in pairs(k))),
    "dicts": (
        of_a_dict,
        lambda k: (
            {f"W{i}": p[0] for i, p in enumerate(pairs(k))}
            | {"more": [{f"b{i}": p[1] for i, p in enumerate(pairs(k))}], "none": None}
        ),
    ),
    "dataclasses": (of_a_model, lambda k: Model(pairs(k), 0.5 + k)),
}


def arrays(value):
    """The arrays and numbers of a nest, in order."""
    if dataclasses.is_dataclass(value):
        value = [getattr(value, f.name) for f in dataclasses.fields(value)]
    if isinstance(value, dict):
        value = [value[n] for n in sorted(value)]
    return [x for v in value for x in arrays(v)] if isinstance(value, (list, tuple)) else [value]


@pytest.mark.parametrize("name", NESTS)
def test_nests_are_direct(name, generals):
    """Of new objects at each call, keys of dicts too."""
    f, make = NESTS[name]
    points = (0.1, 0.2, 0.3, 0.4)
    slopes = [sdgrad.grad(f)(make(k), SCALE.copy()) for k in points]
    both = sdgrad.value_and_grad(f)
    both(make(0.1), SCALE.copy())
    count = len(generals)
    for k, slope in zip(points, slopes, strict=True):
        gc.collect()
        value, gradient = both(make(k), SCALE.copy())
        assert value == pytest.approx(f(make(k), SCALE), rel=1e-14) and type(gradient) is type(slope)
        for found, right in zip(arrays(gradient), arrays(slope), strict=True):
            np.testing.assert_array_equal(found, right)
    assert len(generals) == count


def test_another_nest_is_another_call():
    both = sdgrad.value_and_grad(of_pairs)
    both(pairs(0.1), SCALE)
    for other in (pairs(0.2)[:1], tuple(pairs(0.2)), [list(p) for p in pairs(0.2)], [*pairs(0.2), *pairs(0.3)]):
        value, gradient = both(other, SCALE)
        assert value == pytest.approx(of_pairs(other, SCALE), rel=1e-14)
        assert type(gradient) is type(other) and type(gradient[0]) is type(other[0]) and len(gradient) == len(other)
    with_none = sdgrad.value_and_grad(of_a_dict)
    params = NESTS["dicts"][1](0.1)
    for none in (None, 1.0, None):
        given = {**params, "none": none}
        assert with_none(given, SCALE)[0] == pytest.approx(of_a_dict(given, SCALE), rel=1e-14)


def test_by_name(generals):
    both = sdgrad.value_and_grad(of_pairs, wrt="x")
    for given in ({"x": SCALE, "layers": pairs(0.1)}, {"layers": pairs(0.2), "x": SCALE}):
        value, gradient = both(**given)
        assert value == pytest.approx(of_pairs(**given), rel=1e-14) and gradient.shape == SCALE.shape
