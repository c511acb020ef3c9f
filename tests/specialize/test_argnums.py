"""Positions and names of arguments."""

import numpy as np
import pytest

import sdgrad
from sdgrad.errors import ArgumentError, NameNotFound
from sdgrad.specialize.argnums import key, names_of, several


def f(x, n, y):
    return x * n * y


ARGUMENTS = {"x": np.ones(3), "n": 2, "y": np.ones(3)}


@pytest.mark.parametrize(
    ("wrt", "names"), [(0, ["x"]), ("y", ["y"]), ((0, "y"), ["x", "y"]), ([2, 0], ["y", "x"]), (-1, ["y"])]
)
def test_names(wrt, names):
    assert names_of(wrt, f, ARGUMENTS) == names


@pytest.mark.parametrize(("wrt", "error"), [(7, ArgumentError), ("z", NameNotFound), ("n", ArgumentError)])
def test_arguments_without_a_gradient(wrt, error):
    with pytest.raises(error):
        names_of(wrt, f, ARGUMENTS)


def test_results_are_a_tuple_for_sequences():
    assert several((0,)) and several(["x", "y"])
    assert not several(0) and not several("x")
    assert key([0, 1]) == key((0, 1))


def total(x, *rest, k=2.0):
    return k * np.sum(x) * np.sum(rest[0] ** 2 * rest[1]["p"])


def test_positions_count_the_elements_of_variadic_arguments():
    x, a, p = np.ones(2), np.array([1.0, 2.0]), np.array([3.0, 5.0])
    by_x, by_a, by_p, by_k = np.full(2, 2.0 * 23.0), 8.0 * a * p, {"p": 4.0 * a**2}, 46.0
    for wrt, expected in [(0, by_x), (1, by_a), (2, by_p), (-1, by_k), (-2, by_p), ("rest", (by_a, by_p))]:
        np.testing.assert_equal(sdgrad.grad(total, wrt=wrt)(x, a, {"p": p}, k=2.0), expected)
    found = sdgrad.grad(total, wrt=(2, "x", 1))(x, a, {"p": p})
    np.testing.assert_equal(found, (by_p, by_x, by_a))
    rows = sdgrad.jacobian(lambda *v: v[0] * v[1] ** 2, wrt=1)(a, p)
    np.testing.assert_array_equal(rows, np.diag(2.0 * a * p))
    with pytest.raises(ArgumentError, match="wrt=4, but total has 4 arguments"):
        sdgrad.grad(total, wrt=4)(x, a, {"p": p}, k=2.0)


TRANSFORMS = ["grad", "value_and_grad", "jacobian", "hessian", "sparse_jacobian", "sparse_hessian"]


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("keyword", ["argnums", "argnum"])
def test_the_keyword_of_other_libraries(transform, keyword):
    with pytest.raises(ArgumentError, match=f"{transform} has no argument '{keyword}': .*wrt="):
        getattr(sdgrad, transform)(total, **{keyword: 0})


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: sdgrad.grad(total, has_aux=True), "grad has no argument 'has_aux': .*sdgrad.vjp"),
        (lambda: sdgrad.vjp(f, 2.0, 1, 2.0, has_aux=True), "f: .*'has_aux'; return the rest as further results"),
        (lambda: sdgrad.vjp(f, 2.0, 1, 2.0, argnums=0), "'argnums'; .*vjp and jvp take none"),
        (lambda: sdgrad.jvp(f, (2.0, 1, 2.0), (1.0, None, None), has_aux=True), "'has_aux'; return the rest"),
        (lambda: sdgrad.hvp(f, (2.0, 1, 2.0), (1.0, None, None), argnums=0), "hvp has no argument 'argnums'"),
        (lambda: sdgrad.grad(f)(2.0, 1, 2.0, argnums=0), "'argnums'; say by which argument with wrt="),
        (lambda: sdgrad.vmap(total, in_dims=0), "vmap has no argument 'in_dims': .*in_axes="),
        (lambda: sdgrad.vmap(total, out_axes=1), "vmap has no argument 'out_axes': .*np.moveaxis"),
        (lambda: sdgrad.compile_forward(total, static_argnums=0), "'static_argnums': leave it out"),
        (lambda: sdgrad.compile_gradient(f, 2.0, 1, 2.0, argnums=0), "'argnums'; say by which argument"),
    ],
)
def test_keywords_that_have_another_name_here(call, says):
    with pytest.raises(ArgumentError, match=says):
        call()


def test_an_argument_of_the_function_may_have_such_a_name():
    def scaled(x, argnums, *, has_aux=3.0):
        return np.sum(x) * argnums * has_aux

    np.testing.assert_equal(sdgrad.grad(scaled)(np.ones(2), argnums=2.0), np.full(2, 6.0))
    assert sdgrad.vjp(scaled, np.ones(2), argnums=2.0, has_aux=1.0)[0] == 4.0


class Settings(dict):
    """No nest: nobody knows what else it holds."""


def test_a_collection_of_an_own_class():
    with pytest.raises(ArgumentError, match="'p' is a Settings, which is no nest of arguments: pass a dict"):
        sdgrad.grad(lambda p: np.sum(p["w"]))(Settings(w=np.ones(2)))
