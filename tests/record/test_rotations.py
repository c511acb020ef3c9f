"""Rotations of ``scipy.spatial.transform``: values beside SciPy's, and derivatives beside differences of these."""

import itertools

import jax
import numpy as np
import pytest
from jax.scipy.spatial.transform import Rotation as JaxRotation
from scipy.spatial.transform import Rotation as R
from scipy.spatial.transform import RotationSpline, Slerp

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.testing import check_grads

X, Q, V = np.array([0.5, -1.5, 0.7]), np.array([0.3, -0.2, 0.5, 0.9]), np.arange(6.0).reshape(2, 3)
GIVEN = R.from_euler("xyz", [0.1, 0.2, 0.3])
M = GIVEN.as_matrix()
STACK = R.from_rotvec(np.random.default_rng(0).standard_normal((4, 3)))
TIMES = np.array([0.0, 1.0, 2.5, 3.0])
SEQUENCES = [s for f in ("xyz", "XYZ") for s in map("".join, itertools.product(f, f, f)) if s[0] != s[1] != s[2]]


PATH = Slerp(TIMES, STACK)
NEAR, WEIGHTS = np.random.default_rng(1).standard_normal((4, 3)), np.array([1.0, 0.5, 2.0, 0.25])
FAR = STACK[0].apply(NEAR) + 0.1 * np.random.default_rng(2).standard_normal((4, 3))


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
    (lambda v: R.from_rotvec(v).as_euler("xyz", degrees=True), V + 0.1, X),
    (lambda v: R.from_rotvec(v).as_euler("ZXZ"), V + 0.1, X, -X[::-1]),
    (lambda v: R.from_mrp(v).as_mrp(), V / 8, X, 2.5 * X),
    (lambda v: R.concatenate([R.from_rotvec(v), GIVEN, STACK]).as_matrix()[1:4], V),
    (lambda t: Slerp(TIMES, STACK)(t).as_matrix(), np.array([0.0, 0.3, 1.0, 2.6, 3.0])[[1, 3]], 0.7),
    (lambda v: Slerp(TIMES[:2], R.from_rotvec(v))([0.0, 0.4, 1.0]).as_quat(), V),
    (lambda t: Slerp(t, STACK)(1.3).as_matrix(), TIMES),
    (lambda t: PATH(t).as_rotvec(), np.array([0.3, 2.6])),
    (lambda v: R.from_rotvec(v).mean().as_matrix(), V, V[:1], STACK.as_rotvec()),
    (lambda w: STACK.mean(w).as_quat(canonical=True), np.array([1.0, 0.5, 2.0, 0.0]) + 0.1),
    (lambda a: R.align_vectors(a, NEAR)[0].as_quat(), FAR),
    (lambda a: R.align_vectors(FAR, a, WEIGHTS)[1], NEAR),
    (lambda a: R.align_vectors(a, NEAR[:2])[0].as_matrix(), FAR[:2]),
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
            lambda x: R.from_rotvec(x).as_davenport([1, 0, 0], "extrinsic")[0],
            "'as_davenport' of a Rotation is not recorded: write the",
        ),
        (lambda x: RotationSpline([0, 1], R.from_rotvec(np.stack([x, x])))(0.3).as_quat()[0], "RotationSpline of what"),
        (lambda x: RotationSpline([0, 1], STACK[:2])(x[0]).as_quat()[0], "RotationSpline is not recorded: use Slerp"),
        (lambda x: R.from_rotvec(x).mean(axis=0).as_quat()[0], "axis= is not recorded"),
        (lambda x: R.align_vectors(x, V[0])[1], "of one pair is not recorded"),
        (lambda x: R.align_vectors([x, X], V, return_sensitivity=True)[1], "return_sensitivity=True is not recorded"),
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


def test_euler_angles_of_all_sequences():
    """Rotations whose second angle is not, almost, and exactly at an end of its range."""
    given = np.concatenate([STACK.as_quat(), [s * np.roll([0.6, 0, 0, 0.8], k) for k in range(4) for s in (1, -1)]])
    near = R.from_euler("xyz", [[0.3, np.pi / 2, 0.2], [0.3, -np.pi / 2, 0.2], [0.3, np.pi / 2 - 1e-5, 0.2]]).as_quat()
    given = np.concatenate([given, near])

    def angles(q):
        return np.stack([R.from_quat(q).as_euler(s, suppress_warnings=True) for s in SEQUENCES])

    found, wanted = sdgrad.compile_forward(angles)(given), angles(given)
    assert len(SEQUENCES) == 24
    turn = np.abs(np.mod(found - wanted + 1.0, 2 * np.pi) - 1.0)  # pi is -pi
    np.testing.assert_allclose(turn, 0.0, atol=1e-9)


@pytest.mark.parametrize("seq", ["xyz", "XYZ", "zxz", "ZXZ"])
def test_euler_angles_are_inverse_to_their_rotation(seq):
    at = np.array([0.4, 0.9, -0.6])
    slope = sdgrad.jacobian(lambda a: R.from_euler(seq, a).as_euler(seq))(at)
    np.testing.assert_allclose(slope, np.eye(3), atol=1e-13)
    bend = sdgrad.hessian(lambda a: R.from_euler(seq, a).as_euler(seq) @ at)(at)
    np.testing.assert_allclose(bend, 0.0, atol=1e-12)


@pytest.mark.parametrize("seq", ["yzx", "XYZ", "YXY"])
def test_euler_angles_beside_jax(seq):
    def own(kind):
        return lambda x: kind.from_rotvec(x).as_euler(seq) @ V[1]

    at = np.array([0.5, -0.4, 0.9])
    np.testing.assert_allclose(sdgrad.grad(own(R))(at), jax.grad(own(JaxRotation))(at), rtol=1e-12)
    np.testing.assert_allclose(sdgrad.hessian(own(R))(at), jax.hessian(own(JaxRotation))(at), rtol=1e-11, atol=1e-13)


def test_second_derivatives_of_nearest_rotations():
    """Of two rotations as well, where two of the other eigenvalues are zero."""

    def total(v, a):
        turn, rest = R.align_vectors(a, NEAR)
        mean = R.from_rotvec(v).mean() * R.from_rotvec(v[:2]).mean()
        return np.sum(mean.as_matrix() * FAR[:3]) + np.sum(turn.as_matrix() * NEAR[:3]) + rest

    check_grads(total, (STACK.as_rotvec(), FAR), order=2)


@pytest.mark.parametrize(("seq", "second"), [("xyz", np.pi / 2), ("XZY", -np.pi / 2), ("zxz", 0.0), ("YXY", np.pi)])
def test_euler_angles_have_no_derivatives_where_two_have_one_axis(seq, second):
    at = np.array([0.4, second, -0.6])
    slope = sdgrad.jacobian(lambda a: R.from_euler(seq, a).as_euler(seq, suppress_warnings=True))(at)
    assert np.all(np.isnan(slope))
    value = sdgrad.compile_forward(lambda a: R.from_euler(seq, a).as_euler(seq))(at)
    with pytest.warns(UserWarning, match="Gimbal lock"):
        np.testing.assert_allclose(value, R.from_euler(seq, at).as_euler(seq), atol=1e-8)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda x: R.from_rotvec(x).as_euler("xy"), "Expected 3 axes"),
        (lambda x: R.from_rotvec(x).as_euler("xYz"), "to be from"),
        (lambda x: R.from_rotvec(x).as_euler("xxz"), "consecutive axes"),
        (lambda x: Slerp(x, STACK)(1.0).as_quat(), "equal to number of timestamps"),
        (lambda x: Slerp(x[:1], R.from_rotvec(x))(1.0).as_quat(), "at least 2 rotations"),
        (lambda x: Slerp(x, STACK[:3])(0.0).as_quat(), "strictly increasing"),
        (lambda x: PATH(x).as_quat(), "within the range"),
        (lambda x: STACK[:3].mean(x).as_quat(), "non-negative"),
        (lambda x: R.align_vectors(x, V)[1], "same shapes"),
    ],
)
def test_wrong_arguments(function, told):
    with pytest.raises(ValueError, match=told):
        sdgrad.compile_forward(function)(X)
