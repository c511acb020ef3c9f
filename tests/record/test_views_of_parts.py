"""Real and imaginary parts of complex arrays are views: writes through them, by every mode and half."""

import numpy as np
import pytest
from python.check import name_of

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.testing import check_grads

X, V = np.array([0.3, -0.7, 1.2, 0.4]), np.array([1.0, 0.2, -0.5, 0.9])
WEIGHTS = np.arange(1.0, 5.0)
PROGRAMS = []


def program(f):
    """Collect a program that changes a complex array; its result is a number of that array."""
    PROGRAMS.append(f)
    return f


def number(z):
    return np.sum((z * z).real * WEIGHTS) + np.sum(np.abs(z) ** 3)


@program
def slices(x, v):
    z = x * (1 + 2j)
    z.imag[:] = v
    z.real[...] = v * x
    z.imag[1:] = v[1:] ** 2
    z[::2].real[:1] = z.imag[3]
    z.imag[1] = v[0] * x[2]
    return number(z)


@program
def updates(x, v):
    z = x * (1 + 2j)
    z.real += v
    z.imag *= v
    z.real[1:3] *= x[1:3]
    z.imag[::-2] -= v[::2]
    z[1:].real /= v[1:]
    return number(z)


@program
def masks_and_indices(x, v):
    z = x * (1 + 2j)
    z.imag[x > 0] = 3.0
    z.real[v > 0] *= 2.0
    z.imag[z.real < 0] += v[z.real < 0]
    z.real[[1, 2]] = v[:2] * x[:2]
    np.add.at(z.real, [0, 0, 3], v[:3])
    np.maximum.at(z.imag, [3, 3], x[:2])
    return number(z)


@program
def masks_that_are_alike(x, v):
    z = x * (1 + 2j) * v - 0.1j
    return np.sum(x[z.real > 0]) + np.sum(v[z.imag > 0]) + np.sum((x * v)[(z.real > 0) & (z.imag > 0)])


@program
def names(x, v):
    z = x * (1 + 2j)
    w = z.imag
    w[1] = v[0] * v[1]
    u = w[::-1]
    u[0] *= v[2]
    z[2] *= 1j
    w += x
    return number(z) + np.sum(w * u)


@program
def loops(x, v):
    z = x * (1 + 2j)
    w = z.real
    for i in range(1, 4):
        z.imag[i] += z.real[i - 1] * v[i]
        w[i] = np.sin(z.imag[i] * w[i - 1])
    k = 0
    while np.sum(w) < 3 and k < 9:
        w += v**2
        z.imag *= 0.9
        k += 1
    return number(z)


@program
def branches(x, v):
    z = x * (1 + 2j)
    if x[0] > 0:
        z.real[:2] = v[:2]
    else:
        z.imag *= v
    w = z.real if v[0] > 0 else z.imag
    return number(z) + np.sum(w**2)


@program
def one_part_to_the_other(x, v):
    z = x * (1 + 2j) * v
    z.real[:] = z.imag
    z.imag = z.real * v
    z.real[:] = z.real[::-1]
    z.imag[1:] += z.imag[:-1]
    return number(z)


@program
def functions_that_write(x, v):
    z = x * (1 + 2j) * v
    np.clip(z.real, -0.5, 0.5, out=z.real)
    np.multiply(z.imag, v, out=z.imag)
    z.imag[2:].fill(2.0)
    np.put(z.real, [1], [v[0]])
    z.imag.sort()
    np.copyto(z.real, v * x, where=x > 0)
    return number(z)


@program
def arguments_of_functions(x, v):
    def change(a, b):
        a[1:] *= b[1:]
        a[0] = b[3]

    z = x * (1 + 2j)
    change(z.real, v)
    change(np.imag(z), x)
    return number(z)


@program
def matrices(x, v):
    z = np.outer(x, v) * (1 + 1j)
    z.T.imag[1:, 0] = x[1:]
    z.real.T[0] += v
    z.imag.reshape(-1)[3:5] = x[:2]
    np.fill_diagonal(z.imag, v)
    return number(z) + np.sum(z.real @ z.imag)


@program
def known_content(x, v):
    z = np.zeros(4, complex)
    z.imag[0] = 2.0
    z.real[:] = x
    z.imag[1:] = v[1:]
    return number(z)


@pytest.mark.parametrize("f", PROGRAMS, ids=name_of)
def test_program(f):
    check_grads(f, (X, V), 2, modes=("rev", "fwd"), rtol=1e-6)


@pytest.mark.parametrize("f", PROGRAMS, ids=name_of)
def test_doors(f):
    wanted = sdgrad.grad(f, (0, 1))(X, V)
    with sdgrad.config.override(optimization_level=0):
        for how in ({"tapes": "none"}, {"tapes": "all"}):
            forward, backward = sdgrad.grad(f, requires=("x", "v"), **how)
            found = backward(forward(X.copy(), V.copy())[1], out=1.0)
            assert np.allclose([found["x"], found["v"]], wanted, rtol=1e-12)
        many = sdgrad.vmap(sdgrad.grad(f, (0, 1)))(np.stack([X, 1.1 * X]), np.stack([V, V]))
        assert np.allclose([g[0] for g in many], wanted, rtol=1e-12)
        assert np.allclose(sdgrad.grad(f, (0, 1), memory_limit="min")(X, V), wanted, rtol=1e-12)


def test_an_argument_that_is_complex():
    def f(z, v):
        z.imag[1:] *= v[1:]
        w = z.real
        w[0] = v[0] * w[1]
        return np.sum(np.abs(z) ** 3)

    z = X * (1 + 0.5j)
    check_grads(f, (z, V), 2, modes=("rev", "fwd"))
    assert sdgrad.compile_forward(f)(z, V) == pytest.approx(f(z.copy(), V), rel=1e-14)


def test_single_precision():
    def f(z, v):
        z.real[1:] += v[1:]
        z.imag = v
        return np.sum(z.real * z.imag**2)

    z, v = (X * (1 + 0.5j)).astype(np.complex64), V.astype(np.float32)
    found = sdgrad.grad(f, (0, 1))(z.copy(), v)
    assert [g.dtype for g in found] == [np.complex64, np.float32]
    check_grads(f, (z, v))


def test_strides():
    z = X * (1 + 2j)

    def f(z):
        assert z.imag.strides == (16,) and z[::2].real.strides == (32,) and z.real.nbytes == 32
        neighbours = np.lib.stride_tricks.as_strided(z.imag, (3, 2), (16, 16))
        return np.sum(neighbours[:, 0] * neighbours[:, 1] ** 2)

    check_grads(f, (z,))


def test_what_is_outside_is_not_written():
    outside = X * 1j

    def f(v):
        outside.imag[:] = v
        return np.sum(outside.imag)

    with pytest.raises(ParseError, match=r"outside.imag\[:\] = v"):
        sdgrad.grad(f)(V)


def test_a_complex_number_is_no_part():
    def f(v):
        z = v * 1j
        z.real = v * 1j
        return np.sum(z.real)

    with pytest.raises(TypeError, match="real"):
        sdgrad.grad(f)(V)
