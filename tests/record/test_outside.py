"""What a call reads outside of the function is what is there at the call."""

import numpy as np
import pytest
import scipy.sparse

import sdgrad
from sdgrad.errors import SdgradError

X = np.array([1.0, 2.0, 3.0])


class Settings:
    def __init__(self):
        self.factor = 3.0
        self.weights = np.ones(3)


factor = 2.0
weights = np.ones(3)
entries = [1.0, 2.0, np.ones(3)]
by_name = {"a": 1.0}
settings = Settings()


def of_everything(x):
    return factor * np.sum(x * weights) * settings.factor + np.sum(settings.weights * x) * entries[1] * by_name["a"]


def wanted():
    return factor * settings.factor * weights + settings.weights * entries[1] * by_name["a"]


def test_state_is_read_at_each_call():
    global factor, weights, settings
    g = sdgrad.grad(of_everything)

    def check():
        np.testing.assert_allclose(g(X), wanted())

    check()
    factor = 5.0
    check()
    weights[:] = 7.0
    check()
    weights = np.arange(3.0)
    check()
    settings.factor = 1.0
    check()
    settings.weights = np.full(3, 2.0)
    check()
    entries[1] = -1.0
    check()
    by_name["a"] = 4.0
    check()
    settings = Settings()
    check()


def test_cells_helpers_and_defaults():
    scale = 2.0

    def square(x, power=2):
        return np.sum(x**power)

    def cube(x, power=3):
        return np.sum(x**power)

    helper = square

    def f(x):
        return scale * helper(x)

    g = sdgrad.grad(f)
    np.testing.assert_allclose(g(X), 4 * X)
    scale = 3.0
    np.testing.assert_allclose(g(X), 6 * X)

    helper = cube
    np.testing.assert_allclose(g(X), 9 * X**2)


def test_earlier_values_need_no_new_program():
    from sdgrad.specialize.signature import Signature

    values = {"k": 1.0}

    def f(x):
        return values["k"] * np.sum(x)

    first = Signature.of(f, {"x": X})
    values["k"] = 2.0
    assert Signature.of(f, {"x": X}) is not first
    values["k"] = 1.0
    assert Signature.of(f, {"x": X}) is first


def test_contents_that_python_needs():
    sizes = np.array([2, 1])

    def f(x):
        y = np.zeros(sizes[0])
        y[:] = x[: sizes[0]]
        return np.sum(y**2)

    g = sdgrad.grad(f)
    np.testing.assert_allclose(g(X), [2, 4, 0])
    sizes[0] = 3
    np.testing.assert_allclose(g(X), [2, 4, 6])


def test_sizes_and_places_that_are_computed_from_contents():
    edges = np.array([[0, 1], [1, 2], [2, 0], [0, 2]])

    def f(x):
        n = edges.max() + 1
        degree = np.bincount(edges.ravel(), minlength=n)
        a = np.zeros((n, n))
        a[edges[:, 0], edges[:, 1]] = 1.0
        near = [np.flatnonzero(edges[:, 0] == k) for k in range(n)]
        ends = np.r_[edges[:, 0], edges[:, 1]]
        m = scipy.sparse.coo_array((np.ones(len(ends)), (ends, ends))).tocsr()
        return (
            x @ (np.diag(degree) - a) @ x
            + sum(np.sum(x[g % n]) for g in near)
            + x @ (scipy.sparse.csr_array(a) @ x)
            + m.sum()
        )

    value, gradient = sdgrad.value_and_grad(f)(X)
    assert value == f(X)
    np.testing.assert_allclose(gradient, [(f(X + d) - f(X - d)) / 2e-3 for d in 1e-3 * np.eye(3)], rtol=1e-8)
    edges[3] = [1, 0]
    np.testing.assert_allclose(sdgrad.grad(f)(X), [(f(X + d) - f(X - d)) / 2e-3 for d in 1e-3 * np.eye(3)], rtol=1e-8)


def test_arrays_have_the_methods_of_numpy():
    def f(x):
        return 2.0 * np.sum(x) if hasattr(x, "ptp") or hasattr(x[x > 0], "ptp") else np.sum(x)

    assert np.all(sdgrad.grad(f)(X) == (2.0 if hasattr(X, "ptp") else 1.0))


def test_methods_and_objects():
    class Loss:
        def __init__(self, scale):
            self.scale = scale

        def value(self, x):
            return self.scale * np.sum(x * x)

        def __call__(self, x):
            return self.value(x)

    loss = Loss(2.0)
    for f in (loss.value, loss):
        np.testing.assert_allclose(sdgrad.grad(f)(X), 4 * X)
    loss.scale = 3.0
    np.testing.assert_allclose(sdgrad.grad(loss.value)(X), 6 * X)


def test_lists_outside():
    seen = []

    def counts(x):
        seen.append(x.ndim)
        return np.sum(x)

    sdgrad.grad(counts)(X)
    assert seen == [1]

    def leaks(x):
        seen.append(x[0])
        return np.sum(x)

    with pytest.raises(SdgradError, match="exists outside"):
        sdgrad.grad(leaks)(X)


def test_arrays_outside_are_not_written():
    def f(x):
        weights[0] = x[0]
        return np.sum(weights)

    with pytest.raises(SdgradError, match=r"(?s)test_outside.py:\d+.*pass it as an argument"):
        sdgrad.grad(f)(X)


ROWS = {"a": X, "b": [X, X]}


def test_one_array_at_several_places_that_part():
    """The others were those of the first place for ever."""
    g = sdgrad.value_and_grad(lambda x: np.sum(ROWS["a"] * x) + 10 * (ROWS["b"][0] @ x) + 100 * (ROWS["b"][1] @ x))
    for places in ([X, [X, X]], [X, [2 * X, X]], [3 * X, [X, X]], [X, [X, 5 * X]], [X, [X, X]]):
        ROWS["a"], ROWS["b"][:] = places
        wanted = ROWS["a"] + 10 * ROWS["b"][0] + 100 * ROWS["b"][1]
        value, gradient = g(X)
        assert value == pytest.approx(wanted @ X)
        np.testing.assert_allclose(gradient, wanted)


SCALES = {"s": np.ones(3)}


@pytest.mark.parametrize(
    "inner",
    [
        lambda x: sdgrad.grad(lambda y: np.sum(y * y * SCALES["s"]))(x),
        lambda x: 2 * sdgrad.vmap(lambda y: y * SCALES["s"])(np.stack([x]))[0],
        lambda x: 2 * sdgrad.root(lambda y: y / SCALES["s"] - x, np.ones(3)),
    ],
    ids=["gradient", "vmap", "root"],
)
def test_what_functions_called_inside_read_is_read_again(inner):
    """An array that took the place of another one was not seen: the first one was a part of the program."""
    g = sdgrad.value_and_grad(lambda x: np.sum(inner(x) ** 2))
    x = np.array([0.5, 1.0, 2.0])
    for _ in range(2):
        value, gradient = g(x)
        assert value == pytest.approx(np.sum((2 * x * SCALES["s"]) ** 2))
        np.testing.assert_allclose(gradient, 8 * x * SCALES["s"] ** 2)
        SCALES["s"] = SCALES["s"] * 3.0
    SCALES["s"] = np.ones(3)
