"""What a function reads of objects outside of it, by any way that Python has, is what is there at the call."""

import copy
import dataclasses
import functools
import operator
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest

import sdgrad

X = np.array([0.3, 0.4])
RATE = 2.0


@dataclasses.dataclass(order=True)
class Pair:
    a: float
    b: float = 1.0


class Thing:
    k = 2.0

    def __init__(self):
        self.v = 1
        self.text = "ab"

    def scaled(self, x, p=1):
        return self.v * x**p

    def __bool__(self):
        return self.v < 2

    def __repr__(self):
        return self.text

    def __index__(self):
        return self.v

    def __hash__(self):
        return self.v

    def __eq__(self, other):
        return self.v == getattr(other, "v", other)

    def __lt__(self, other):
        return self.v < other.v


class Slots:
    __slots__ = ("v",)

    def __init__(self):
        self.v = 2

    def __str__(self):
        return "a" * self.v


class Heir(Thing):
    pass


def _mapping(make):
    held = make({"a": 2.0})
    return lambda x: np.sum(held["a"] * x), lambda: operator.setitem(held, "a", 5.0)


def _view(make):
    below = {"a": 2.0}
    held = make(below)
    return lambda x: np.sum(held["a"] * x), lambda: below.update(a=5.0)


def _list():
    held = UserList([2.0, 3.0])
    return lambda x: np.sum(held[1] * x) + len(held), lambda: held.__setitem__(1, 5.0)


def _array():
    held = UserDict(w=np.array([1.0, 2.0]))
    return lambda x: np.sum(held["w"] * x), lambda: held.update(w=np.array([7.0, 8.0]))


def _of(read, name="v", value=3, make=Thing):
    def case():
        thing = make()
        return lambda x: np.sum(x * x * read(thing, x)), lambda: setattr(thing, name, value)

    return case


def _of_pair(read):
    def case():
        pair = Pair(2.0)
        return lambda x: np.sum(x * x * read(pair)), lambda: setattr(pair, "a", 5.0)

    return case


def _class_attribute(read):
    def case():
        return lambda x: np.sum(x * read()), lambda: setattr(Thing, "k", 5.0)

    return case


def _keywords():
    held = functools.partial(lambda x, k: x * k, k=2.0)
    return lambda x: np.sum(held(x)), lambda: held.keywords.update(k=5.0)


def _globals():
    return lambda x: np.sum(x * globals()["RATE"]), lambda: globals().update(RATE=5.0)


BY_NAME = operator.methodcaller("scaled", 3.0)
BY_NAME_WITH_KEYWORD = operator.methodcaller("scaled", 3.0, p=2)

CASES = {
    **{m.__name__: functools.partial(_mapping, m) for m in (dict, UserDict, OrderedDict, Counter)},
    "defaultdict": lambda: _mapping(lambda d: defaultdict(float, d)),
    "ChainMap": lambda: _view(lambda d: ChainMap({}, d)),
    "MappingProxyType": lambda: _view(MappingProxyType),
    "UserList": _list,
    "array in a UserDict": _array,
    "SimpleNamespace": _of(lambda t, x: t.v, make=lambda: SimpleNamespace(v=1)),
    "methodcaller": _of(lambda t, x: BY_NAME(t)),
    "methodcaller with a keyword": _of(lambda t, x: BY_NAME_WITH_KEYWORD(t)),
    "and": _of(lambda t, x: 2.0 if (t and x.size) else 1.0),
    "or": _of(lambda t, x: 2.0 if (t or x.size == 7) else 1.0),
    "repr": _of(lambda t, x: len(repr(t)), "text", "abcd"),
    "text": _of(lambda t, x: len(f"{t}"), "text", "abcd"),
    "representation in a text": _of(lambda t, x: len(f"{t!r:>3}"), "text", "abcd"),
    "text by slots": _of(lambda t, x: len(str(t)), make=Slots),
    "index of a range": _of(lambda t, x: range(10)[t]),
    "index of a list": _of(lambda t, x: [1.0, 2.0, 3.0, 4.0][t]),
    "key of a dict": _of(lambda t, x: {1: 2.0, 3: 5.0}[t]),
    "sorted": _of(lambda t, x: sorted([t, Heir()])[1].v),
    "copy": _of(lambda t, x: copy.copy(t).v),
    "deep copy": _of(lambda t, x: copy.deepcopy(t).v),
    "equal": _of_pair(lambda p: 2.0 if p == Pair(2.0) else 1.0),
    "ordered": _of_pair(lambda p: 2.0 if p < Pair(3.0) else 1.0),
    "replace": _of_pair(lambda p: dataclasses.replace(p, b=3.0).a),
    "asdict": _of_pair(lambda p: dataclasses.asdict(p)["a"]),
    "astuple": _of_pair(lambda p: dataclasses.astuple(p)[0]),
    "fields": _of_pair(lambda p: sum(getattr(p, f.name) for f in dataclasses.fields(p))),
    "attribute of the class of a new object": _class_attribute(lambda: Heir().k),
    "keywords of a partial": _keywords,
    "globals": _globals,
}


@pytest.mark.parametrize("name", CASES)
def test_what_has_changed_is_seen(name, monkeypatch):
    """Each gave the gradient of what had been there at the first call, or was not recorded."""
    monkeypatch.setattr(Thing, "k", 2.0)
    monkeypatch.setitem(globals(), "RATE", 2.0)
    f, change = CASES[name]()
    gradient = sdgrad.grad(f)
    before = _check(f, gradient)
    change()
    assert not np.allclose(_check(f, gradient), before)


def _check(f, gradient):
    found = gradient(X)
    ends = [(f(X + h), f(X - h)) for h in 1e-5 * np.eye(2)]
    np.testing.assert_allclose(found, [(a - b) / 2e-5 for a, b in ends], rtol=1e-7)
    return found


LARGE = {(i, "key"): [float(i), (i,)] for i in range(30_000)}
TEXTS = {f"k{i}": float(i) for i in range(150_000)}


def of_large(x):
    return np.sum(x) * TEXTS["k5"] + LARGE[29_999, "key"][0] * x[0]


def test_large_collections_are_compared_as_a_whole():
    """Each entry had been a comparison of its own, for minutes, and what was left was not compared."""
    gradient = sdgrad.grad(of_large)
    before = _check(of_large, gradient)
    for change in (
        lambda: TEXTS.update(k149999=3.0),
        lambda: TEXTS.update(k5=7.0),
        lambda: LARGE[29_999, "key"].__setitem__(0, 2.0),
    ):
        change()
        after = _check(of_large, gradient)
    assert not np.allclose(after, before)
