"""Forward and backward as two functions: explicit tapes, what they hold, and how often they can be used."""

import threading

import numpy as np
import pytest
from references import assert_close

import sdgrad
from sdgrad.errors import ArgumentError, DifferentiationError, NameNotFound, TapeError  # noqa: F401

RNG = np.random.default_rng(5)
X, W = RNG.standard_normal((4, 3)), RNG.standard_normal((3, 3))


def layers(x, w):
    h = np.tanh(x @ w)
    z = np.tanh(h @ w)
    return np.sum(z * z), z


def layers_gradient(x, w, c, cz):
    h = np.tanh(x @ w)
    z = np.tanh(h @ w)
    dz = (2 * z * c + cz) * (1 - z * z)
    dh = (dz @ w.T) * (1 - h * h)
    return {"x": dh @ w.T, "w": x.T @ dh + h.T @ dz}


def time_steps(x, n):
    u = x * 1.0
    for _ in range(n):
        u[1:-1] = np.sin(u[1:-1]) + 0.1 * u[:-2] * u[2:]
    return np.sum(u * u)


def until(x):
    while np.sum(x) > 0.5:
        x = x * x * 0.9
    return np.sum(x)


def writes(x, y):
    y[:] = np.exp(x) * y
    x[0] = 0.0


MODES = ["least", "all", "none", ["h"], ["h", "t"]]


@pytest.mark.parametrize("tapes", MODES, ids=str)
def test_what_is_kept_changes_no_gradient(tapes):
    forward, backward = sdgrad.grad(layers, requires=["x", "w"], tapes=tapes)
    (value, z), tape = forward(X, W)
    assert_close(value, np.sum(z * z), 1e-12, "value")
    c, cz = 0.7, RNG.standard_normal(z.shape)
    for _ in range(2):  # a tape is used any number of times
        found = backward(tape, out_0=c, out_1=cz)
        for name, gradient in layers_gradient(X, W, c, cz).items():
            assert_close(found[name], gradient, 1e-12, f"{name} with {tapes}")
    assert tape.nbytes == 0 if tapes == "none" else tape.nbytes > 0


@pytest.mark.parametrize("tapes", ["least", "all", "none"])
@pytest.mark.parametrize("f, arguments", [(time_steps, (X[:, 0], 5)), (until, (np.array([0.9, 0.8]),))])
def test_loops(f, arguments, tapes):
    want = sdgrad.grad(f)(*arguments)
    forward, backward = sdgrad.grad(f, requires=["x"], tapes=tapes)
    _, tape = forward(*arguments)
    for _ in range(2):
        assert np.array_equal(backward(tape)["x"], want)


def test_less_is_kept_where_values_are_computed_again():
    sizes = {}
    for tapes in ("least", "all", "none"):
        _, tape = sdgrad.grad(time_steps, requires=["x"], tapes=tapes)[0](X[:, 0], 50)
        sizes[tapes] = tape.nbytes
    assert sizes["none"] <= 8 < sizes["least"] <= sizes["all"]  # the number of trips


def test_several_forwards_before_a_backward():
    forward, backward = sdgrad.grad(time_steps, requires=["x"])
    inputs = [RNG.standard_normal(6) for _ in range(3)]
    tapes = [forward(x, 4)[1] for x in inputs]
    for x, tape in zip(inputs, tapes, strict=True):
        assert np.array_equal(backward(tape)["x"], sdgrad.grad(time_steps)(x, 4))


def test_arguments_that_are_written():
    """A function without results provides what it writes; the caller's arrays stay as they are."""
    x, y = X[0].copy(), W[0].copy()
    forward, backward = sdgrad.grad(writes, requires=["x", "y"], provides=["y"], tapes="none")
    outputs, tape = forward(x, y)
    assert np.array_equal(x, X[0]) and np.array_equal(y, W[0])
    assert_close(outputs[1] if isinstance(outputs, tuple) else outputs, np.exp(x) * y, 1e-14, "y")
    found = backward(tape, y=np.ones(3))
    assert_close(found["x"], np.exp(x) * y, 1e-12, "x")
    assert_close(found["y"], np.exp(x), 1e-12, "dy")


def test_attached():
    g = sdgrad.grad(layers, requires=["x"], provides=["out_1"], attach_backward=True)
    _, z = g(X, W)
    assert g.input_name_to_gradient_name == {"x": "grad_x"}
    assert g.output_name_to_gradient_name["out_1"] == "grad_out_1"
    found = g.backward(**{g.output_name_to_gradient_name["out_1"]: np.ones_like(z)})
    assert_close(found["x"], layers_gradient(X, W, 0.0, np.ones_like(z))["x"], 1e-12, "x")


def test_threads():
    """Each thread goes back through its own call."""
    g = sdgrad.grad(time_steps, requires=["x"], attach_backward=True)
    g(X[:, 0], 5)
    inputs = [RNG.standard_normal(50) for _ in range(8)]
    want = [sdgrad.grad(time_steps)(x, 5) for x in inputs]
    found = [None] * len(inputs)
    gate = threading.Barrier(len(inputs))

    def work(k):
        gate.wait()
        for _ in range(20):
            g(inputs[k], 5)
            found[k] = g.backward()["x"]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(inputs))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for a, b in zip(found, want, strict=True):
        assert_close(a, b, 1e-14, "thread")


def test_gradients_accumulate_into_given_arrays():
    forward, backward = sdgrad.grad(time_steps, requires=["x"])
    _, tape = forward(X[:, 0], 3)
    want, into = sdgrad.grad(time_steps)(X[:, 0], 3), np.ones(4)
    assert backward(tape, into={"x": into})["x"] is into
    backward(tape, into={"x": into})
    assert_close(into, 1 + 2 * want, 1e-12, "sum")
    sdgrad.zero_grad(into)
    assert not into.any()


def test_an_argument_changed_since_is_found_in_checked_mode():
    x = X[:, 0].copy()
    forward, backward = sdgrad.grad(time_steps, requires=["x"])
    with sdgrad.config.override(checked=True):
        _, tape = forward(x, 3)
        backward(tape)
        x[1] += 1.0
        with pytest.raises(TapeError, match="argument 'x' has been changed since"):
            backward(tape)


def merged(x, w):
    s = np.sin(x)
    return np.sum(s * s) + np.sum(w)


def kept(x):
    t = np.zeros(5)
    for i in range(1, 5):
        t[i] = np.sin(x[i]) * t[i - 1] + x[i]
    return np.sum(t)


def test_a_variable_has_its_name_even_if_temporaries_are_called_so():
    forward, backward = sdgrad.grad(kept, requires=["x"], tapes=["t"])
    value, tape = forward(np.arange(5.0))
    assert tape.nbytes >= 40
    assert np.allclose(backward(tape, out=1.0)["x"], sdgrad.grad(kept)(np.arange(5.0)))


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: sdgrad.grad(layers, requires=["v"]), NameNotFound, "no argument named 'v'"),
        (lambda: sdgrad.grad(layers, provides=["out"]), ArgumentError, "go with requires"),
        (lambda: sdgrad.grad(layers, requires=["x"], tapes="some"), ArgumentError, "tapes is"),
        (lambda: _both(layers, provides=["out_7"]), NameNotFound, "output named 'out_7'"),
        (lambda: _both(layers, tapes=["q"]), NameNotFound, "variable to store named 'q'"),
        (lambda: _both(merged, tapes=["s"]), ArgumentError, "(?s)'s' of merged is no array in memory.*to keep it"),
        (lambda: _both(layers)(out=1.0), NameNotFound, "no cotangent named 'out'"),
        (lambda: _both(layers)(), ArgumentError, "backward needs a cotangent: out_0, out_1"),
        (lambda: _both(layers)(out_1=1.0), ArgumentError, "cotangent of out_1: expected shape"),
        (lambda: _both(layers)(out_0=1.0, into={"q": X}), NameNotFound, "no gradient named 'q'"),
        (lambda: sdgrad.grad(until, requires=["x"], attach_backward=True).backward(), TapeError, "not been called"),
    ],
)
def test_wrong_use(call, error, message):
    with pytest.raises(error, match=message):
        call()


def _both(f, **settings):
    forward, backward = sdgrad.grad(f, requires=["x"], **settings)
    _, tape = forward(X, W)
    return lambda **given: backward(tape, **given)


def changed_in_place(x):
    y = np.copy(x)
    y[1:] = np.sin(y[1:])
    a = y @ W.T
    b = np.exp(0.1 * (a @ W))
    y[:2] *= b[1:3]
    y[1] = np.sin(y[0])
    return np.sum(y * b * (y @ W)) + np.sum(a * a * b)


@pytest.mark.parametrize("tapes", ["all", "none", ["y"], ["a"], ["b"], ["y", "a"], ["y", "b"]])
def test_what_was_read_before_a_change_is_not_kept(tapes):
    """A variable that is kept has its last content; what reads an earlier one starts before it."""
    x = RNG.standard_normal(W.shape)
    forward, backward = sdgrad.grad(changed_in_place, requires=["x"], tapes=tapes)
    found = backward(forward(x)[1])["x"]
    h = 1e-5 * RNG.standard_normal(x.shape)
    assert np.sum(found * h) == pytest.approx((changed_in_place(x + h) - changed_in_place(x - h)) / 2, rel=1e-6)


def test_what_to_start_from_is_kept():
    """Backward does not read ``a`` itself, but computes from it what it reads."""

    def steps(x):
        a = np.sort(x) @ W
        b = a + 1.0
        return np.sum(np.exp(0.1 * b) * b)

    x = RNG.standard_normal((len(X), len(W)))
    forward, backward = sdgrad.grad(steps, requires=["x"], tapes=["a"])
    _, tape = forward(x)
    assert tape.nbytes >= x.nbytes
    assert np.allclose(backward(tape)["x"], sdgrad.grad(steps)(x), rtol=1e-13)
