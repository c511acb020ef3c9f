"""Arguments that are no arrays and no nests may change between two calls: each call computes with what they hold."""

import collections
import functools
import types

import numpy as np
import pytest

import sdgrad
from sdgrad.errors import ArgumentError

X = np.array([1.0, 2.0])


class Named:
    """Equal to all others of its name, whatever it holds."""

    def __init__(self, gain):
        self.gain = gain

    def __eq__(self, other):
        return isinstance(other, Named)

    def __hash__(self):
        return 1


class Numbers(list):
    pass


class Settings(dict):
    pass


class Members(set):
    pass


SHARED = {"a": 1.0}
HELD = [1.0]
BY_KEY = (lambda a: a["a"], lambda a: a.update(a=3.0))
BY_PLACE = (lambda a: a[0], lambda a: a.__setitem__(0, 3))
CASES = {
    "a set": ({1.0}, sum, lambda a: a.add(3.0)),
    "a set of texts": ({"a"}, len, lambda a: a.add("b")),
    "a set in a list": ([{1.0}], lambda a: sum(a[0]), lambda a: a[0].add(3.0)),
    "a set in an object": (types.SimpleNamespace(m={1.0}), lambda a: sum(a.m), lambda a: a.m.add(3.0)),
    "a class of sets": (Members([1.0]), sum, lambda a: a.add(3.0)),
    "a class of lists": (Numbers([1.0]), *BY_PLACE),
    "a class of dicts": (Settings(a=1.0), *BY_KEY),
    "a UserDict": (collections.UserDict(a=1.0), *BY_KEY),
    "a UserList": (collections.UserList([1.0]), *BY_PLACE),
    "a ChainMap": (collections.ChainMap({"a": 1.0}), *BY_KEY),
    "a Counter": (collections.Counter("aa"), lambda a: a["a"], lambda a: a.update("a")),
    "a proxy": (types.MappingProxyType(SHARED), lambda a: a["a"], lambda a: SHARED.update(a=3.0)),
    "bytes": (bytearray([1]), *BY_PLACE),
    "a partial": (
        functools.partial(lambda held, v: v * held[0], HELD),
        lambda a: a(2.0),
        lambda a: HELD.insert(0, 3.0),
    ),
    "another of its name": (Named(1.0), lambda a: a.gain, lambda a: Named(3.0)),
    "a list of another type": ([[1]], lambda a: 2.0 if isinstance(a[0][0], bool) else 3.0, lambda a: [[True]]),
}


@pytest.mark.parametrize("name", CASES)
def test_changes_are_noticed(name):
    """They had been compared by identity, or by what their classes call equal."""
    given, read, change = CASES[name]

    def f(x, a):
        return np.sum(x * x * read(a))

    derivative = sdgrad.value_and_grad(f)
    with sdgrad.config.override(optimization_level=0):
        first = f(X, given)
        assert derivative(X, given)[0] == first
        other = change(given)
        given = given if other is None else other
        value, gradient = derivative(X, given)
        assert value == f(X, given) != first
        np.testing.assert_allclose(gradient, 2.0 * X * read(given))


def test_iterators_are_refused():
    with pytest.raises(ArgumentError, match="argument 'a' is a list_iterator, which gives its parts once: pass a list"):
        sdgrad.grad(lambda x, a: np.sum(x) * sum(a))(X, iter([1.0, 2.0]))
