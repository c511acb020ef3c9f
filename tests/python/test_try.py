"""Exceptions that only a run raises, handlers that would catch them, and NumPy's errors of linear algebra."""

import numpy as np
import pytest

import sdgrad
from sdgrad.errors import ParseError

MATRICES = {
    "positive": np.array([[2.0, 0.5], [0.5, 1.0]]),
    "negative": -np.eye(2),
    "zero": np.zeros((2, 2)),
    "singular": np.ones((2, 2)),
    "not a number": np.eye(2) * np.nan,
    "again": np.eye(2) * 3,
}


def cholesky(A):
    return np.sum(np.linalg.cholesky(A))


def inverse(A):
    return np.sum(np.linalg.inv(A))


def solution(A):
    return np.sum(np.linalg.solve(A, np.ones(2)))


def outcome(f, A):
    """A value, or what an error says; before it, ours show the user's line."""
    try:
        return f(A)
    except np.linalg.LinAlgError as error:
        return str(error).splitlines()[-1]


@pytest.mark.parametrize("f", [cholesky, inverse, solution], ids=lambda f: f.__name__)
def test_errors_of_linear_algebra_are_those_of_numpy(f):
    compiled = sdgrad.compile_forward(f)
    for name, A in MATRICES.items():
        found, wanted = outcome(compiled, A), outcome(f, A)
        if isinstance(wanted, str):
            assert found == wanted, name
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


def jitter(A):
    try:
        L = np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        L = np.linalg.cholesky(A + 3 * np.eye(2))
    return np.sum(L**2)


def root(A):
    try:
        if A[0, 0] < 0:
            raise ValueError("negative")
        return np.sqrt(A[0, 0])
    except ValueError:
        return -A[0, 0] * 3


def asserted(A):
    try:
        assert A[0, 0] > 0
    except (TypeError, AssertionError):
        return A[0, 1]
    return A[0, 0]


def everything(A):
    try:
        return np.packbits(A)[0]
    except Exception:
        return A[0, 0]


@pytest.mark.parametrize("f", [jitter, root, asserted], ids=lambda f: f.__name__)
def test_what_only_a_run_raises_is_not_caught(f):
    with pytest.raises(ParseError, match=r"(?s)test_try.py:\d+\n.*an 'except' of the function would catch it"):
        sdgrad.value_and_grad(f)(np.eye(2))


def test_a_refusal_is_not_caught():
    with pytest.raises(ParseError, match=r"numpy.packbits has no derivative"):
        sdgrad.value_and_grad(everything)(np.eye(2))


def test_other_handlers_catch_what_python_raises():
    def chosen(x, kind="cos"):
        try:
            f = {"sin": np.sin}[kind]
        except KeyError:
            f = np.cos
        try:
            y = f(x)
            if x[0] < 0:
                raise ValueError("negative")
        except ZeroDivisionError:
            y = x
        finally:
            z = x * 2
        return np.sum(y * z)

    x = np.array([0.3, 0.7])
    f = sdgrad.compile_forward(chosen)
    for kind in ("sin", "cos"):
        assert f(x, kind) == pytest.approx(chosen(x, kind))
    with pytest.raises(ValueError, match="negative"):
        f(-x, "sin")


def test_divisions_by_known_numbers_raise_nothing():
    def halves(x):
        try:
            return x / 2 * 3 + x // 4
        except ZeroDivisionError:
            return 0.0

    assert sdgrad.value_and_grad(halves)(5.0) == (pytest.approx(8.5), 1.5)


class Network:
    def __init__(self):
        self.weights = [np.eye(2), np.eye(2) * 0.5]

    def activation(self, z):
        return np.tanh(z)

    def forward(self, x):
        self.cache, self.named = [], {}
        for W in self.weights:
            x = self.activation(W @ x)
            self.cache.append(x)
            self.named["last"] = x
        return np.sum(self.cache[0] * self.cache[1]) + np.sum(self.named["last"])


def test_lists_that_a_method_keeps():
    x = np.array([0.3, 0.7])
    assert sdgrad.value_and_grad(Network().forward)(x)[0] == pytest.approx(Network().forward(x))


def test_methods_that_call_methods_are_recorded_once(monkeypatch):
    from sdgrad.specialize import signature

    made, own = [], signature.record
    monkeypatch.setattr(signature, "record", lambda f, arguments, **more: made.append(f) or own(f, arguments, **more))
    gradient = sdgrad.grad(Network().forward)
    for _ in range(3):
        gradient(np.array([0.3, 0.7]))
    assert len(made) == 1
