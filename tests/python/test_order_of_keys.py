"""A function may depend on the order of a dict's keys: each call computes with the order that it is given."""

import numpy as np
import pytest

import sdgrad

OUTSIDE: dict = {}


def weighted(entries):
    """Weigh each entry with its place."""
    total = 0.0
    for k, value in enumerate(entries.values()):
        total = total + (k + 1.0) * value
    return total


def of_nest(x, nest):
    return x * weighted(nest["inner"])


def of_keywords(x, **settings):
    return x * weighted(settings)


def of_outside(x):
    return x * weighted(OUTSIDE)


@pytest.mark.parametrize("swapped", [False, True, False])
def test_gradients_by_dicts(swapped):
    entries = {"b": 3.0, "a": 2.0} if swapped else {"a": 2.0, "b": 3.0}
    found = sdgrad.grad(weighted)(entries)
    assert found == {key: k + 1.0 for k, key in enumerate(entries)}
    assert list(found) == list(entries)


@pytest.mark.parametrize("kind", [float, np.float64, np.array])
def test_dicts_in_nests(kind):
    gradient = sdgrad.grad(of_nest)
    for keys in ("ab", "ba", "ab"):
        inner = {key: kind(ord(key)) for key in keys}
        assert gradient(2.0, {"inner": inner}) == weighted(inner)


def test_keywords():
    gradient = sdgrad.grad(of_keywords)
    assert [gradient(2.0, a=1, b=5), gradient(2.0, b=5, a=1), gradient(2.0, a=1, b=5)] == [11.0, 7.0, 11.0]


def test_dicts_outside():
    gradient = sdgrad.grad(of_outside)
    OUTSIDE.update(a=1.0, b=5.0)
    first = gradient(2.0)
    OUTSIDE["a"] = OUTSIDE.pop("a")
    assert (first, gradient(2.0)) == (11.0, 7.0)


def test_tangents_and_cotangents_are_matched_by_key():
    value, tangent = sdgrad.jvp(weighted, ({"b": 3.0, "a": 2.0},), ({"a": 10.0, "b": 1.0},))
    assert (value, tangent) == (7.0, 21.0)
    pullback = sdgrad.vjp(lambda x: {"p": x, "q": 2.0 * x}, 1.0)[1]
    assert pullback({"q": 10.0, "p": 1.0}) == (21.0,)
