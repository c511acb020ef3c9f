"""Names that mean something else in C++ or in SymPy, and what Python's own functions are asked."""

import copy

import numpy as np
import pytest

import sdgrad
from python.check import Programs, X, check, name_of

program = Programs()


@program
def counters(x):
    s = 0.0
    for new in range(3):
        s = s * 0.5 + x[new] * new
    for test in range(3):
        s = s * 0.5 + x[test] * test
    for nan in range(3):
        s = s * 0.5 + x[nan] * nan
    for NULL in range(3):
        s = s * 0.5 + x[NULL] * NULL
    for M_PI in range(3):
        s = s * 0.5 + x[M_PI] * M_PI
    return s


@program
def variables(x):
    thread_local = x * 2
    nullptr = np.sin(thread_local)
    errno = nullptr[0]
    concept = np.zeros(4)
    concept[0] = errno
    return np.sum(nullptr * concept)


@program
def truths_of_several(x):
    s = x[0] if any(v > 2.0 for v in x) else x[1]
    if all([x[0] > 0, x[1] > 0]):
        s = s * x[2]
    return s


@program
def largest_by_a_key(x):
    return max([(2, x[0]), (0, x[1])], key=lambda p: -p[0])[1] * x[2]


@program
def sorted_numbers(x):
    s = sorted(x)
    t = sorted([x[0], x[2], 3.0], reverse=True)
    return s[0] * s[1] + t[1] + max(x) * min(list(x))


@program
def sorted_names(x):
    d = {"q": x[0], "p": x[1]}
    last = sorted([("b", x[2]), ("a", x[3])], key=lambda p: p[0])[0][1]
    return sum(d[k] * i for i, k in enumerate(sorted(d))) * last


@program
def copies(x):
    r = copy.deepcopy([x[0], x])
    r[1][0] = 9.0
    return r[0] * np.sum(x) + np.sum(copy.copy(r[1]))


@program
def assignment_in_a_condition(x):
    if (t := x[1]) > 0.0 and x[0] > 0.0:
        return t * x[2]
    return x[2]


@pytest.mark.parametrize("f", program, ids=name_of)
def test_program(f):
    check(f, X)


def test_an_argument_called_nan():
    def f(x, nan=2):
        return x[nan] * nan

    assert sdgrad.grad(f)(X)[2] == 2.0


class Missing(Exception):
    def __init__(self, name, instead):
        super().__init__(name)
        self.instead = instead


def test_exceptions_with_arguments_of_their_own():
    def f(x):
        if x[0] > 0:
            raise Missing("large", instead=1.0)
        return x[0]

    with pytest.raises(Missing, match="large") as caught:
        sdgrad.grad(f)(X)
    assert caught.value.instead == 1.0


def stiffness(k, bars=((0, 1), (1, 2), (0, 2)), fixed=(0, 1, 2)):
    K = np.zeros((6, 6))
    direction = np.array([1.0, 0.5, -1.0, -0.5])
    for (i, j), ki in zip(bars, k, strict=True):
        dof = [2 * i, 2 * i + 1, 2 * j, 2 * j + 1]
        K[np.ix_(dof, dof)] += ki * np.outer(direction, direction)
    free = np.setdiff1d(np.arange(6), fixed)
    return np.sum(np.linalg.solve(K[np.ix_(free, free)] + np.eye(len(free)), np.ones(len(free))))


def test_integers_in_tuples_that_numpy_needs():
    check(stiffness, X[:3] ** 2)


def by_label(x, labels):
    return np.sum(x[labels == "a"] ** 2) + sum(x[i] * 3 for i, word in enumerate(labels) if word == "b")


def test_arrays_of_texts_are_part_of_the_signature():
    gradient = sdgrad.grad(by_label)
    for words in ("abab", "bbab", "aaaa", "abab"):
        labels = np.array(list(words))
        wanted = [2 * v if w == "a" else 3.0 for v, w in zip(X, words, strict=True)]
        np.testing.assert_allclose(gradient(X, labels), wanted)


@pytest.mark.parametrize("value", [None, "abc"])
def test_what_is_no_operand_is_named(value):
    with pytest.raises(TypeError, match=f"not {value!r}"):
        sdgrad.grad(lambda W, x: np.sum(W @ x), "x")(value, X)
