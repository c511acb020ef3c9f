"""What a module reads outside of itself may change between two calls: the next call computes with what is there."""

import functools
from array import array
from collections import deque
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import sdgrad

HALF = 0.5
TABLE = {"a": 1.5}
LIST = [0.5, 2.0]
ARRAY = np.full(3, 0.5)
TENSOR = torch.full((3,), 0.5)
SETTINGS = SimpleNamespace(gain=0.5)


class Config:
    gain = 0.5

    def of(self, v):
        return v * self.gain * HALF


class Slotted:
    __slots__ = ("gain",)

    def __init__(self, gain):
        self.gain = gain


class Gain:
    gain = 0.5

    def __call__(self, v):
        return v * self.gain * HALF


def helper(v):
    return v * HALF


def outer(v):
    return helper(v) + 1.0


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(3, 3)
        self.big = np.ones(20_000)
        self.called, self.part = Gain(), functools.partial(helper)
        self.config, self.act = Config(), lambda v: v * HALF

    share = 0.5

    @staticmethod
    def fixed(v):
        return v * HALF

    @classmethod
    def shared(cls, v):
        return v * cls.share

    @property
    def half(self):
        return 2.0 * HALF

    def own(self, v):
        return v * 2.0

    def __getitem__(self, k):
        return HALF * k


SLOTTED, QUEUE, HELD = Slotted(0.5), deque([0.5]), {"b": 0.5}
PROXY = MappingProxyType(HELD)


def global_name(name, new):
    return lambda module: globals().__setitem__(name, new(globals()[name]))


def attribute(owner, name):
    return lambda module: setattr(owner, name, 3.0)


def replaced_twice(module):
    """The second function may be where the first one was."""
    Base.own = lambda self, v: v * 5.0
    Base.own = lambda self, v: v * 7.0


tripled = functools.partial(global_name, "HALF", lambda v: 3.0 * v)
CASES = {
    "a number": (lambda m, y: y * HALF, tripled()),
    "a dict": (lambda m, y: y * TABLE["a"], lambda m: TABLE.update(a=3.0)),
    "a list": (lambda m, y: y * LIST[0], lambda m: LIST.__setitem__(0, 3.0)),
    "a default": (lambda m, y, k=LIST: y * k[1], lambda m: LIST.__setitem__(1, 3.0)),
    "an array": (lambda m, y: y * torch.from_numpy(ARRAY), lambda m: ARRAY.__setitem__(0, 3.0)),
    "a tensor": (lambda m, y: y * TENSOR, lambda m: TENSOR.mul_(3.0)),
    "slots": (lambda m, y: y * SLOTTED.gain, lambda m: setattr(SLOTTED, "gain", 3.0)),
    "a deque": (lambda m, y: y * QUEUE[0], lambda m: QUEUE.appendleft(3.0)),
    "a proxy": (lambda m, y: y * PROXY["b"], lambda m: HELD.update(b=3.0)),
    "a namespace": (lambda m, y: y * SETTINGS.gain, attribute(SETTINGS, "gain")),
    "a class": (lambda m, y: y * Config.gain, attribute(Config, "gain")),
    "in a helper": (lambda m, y: outer(y), tripled()),
    "a helper": (lambda m, y: outer(y), global_name("helper", lambda old: lambda v: v * 7.0)),
    "in a static method": (lambda m, y: m.fixed(y), tripled()),
    "in a property": (lambda m, y: y * m.half, tripled()),
    "in a special method": (lambda m, y: y * m[2], tripled()),
    "an attribute of the class": (lambda m, y: m.shared(y), attribute(Base, "share")),
    "a method": (lambda m, y: m.own(y), replaced_twice),
    "in a function that it holds": (lambda m, y: m.act(y), tripled()),
    "in a partial that it holds": (lambda m, y: m.part(y), tripled()),
    "in an object that it calls": (lambda m, y: m.called(y), tripled()),
    "of the class of an object that it calls": (lambda m, y: m.called(y), attribute(Gain, "gain")),
    "in a method of an object": (lambda m, y: m.config.of(y), tripled()),
    "of the class of an object": (lambda m, y: m.config.of(y), attribute(Config, "gain")),
    "a large array that it holds": (lambda m, y: y * float(m.big[7]), lambda m: m.big.__setitem__(7, 3.0)),
}


@pytest.fixture
def restored():
    kept = {n: globals()[n] for n in ("HALF", "helper")}
    classes = [(c, n, vars(c)[n]) for c, n in ((Config, "gain"), (Gain, "gain"), (Base, "share"), (Base, "own"))]
    yield
    globals().update(kept)
    for owner, name, value in classes:
        setattr(owner, name, value)


@pytest.mark.parametrize("name", CASES)
def test_changes_between_calls_are_noticed(name, restored):
    """All but attributes of the module itself had stayed as they were in the first call."""
    body, change = CASES[name]
    kind = type("Model", (Base,), {"forward": lambda self, x: body(self, self.line(x))})
    torch.manual_seed(3)
    with sdgrad.config.override(optimization_level=0):
        module = kind()
        wrapped, x = sdgrad.Module(module), torch.randn(2, 3)
        results = []
        for change_it in (change, None):
            given, plain = x.clone().requires_grad_(), x.clone().requires_grad_()
            found, wanted = wrapped(given), kind.forward(module, plain)
            found.square().sum().backward()
            wanted.square().sum().backward()
            torch.testing.assert_close(found, wanted)
            torch.testing.assert_close(given.grad, plain.grad)
            results.append(wanted.detach())
            if change_it is not None:
                change_it(module)
    assert not torch.allclose(*results)  # the change is one


class Options:
    """Equal to all others, as where someone compares only names."""

    def __init__(self, gain):
        self.gain = gain

    def __eq__(self, other):
        return isinstance(other, Options)

    def __hash__(self):
        return 1


class Unhashable(Options):
    __hash__ = None


GIVEN = {
    "an array of the standard library": (lambda y, a: y * a[0], array("d", [1.0]), lambda a: a.__setitem__(0, 3.0)),
    "another shape": (lambda y, a: y * float(a.shape[0]), np.ones((2, 3)), lambda a: setattr(a, "shape", (3, 2))),
    "another dtype": (lambda y, a: y * float(a[0]), np.ones(2), lambda a: setattr(a, "dtype", np.int64)),
    "an array": (lambda y, a: y * torch.from_numpy(a), np.ones(3, np.float32), lambda a: a.__setitem__(1, 3.0)),
    "an element": (lambda y, a: y * float(a[1]), np.ones(3), lambda a: a.__setitem__(1, 3.0)),
    "an object": (lambda y, a: y * a.gain, Options(1.0), lambda a: setattr(a, "gain", 3.0)),
    "an object without a hash": (lambda y, a: y * a.gain, Unhashable(1.0), lambda a: setattr(a, "gain", 3.0)),
    "another object": (lambda y, a: y * a.gain, Options(1.0), lambda a: Options(3.0)),
    "a set": (lambda y, a: y * sum(a), {1.0}, lambda a: a.add(3.0)),
    "bytes": (lambda y, a: y * a[0], bytearray([1]), lambda a: a.__setitem__(0, 3)),
    "another type": (lambda y, a: y * (2.0 if isinstance(a, bool) else 3.0), True, lambda a: 1),
    "another sign": (lambda y, a: y * (2.0 if str(a) == "0.0" else 3.0), 0.0, lambda a: -0.0),
    "a function": (lambda y, a: a(y), helper, tripled()),
}


@pytest.mark.parametrize("name", GIVEN)
def test_changes_of_arguments_are_noticed(name, restored):
    """Arguments that are no tensors had been compared by identity, or by what their classes call equal."""
    body, given, change = GIVEN[name]
    kind = type("Model", (Base,), {"forward": lambda self, x, a: body(self.line(x), a)})
    torch.manual_seed(3)
    with sdgrad.config.override(optimization_level=0):
        module = kind()
        wrapped, x = sdgrad.Module(module), torch.randn(2, 3)
        first = wrapped(x, given)
        torch.testing.assert_close(first, kind.forward(module, x, given))
        other = change(module if name == "a function" else given)
        given = given if other is None else other
        second = wrapped(x, given)
        torch.testing.assert_close(second, kind.forward(module, x, given))
    assert not torch.allclose(first, second)
