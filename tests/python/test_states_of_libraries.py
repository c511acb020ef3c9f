"""Objects of libraries whose methods Python runs as they stand: what they hold is noticed when it changes."""

import configparser
import operator
import string

import numpy as np
import pytest

import sdgrad
from sdgrad.api.gradient import GradFunction

X = np.ones(2)


def test_settings_of_a_parser():
    settings = configparser.ConfigParser()
    settings.read_string("[model]\nrate = 2.5\n")
    for read in (lambda: settings["model"].getfloat("rate"), lambda: float(settings.get("model", "rate"))):
        gradient = sdgrad.grad(lambda x, read=read: np.sum(x) * read())
        for rate in ("2.5", "3.5", "2.5"):
            settings["model"]["rate"] = rate
            assert [gradient(X)[0] for _ in range(2)] == [float(rate)] * 2


def test_a_template():
    template = string.Template("$a.5")
    gradient = sdgrad.grad(lambda x: np.sum(x) * float(template.substitute(a=2)))
    assert gradient(X)[0] == 2.5
    template.template = "1$a"
    assert gradient(X)[0] == 12.0


class Steps:
    """A class of no library: its methods are converted."""

    def __init__(self):
        self.parser = configparser.ConfigParser()

    def rate(self):
        return self.parser.getfloat("a", "b", fallback=1.5)


def test_inside_of_an_object():
    steps = Steps()
    gradient = sdgrad.grad(lambda x: np.sum(x) * steps.rate())
    assert [gradient(X)[0] for _ in range(2)] == [1.5] * 2
    steps.parser.read_string("[a]\nb = 4\n")
    assert [gradient(X)[0] for _ in range(2)] == [4.0] * 2


def test_what_nobody_reads_may_change(monkeypatch):
    steps, general, found = Steps(), GradFunction.general, []
    steps.count = 0
    monkeypatch.setattr(GradFunction, "general", lambda f, *args: found.append(1) or general(f, *args))
    gradient = sdgrad.grad(lambda x: np.sum(x) * (2.0 if hasattr(steps, "mask") or callable(steps) else steps.rate()))
    for _ in range(4):
        steps.count += 1
        assert gradient(X)[0] == 1.5
    assert len(found) == 1


def test_shifts_by_arguments():
    gradient = sdgrad.grad(lambda x, n: np.sum(x) * (8 >> n) * (1 << n))
    assert gradient(X, 2)[0] == 8.0
    with pytest.raises(ValueError, match="negative shift count"):
        gradient(X, -1)


def test_truth_values_as_an_index():
    assert np.array_equal(sdgrad.grad(lambda x: np.sum(x[True] * x[..., True]))(X), 2 * np.sum(X) * X)
    with pytest.raises(sdgrad.errors.ParseError, match="indexed by False"):
        sdgrad.grad(lambda x: np.sum(x[False]))(X)


class Units:
    """What a property makes is another object at each look."""

    def __init__(self):
        self.scale = 2.0

    scales = property(operator.attrgetter("__dict__"))
    known = property(lambda self: {"a", "b"})


def test_what_properties_make(monkeypatch):
    units, general, found = Units(), GradFunction.general, []
    monkeypatch.setattr(GradFunction, "general", lambda f, *args: found.append(1) or general(f, *args))
    gradient = sdgrad.grad(lambda x: np.sum(x) * units.scales["scale"] * len(units.known))
    assert [gradient(X)[0] for _ in range(3)] == [4.0] * 3 and len(found) == 1
    units.scale = 3.0
    assert [gradient(X)[0] for _ in range(2)] == [6.0] * 2


def test_copies_that_are_made_if_needed():
    def f(x):
        y = np.array(x, copy=np._CopyMode.IF_NEEDED)
        return np.sum(y**2) * (1.0 if np.may_share_memory(x, y) else 2.0) * (3.0 if np.may_share_memory(x, X) else 1.0)

    assert np.array_equal(sdgrad.grad(f)(np.arange(2.0)), [0.0, 2.0])
    with pytest.raises(sdgrad.errors.ParseError, match="may_share_memory of two parts"):
        sdgrad.grad(lambda x: np.sum(x) * np.may_share_memory(x[1:], x[:-1]))(X)
