"""Jacobians with complex numbers: one convention for both modes, and what has no derivative is refused."""

import numpy as np
import pytest

import sdgrad
from sdgrad.errors import ArgumentError, NotScalarError

Z = np.array([1 + 2j, 0.5 - 1j])
MODES = ["auto", "forward", "reverse"]


def holomorphic(z):
    return np.array([z[0] ** 2 * z[1], np.exp(z[1]), z[0] / z[1]])


def derivative(z):
    a, b = z
    return np.array([[2 * a * b, a * a], [0, np.exp(b)], [1 / b, -a / b**2]])


@pytest.mark.parametrize("mode", MODES)
def test_of_holomorphic_functions(mode):
    found = sdgrad.jacobian(holomorphic, mode=mode, holomorphic=True)(Z)
    np.testing.assert_allclose(found, derivative(Z), rtol=1e-13)
    inside = sdgrad.compile_forward(lambda z: sdgrad.jacobian(holomorphic, mode=mode, holomorphic=True)(z) * 1)
    np.testing.assert_allclose(inside(Z), derivative(Z), rtol=1e-13)


@pytest.mark.parametrize("mode", MODES)
def test_of_complex_numbers(mode):
    assert sdgrad.jacobian(lambda z: z**3, mode=mode, holomorphic=True)(1 + 2j) == pytest.approx(3 * (1 + 2j) ** 2)


@pytest.mark.parametrize("mode", ["auto", "forward"])
def test_of_complex_results_by_real_arguments(mode):
    found = sdgrad.jacobian(lambda x: np.array([1j * x[0] + x[1], x[2] ** 2 * 1j]), mode=mode)(np.arange(1.0, 6.0))
    np.testing.assert_allclose(found, [[1j, 1, 0, 0, 0], [0, 0, 6j, 0, 0]])


@pytest.mark.parametrize("mode", ["auto", "reverse"])
def test_of_real_results_by_complex_arguments(mode):
    """Each row is the gradient that ``grad`` returns, of steepest ascent."""
    found = sdgrad.jacobian(lambda z: np.abs(z) ** 2 * np.real(z[0]), mode=mode)(Z)
    rows = [sdgrad.grad(lambda z, k=k: np.abs(z[k]) ** 2 * np.real(z[0]))(Z) for k in range(2)]
    np.testing.assert_allclose(found, rows, rtol=1e-13)


def test_what_is_refused():
    def real(z):
        return np.array([np.abs(z[0]), np.real(z[1])])

    with pytest.raises(ArgumentError, match="pass holomorphic=True if the function is"):
        sdgrad.jacobian(holomorphic)(Z)
    for f in (np.conj, lambda z: z * np.abs(z), lambda z: np.real(z) + 0j * z, lambda z: np.imag(z) * z):
        with pytest.raises(ArgumentError, match="not holomorphic: it takes a conjugate, a modulus, or a part"):
            sdgrad.jacobian(f, holomorphic=True)(Z)
    with pytest.raises(ArgumentError, match="real result by a complex argument needs mode='reverse'"):
        sdgrad.jacobian(real, mode="forward")(Z)
    with pytest.raises(ArgumentError, match="complex result by a real argument needs mode='forward'"):
        sdgrad.jacobian(lambda x: x * 1j, mode="reverse")(np.ones(2))
    with pytest.raises(NotScalarError, match=r"returns a complex number; grad needs a real one: return np.real"):
        sdgrad.grad(lambda z: z[0] ** 2)(Z)
    with pytest.raises(ArgumentError, match="pass holomorphic=True"):
        sdgrad.hessian(lambda z: np.abs(z[0]) ** 2)(Z)
