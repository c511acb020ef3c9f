"""Code that Python itself calls, and that is not converted, sees what has changed outside since the last call."""

import contextlib
import functools
import typing

import numpy as np
import pytest

import sdgrad
from sdgrad.errors import ParseError, SdgradError

GAIN = 2.0


class Made:
    def __new__(cls, value):
        found = super().__new__(cls)
        found.gain = GAIN
        return found

    def __init__(self, value):
        self.value = value


class Maker(type):
    def __call__(cls, *args):
        found = super().__call__(*args)
        found.gain = GAIN
        return found


class OfMaker(metaclass=Maker):
    def __init__(self, value):
        self.value = value


class Entries(dict):
    def __init__(self, value):
        super().__init__(a=value)
        self["b"] = value * GAIN

    def __missing__(self, key):
        return GAIN * len(key)


class Pair(list):
    def __init__(self, value):
        super().__init__([value, value * GAIN])


class Ordered:
    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        return self.value < other.value if GAIN < 2.5 else self.value > other.value

    def __repr__(self):
        return "a" * int(GAIN)


class Equal:
    """Equal to all numbers, and true, or to none."""

    def __eq__(self, other):
        return GAIN < 2.5

    def __bool__(self):
        return GAIN < 2.5

    __hash__ = None


@functools.total_ordering
class Total:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return self.value == other.value

    def __lt__(self, other):
        return (self.value < other.value) == (GAIN < 2.5)


class Number(float):
    scale = 2.0

    def scaled(self):
        return self * self.scale


class Triple(typing.NamedTuple):
    a: float
    scale = 2.0

    def scaled(self):
        return self.a * self.scale


FILLED, ITEMS, TOTALS = Entries(1.0), [Ordered(3.0), Ordered(1.0)], [Total(1.0), Total(2.0)]


class Amplifier:
    def gained(self, value):
        return value * GAIN


AMPLIFIER = Amplifier()
OF_OBJECT = eval("lambda x: AMPLIFIER.gained(x)")
WITHOUT_SOURCE = eval("lambda x: x * GAIN")
CASES = {
    "__new__": lambda x: Made(x).value * Made(x).gain,
    "a metaclass": lambda x: OfMaker(x).value * OfMaker(x).gain,
    "a class of dicts": lambda x: Entries(x)["a"] + Entries(x)["b"],
    "a class of lists": lambda x: Pair(x)[0] + Pair(x)[1],
    "__missing__": lambda x: x * FILLED["long"],
    "sorted": lambda x: x * sorted(ITEMS)[0].value,
    "max": lambda x: x * max(ITEMS).value,
    "total_ordering": lambda x: x * (2.0 if TOTALS[0] >= TOTALS[1] else 5.0),
    "a text": lambda x: x * len(str(ITEMS[0])),
    "a text by %": lambda x: x * len("%s" % ITEMS[0]),  # noqa: UP031
    "in a list": lambda x: x * (2.0 if Equal() in [1.0] else 5.0),
    "count": lambda x: x * [1.0, Equal()].count(2.0),
    "any": lambda x: x * (2.0 if any([Equal()]) else 5.0),
    "no source": WITHOUT_SOURCE,
    "no source inside": lambda x: WITHOUT_SOURCE(x),
    "a method without source": lambda x: OF_OBJECT(x),
}


@pytest.mark.parametrize("name", CASES)
def test_global_names(name, monkeypatch):
    f = CASES[name]
    gradient = sdgrad.grad(f)
    for gain in (2.0, 3.0, 2.0):
        monkeypatch.setitem(globals(), "GAIN", gain)
        assert gradient(1.0) == f(1.0)


@pytest.mark.parametrize("value", [Number(3.0), Triple(3.0)], ids=["a number", "a named tuple"])
def test_class_attributes(value, monkeypatch):
    gradient = sdgrad.grad(lambda x: x * value.scaled())
    assert gradient(1.0) == 6.0
    monkeypatch.setattr(type(value), "scale", 5.0)
    assert gradient(1.0) == 15.0


def test_attributes_without_source(monkeypatch):
    gradient = sdgrad.grad(eval("lambda x: x * AMPLIFIER.level", globals()))
    for level in (2.0, 5.0):
        monkeypatch.setattr(AMPLIFIER, "level", level, raising=False)
        assert gradient(1.0) == level


def test_class_dictionaries(monkeypatch):
    gradient = sdgrad.grad(lambda x: x * vars(Number)["scale"])
    assert gradient(1.0) == 2.0
    monkeypatch.setattr(Number, "scale", 5.0)
    assert gradient(1.0) == 5.0


def test_another_initialization(monkeypatch):
    gradient = sdgrad.grad(lambda x: Ordered(x).value * 2.0)
    assert gradient(1.0) == 2.0
    monkeypatch.setattr(Ordered, "__init__", lambda self, value: setattr(self, "value", value * 10.0))
    assert gradient(1.0) == 20.0


def suppressed(x, condition):
    with contextlib.suppress(ValueError):
        if condition > 0:
            raise ValueError("positive")
        x = x * 7.0
    return x * 2.0


def handled(x, condition):
    try:
        if condition > 0:
            raise ValueError("positive")
        x = x * 7.0
    except ValueError:
        pass
    return x * 2.0


@pytest.mark.parametrize("f", [suppressed, handled])
def test_exceptions_that_are_caught(f):
    gradient = sdgrad.grad(f)
    assert [gradient(1.0, n) for n in (1, -1, 1)] == [2.0, 14.0, 2.0]
    with pytest.raises(ParseError, match=r"raises ValueError, only a run knows.*'if' instead"):
        sdgrad.grad(f, (0, 1))(1.0, 1.0)


class Keeps:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


@pytest.mark.parametrize("context", [contextlib.suppress(Exception), Keeps()], ids=["suppress", "a class"])
def test_refusals_are_not_caught(context):
    def f(x):
        with context:
            x = x.astype(object)
            x = x * 7.0
        return np.sum(x)

    with pytest.raises(SdgradError, match="type object is not supported"):
        sdgrad.grad(f)(np.ones(2))


def test_refusals_are_not_handled():
    def f(x):
        try:
            x = x.astype(object) * 7.0
        except Exception:
            return np.sum(x)
        return np.sum(x)

    with pytest.raises(SdgradError, match="type object is not supported"):
        sdgrad.grad(f)(np.ones(2))


def returning(x, n):
    with contextlib.suppress(KeyError):
        return np.sum(x) * {0: 1.0, 3: 2.0}[n]
    return np.sum(x) * 100.0


def asserting(x, n):
    try:
        assert n > 0
    except AssertionError:
        return np.sum(x)
    return np.sum(x) * n


@pytest.mark.parametrize("f", [returning, asserting])
def test_what_follows_after_a_caught_exception(f):
    gradient = sdgrad.value_and_grad(f)
    for n in (0, 1, 3, -1, 0):
        assert gradient(np.ones(2), n)[0] == f(np.ones(2), n)
