"""Real and imaginary parts, written and assigned."""

import numpy as np
import pytest

import sdgrad
from sdgrad.testing import check_grads

X = np.array([0.5, 1.5, -0.7, 2.0])


def one_sided_spectrum(x):
    z = np.fft.rfft(x)
    power = (z * z.conj()).real
    power[1:-1] *= 2
    return np.sum(np.log1p(power))


def function_of_numpy(x):
    p = np.imag(np.fft.fft(x))
    p[0] = x[1] ** 2
    return np.sum(p**2)


def written_in_a_loop(x):
    power = np.abs(np.fft.fft(x)) * (1.0 + 1j)
    p = power.imag
    for k in range(3):
        p[k] *= x[k]
    return np.sum(p**2)


def assigned(x):
    z = np.zeros(4, complex)
    z.real = x
    z.imag = x**2
    z[1:].imag = 3.0 * x[0]
    return np.sum(np.abs(z) ** 3)


def assigned_beside_what_is_no_number(x):
    z = np.full(4, complex(0.0, np.inf))
    z.real = x * x
    return np.sum(z.real)


def updated(x):
    z = np.exp(1j * x) * x
    z.real *= 2.0
    z.imag -= x
    return np.sum(np.abs(z) ** 2)


def of_real_numbers(x):
    x = x * 1.0
    x.real[1] = 3.0 * x[0]
    x.real *= 2.0
    return np.sum(x**2) + np.sum(x.imag)


def other_half(x):
    z = x + 1j * x
    p = z.real
    p[1] = 0.0
    return np.sum(np.abs(z))


def known_before(x):
    z = np.zeros(4, complex)
    p = np.real(z)
    p[:] = x
    return np.sum(np.abs(z))


PROGRAMS = [one_sided_spectrum, function_of_numpy, written_in_a_loop, assigned, assigned_beside_what_is_no_number]
PROGRAMS += [updated, of_real_numbers, other_half, known_before]


@pytest.mark.parametrize("f", PROGRAMS, ids=[f.__name__ for f in PROGRAMS])
def test_value_and_gradient(f):
    assert sdgrad.value_and_grad(f)(X)[0] == pytest.approx(f(X.copy()), rel=1e-12)
    check_grads(f, (X,))


def test_wrong_parts():
    def complex_part(x):
        z = x * 1j
        z.real = z
        return np.sum(z.real)

    def imaginary_part_of_a_real_array(x):
        x = x * 1.0
        x.imag = 3.0
        return np.sum(x)

    for f in (complex_part, imaginary_part_of_a_real_array):
        with pytest.raises(TypeError):
            sdgrad.grad(f)(X)
