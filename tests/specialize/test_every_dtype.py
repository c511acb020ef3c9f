"""Every dtype as a number, an array without axes, one element, and more: into programs and out of them."""

import numpy as np
import pytest

import sdgrad

REAL = [np.float16, np.float32, np.float64]
COMPLEX = [np.complex64, np.complex128]
WHOLE = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.bool_]
FORMS = {
    "number": lambda d: d(2),
    "no axes": lambda d: np.array(d(2)),
    "one element": lambda d: np.array([d(2)]),
    "strided": lambda d: np.array([d(2), d(9), d(3), d(9)])[::2],
}


def same(found, wanted):
    assert np.asarray(found).dtype == np.asarray(wanted).dtype
    assert np.shape(found) == np.shape(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-2)


def several(x):
    return x * 1, x + x, np.real(x * x), np.sum(x), x + 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [*REAL, *COMPLEX, *WHOLE])
def test_values(dtype, form):
    x = FORMS[form](dtype)
    for found, wanted in zip(sdgrad.compile_forward(several)(x), several(x), strict=True):
        same(found, wanted)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [*REAL, *COMPLEX])
def test_derivatives(dtype, form):
    def squares(x):
        return np.sum(np.real(x * x))

    x = FORMS[form](dtype)
    one = np.ones_like(x)[()]
    for _ in range(2):  # the second call is a prepared one
        value, found = sdgrad.value_and_grad(squares)(x)
    same(value, squares(x))
    same(found, 2 * np.conj(x))
    same(sdgrad.vjp(lambda x: x * x, x)[1](one)[0], 2 * np.conj(x))
    same(sdgrad.jvp(lambda x: x * x, (x,), (one,))[1], 2 * x)
    same(sdgrad.jvp(lambda x: np.real(x * x), (x,), (one,))[1], np.real(2 * x))


def test_equal_numbers_of_different_types():
    """A number that decides what is recorded decides it by its type as well: 2, 2.0 and True are keys of one entry."""

    def powers(x, n):
        y = np.zeros(3)
        for _ in range(int(n)):
            y = y + x**n
        return y if isinstance(n, int) else 2 * y, np.full(2, n)

    compiled, x = sdgrad.compile_forward(powers), np.ones(3)
    for n in (2, 2.0, True, 1, 1.0, np.float64(2), np.True_):
        for found, wanted in zip(compiled(x, n), powers(x, n), strict=True):
            same(found, wanted)
