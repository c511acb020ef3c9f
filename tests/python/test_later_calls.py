"""Later calls compute with what is there then: kinds of arguments, replaced code, rules, results that were changed."""

import contextlib
import dataclasses
import enum
import functools
from collections import deque
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import sdgrad
from sdgrad.errors import ParseError, UnboundVariable

X = np.array([1.0, 2.0])


class Kind(enum.IntEnum):
    SQUARE = 1
    OTHER = 2


@dataclasses.dataclass(frozen=True)
class Gain:
    name: str
    gain: object = dataclasses.field(compare=False)

    def __call__(self, x):
        return x * 9.0 if self.gain is True else self.gain * x


def moved(x):
    y = x
    y += 1.0
    return np.sum(x * y)


class Entries(dict):
    __getattr__ = dict.__getitem__


KINDS = {
    "entries as attributes": (lambda x, k: x * k.rate, [Entries(rate=2.0), Entries(rate=3.0)]),
    "texts": (lambda x, k: x * (2.0 if k == "a" else 3.0), [np.str_("a"), np.str_("b"), "a"]),
    "members": (lambda x, k: x * x if k == Kind.SQUARE else 3.0 * x, [Kind.SQUARE, Kind.OTHER, 1, 2, Kind.SQUARE]),
    "no axes": (lambda x, k: x * (2.0 if isinstance(k, np.ndarray) else 3.0), [np.float64(1.5), np.array(1.5), 1.5]),
}


@pytest.mark.parametrize("name", KINDS)
def test_kinds_of_arguments(name):
    f, given = KINDS[name]
    derivative = sdgrad.value_and_grad(f)
    for k in (*given, *given):
        assert np.isclose(derivative(1.5, k)[0], f(1.5, k))


def test_what_a_class_calls_equal_is_not_the_same():
    for gain in (2.0, 3.0, True, 1):
        assert sdgrad.value_and_grad(Gain("g", gain))(1.5)[0] == Gain("g", gain)(1.5)


def test_an_array_without_axes_is_written_in_place():
    derivative = sdgrad.value_and_grad(moved)
    assert derivative(np.float64(1.5))[0] == 3.75
    with pytest.raises(ParseError, match="changed in place"):
        derivative(np.array(1.5))


def helper(x):
    return x * 2.0


def other(x):
    return x * 3.0


def calls(x):
    return helper(x)


NAMES, OBJECTS = np.array(["a", "b"]), np.array([1.0, "b"], object)
SPACE, MODULE = SimpleNamespace(), ModuleType("some_module")


class Late:
    pass


class Meter:
    def __getattr__(self, name):
        return 1.0

    def __len__(self):
        return 2

    def __call__(self, x):
        return 2.0 * x

    @property
    def factor(self):
        return 2.0


METER = Meter()


@dataclasses.dataclass
class Settings:
    rate: float = 2.0


SETTINGS = Settings()


def by_default(x, settings=SETTINGS):
    return settings.rate * x


@functools.singledispatch
def rate_of(kind, x):
    return x


@rate_of.register
def _(kind: str, x):
    return 2.0 * x


CHANGES = {
    "code": (calls, lambda: setattr(helper, "__code__", other.__code__)),
    "texts": (lambda x: x * (2.0 if NAMES[0] == "a" else 3.0), lambda: NAMES.__setitem__(0, "c")),
    "objects": (lambda x: x * OBJECTS[0], lambda: OBJECTS.__setitem__(0, 5.0)),
    "of a namespace": (lambda x: x * (2.0 if hasattr(SPACE, "k") else 3.0), lambda: setattr(SPACE, "k", 1)),
    "of a class": (lambda x: x * getattr(Late, "k", 2.0), lambda: setattr(Late, "k", 7.0)),
    "of a default": (by_default, lambda: setattr(SETTINGS, "rate", 5.0)),
    "of a partial": (functools.partial(by_default, settings=SETTINGS), lambda: setattr(SETTINGS, "rate", 6.0)),
    "for a type": (lambda x: rate_of("a", x), lambda: rate_of.register(str)(lambda kind, x: 3.0 * x)),
    "a method of Python's": (lambda x: len(METER) * x, lambda: setattr(Meter, "__len__", lambda self: 5)),
    "a call": (lambda x: METER(x), lambda: setattr(Meter, "__call__", lambda self, x: 5.0 * x)),
    "a property": (lambda x: METER.factor * x, lambda: setattr(Meter, "factor", property(lambda self: 5.0))),
    "of a module": (lambda x: x * getattr(MODULE, "k", 2.0), lambda: setattr(MODULE, "k", 7.0)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changes_are_noticed(name):
    f, change = CHANGES[name]
    derivative = sdgrad.grad(f)
    before = derivative(1.5)
    assert derivative(1.5) == before == f(1.0)
    change()
    assert derivative(1.5) == f(1.0) != before


RATE = 2.0


def scaled(x):
    return RATE * x


def test_rules_follow_what_they_read(monkeypatch):
    @sdgrad.custom_vjp
    @sdgrad.custom_jvp
    def square(x):
        return x * x

    square.defvjp(lambda x, grad_out: scaled(x) * grad_out)
    square.defjvp(lambda x, tangent_x: scaled(x) * tangent_x)
    f = lambda x: square(x) + x  # noqa: E731
    backward = sdgrad.grad(f)
    for rate in (2.0, 5.0):
        monkeypatch.setitem(globals(), "RATE", rate)
        assert backward(3.0) == 3.0 * rate + 1.0
        assert sdgrad.jvp(f, (3.0,), (1.0,))[1] == 3.0 * rate + 1.0
    square.defvjp(lambda x, grad_out: 100.0 * grad_out)
    assert backward(3.0) == 101.0


WEIGHTS = np.array([1.0, 2.0])


def test_pullbacks_are_those_of_their_call():
    """What the caller does to results, and to arrays outside, changes nothing."""
    y, pull = sdgrad.vjp(lambda x: np.tanh(x), X)
    y -= 1.0
    np.testing.assert_allclose(pull(np.ones(2))[0], 1.0 - np.tanh(X) ** 2)
    _, pull = sdgrad.vjp(lambda x: np.sum(WEIGHTS * x * x), X)
    expected = 2.0 * WEIGHTS * X
    WEIGHTS[:] = 7.0
    np.testing.assert_allclose(pull(1.0)[0], expected)


@dataclasses.dataclass
class Rectangle:
    width: float
    height: float
    unit = "m"
    scale = 1.0

    def __post_init__(self):
        self.area = self.width * self.height
        self.label = "area"
        self.shape = np.sin

    @functools.cached_property
    def circumference(self):
        return 2.0 * (self.width + self.height)


def test_attributes_of_dataclasses_that_are_no_fields():
    given = Rectangle(2.0, 3.0)
    assert given.circumference == 10.0  # which it keeps
    found = sdgrad.grad(lambda p: p.width * p.circumference * len(p.label + p.unit) * p.scale)(given)
    assert (found.width, found.height) == (5.0 * (10.0 + 4.0), 5.0 * 4.0)
    assert sdgrad.grad(lambda p: p.shape(p.width))(given).width == pytest.approx(np.cos(2.0))
    given.label = "new"
    assert sdgrad.grad(lambda p: p.width * len(p.label))(given).width == 3.0
    for changed in ("scale", "area"):
        setattr(given, changed, 5.0)
        with pytest.raises(UnboundVariable, match=f"'{changed}' of a Rectangle is no field.*make it a property"):
            sdgrad.grad(lambda p: p.width * getattr(p, changed))(given)  # noqa: B023


class Keeps:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


def bare(x, n):
    try:
        y = [x * i for i in range(n)][-1]
    except:  # noqa: E722
        y = 0.0 * x
    return y


def suppressed(x, n):
    y = 7.0 * x
    with contextlib.suppress(BaseException), Keeps():
        y = [x * i for i in range(n)][-1]
    return y


@pytest.mark.parametrize("f", [bare, suppressed])
def test_handlers_do_not_catch_what_begins_a_recording_again(f):
    derivative = sdgrad.value_and_grad(f)
    for n in (4, 3):
        assert derivative(1.5, n)[0] == f(1.5, n)


KEPT, CELL, SEEN, QUEUE = {}, [0.0], set(), deque()


def in_arms(x):
    if x > 0:
        KEPT["m"] = 1.0
    else:
        KEPT["m"] = 2.0
    return x * KEPT["m"]


def in_a_loop(x):
    for _ in range(3):
        CELL[0] += 1.0
    return x * CELL[0]


def of_a_set(x):
    if x > 0:
        SEEN.add("p")
    return x


@pytest.mark.parametrize("f", [in_arms, in_a_loop, of_a_set])
def test_what_arms_and_loops_change_outside(f):
    """What they met first inside had been changed by both arms, or by one trip."""
    with sdgrad.config.override(verify="never"), pytest.raises(ParseError):
        sdgrad.grad(f)(1.5)
    assert ({}, [0.0], set()) == (KEPT, CELL, SEEN)


def test_a_queue_outside_gets_what_each_trip_appends():
    def f(x):
        for i in range(3):
            QUEUE.append(i)
        return x * 3.0

    assert sdgrad.grad(f)(1.5) == 3.0 and list(QUEUE) == [0, 1, 2]
