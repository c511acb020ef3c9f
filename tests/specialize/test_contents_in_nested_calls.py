"""Derivatives of derivatives of functions for which the content of integer arrays decides."""

import numpy as np
import pytest
import scipy.sparse as sp

import sdgrad


def by_name(x, order):
    place = {int(p): k for k, p in enumerate(order)}  # zeros in place of the content have no key 1
    return sum((k + 1) * x[place[k]] ** 3 for k in range(3))


@pytest.mark.parametrize("given", [lambda p: p, lambda p: p[::1], lambda p: (p + 1) % 3])
def test_a_gradient_in_a_program_knows_what_decides(given):
    def energy(x, order):
        return np.sum(sdgrad.grad(by_name)(x, given(order)) ** 2)

    x, order = np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1])
    for own in (order, order[::-1].copy()):
        weights = given(own) + 1.0  # x[k] is weighted by its name
        np.testing.assert_allclose(sdgrad.grad(energy)(x, own), 36 * weights**2 * x**3)


def test_what_fails_with_the_content_of_the_call_fails():
    with pytest.raises(KeyError):
        sdgrad.grad(lambda x, order: np.sum(sdgrad.grad(by_name)(x, order)))(np.ones(3), np.array([5, 0, 1]))


MATRIX = sp.random(5, 4, 0.5, format="csr", random_state=0)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_array, sp.coo_matrix])
def test_second_derivatives_of_sparse_matrices_whose_places_are_known(kind):
    def energy(a, x):
        return np.sum(((a @ a.T + sp.eye(5)) @ (a @ x)) ** 2) + (a * 2.0).power(3).sum()

    def dense(places, data, x):
        a = np.zeros((5, 4))
        a[places] = data
        return np.sum(((a @ a.T + np.eye(5)) @ (a @ x)) ** 2) + np.sum((2.0 * a) ** 3)

    a, x = kind(MATRIX), np.linspace(-1.0, 1.0, 4)
    places = a.tocoo().coords
    direction, data = kind(MATRIX).copy(), a.tocoo().data
    direction.data = np.cos(np.arange(10.0))
    by_a, by_x = sdgrad.hvp(energy, (a, x), (direction, x))
    expected = sdgrad.hvp(lambda data, x: dense(places, data, x), (data, x), (direction.tocoo().data, x))
    np.testing.assert_allclose(by_a.tocoo().data, expected[0])
    np.testing.assert_allclose(by_x, expected[1])
