"""Rotations of ``scipy.spatial.transform``: values beside SciPy's, and derivatives beside differences of these."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation as R
from scipy.spatial.transform import Slerp

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.testing import check_grads

X, Q, V = np.array([0.5, -1.5, 0.7]), np.array([0.3, -0.2, 0.5, 0.9]), np.arange(6.0).reshape(2, 3)
GIVEN = R.from_euler("xyz", [0.1, 0.2, 0.3])
M = GIVEN.as_matrix()


def turned(x):
    r, total = R.identity(), 0.0
    for k in range(3):
        r = r * R.from_rotvec(x * (k + 1))
        total = total + r.apply(x)[0]
    return total


CASES = [
    (lambda x: R.from_rotvec(x).as_matrix(), X, 0 * X, 1e-4 * X),
    (lambda x: R.from_rotvec(x).as_rotvec(), X, 0 * X, 1e-4 * X, V),
    (lambda x: R.from_rotvec(x, degrees=True).as_rotvec(degrees=True), 40 * X),
    (lambda q: R.from_quat(q).as_matrix(), Q),
    (lambda q: R.from_quat(-q, scalar_first=True).as_quat(canonical=True, scalar_first=True), Q),
    (lambda a: R.from_euler("xyz", a).as_matrix(), X, V),
    (lambda a: R.from_euler("ZXZ", a).as_quat(), X),
    (lambda a: R.from_euler("y", a).as_matrix(), X[0], X[:1], X[:, None]),
    (lambda a: R.from_euler("XY", a, degrees=True).as_matrix(), 50 * X[:2]),
    (lambda m: R.from_matrix(m).as_quat(), M, np.eye(3), M + 0.05 * np.outer(X, X), np.stack([M, M @ M + 0.01])),
    (lambda m: R.from_matrix(m).as_matrix(), *(np.diag(d) for d in ([1.0, -1, -1], [-1.0, 1, -1], [-1.0, -1, 1]))),
    (lambda v: R.from_rotvec(v + 0.1).apply(v, inverse=True), V),
    (lambda v: GIVEN.apply(v), V, V[0]),
    (lambda x: (GIVEN * R.from_rotvec(x).inv() * GIVEN).as_rotvec(), X),
    (lambda x: (R.from_rotvec(x) ** 2.5).as_quat(), X),
    (lambda v: R.from_rotvec(v)[1].magnitude(), V),
    (turned, X),
]


@pytest.mark.parametrize("k", range(len(CASES)))
def test_values_and_derivatives(k):
    function, *places = CASES[k]
    found = sdgrad.compile_forward(function)
    for at in places:
        wanted = np.asarray(function(at))
        np.testing.assert_allclose(found(at), wanted, rtol=1e-12, atol=1e-14)
        weights = np.cos(np.arange(wanted.size)).reshape(wanted.shape)
        check_grads(lambda x, weights=weights: np.sum(function(x) * weights), (at,))


def test_second_derivatives_at_no_rotation():
    """``exp`` of a skew matrix ends after the second power to second order."""
    bend = sdgrad.hessian(lambda x: R.from_rotvec(x).as_matrix()[0, 0])(np.zeros(3))
    np.testing.assert_allclose(bend, np.diag([0.0, -1.0, -1.0]), atol=1e-14)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (
            lambda x: R.from_rotvec(x).as_euler("xyz")[0],
            "'as_euler' of a Rotation is not recorded: write the",
        ),
        (lambda x: Slerp([0, 1], R.from_rotvec(np.stack([x, x])))(0.3).as_quat()[0], "Slerp is not recorded: write"),
    ],
)
def test_refused(function, told):
    with pytest.raises(ParseError, match=told):
        sdgrad.grad(function)(X)


def test_numbers_that_are_no_rotation():
    for function, at, told in (
        (lambda q: R.from_quat(q).as_matrix(), np.zeros(4), "zero norm"),
        (lambda m: R.from_matrix(m).as_quat(), -np.eye(3), "Non-positive determinant"),
    ):
        with pytest.raises(ValueError, match=told):
            sdgrad.compile_forward(function)(at)
