"""What Python is told of the type of a recorded value, and of what decides that is no recorded value."""

import functools
import numbers
from collections import deque, namedtuple
from itertools import count, islice

import numpy as np
import pytest

import sdgrad


def by_type(x):
    return 2 * x if type(x) == float else x  # noqa: E721


def by_match(x):
    match x:
        case str() | list():
            return x
        case float(v) if v > 100:
            return v
        case float() | int():
            return 3 * x
        case _:
            return x


def by_key(x):
    return {float: 4.0, np.ndarray: 5.0}[type(x)] * x


def by_kind(x):
    return 5 * x if isinstance(x, numbers.Real) and issubclass(type(x), float) else x


@functools.singledispatch
def area(shape):
    raise TypeError(type(shape))


@area.register
def _(shape: float):
    return shape * shape


@area.register
def _(shape: list):
    return sum(map(area, shape))


@area.register
def _(shape: np.ndarray):
    return np.sum(shape * shape)


class Areas:
    share = 2.0

    @functools.singledispatchmethod
    def of(self, shape):
        return 0.0

    @of.register
    def _(self, shape: float):
        return shape * shape * self.share

    @of.register(np.ndarray)
    def _(self, shape):
        return np.sum(shape * shape) * self.share

    @of.register
    def _(self, shape: list):
        return sum(self.of(part) for part in shape)

    @functools.singledispatchmethod
    @classmethod
    def made(cls, shape):
        return 0.0

    @made.register
    @classmethod
    def _(cls, shape: float):
        return shape * 3.0 * cls.share


AREAS = Areas()


def by_methods(x):
    own = Areas()
    return (
        own.of(x)
        + own.of([x, 2 * x])
        + AREAS.of(np.ones(3) * x)
        + Areas.made(x)
        + AREAS.made(x)
        + (x.__class__ is float)
    )


def by_dispatch(x):
    return area(x) + area([x, 2 * x]) + area(np.ones(3) * x)


OF_ONE = [by_type, by_match, by_key, by_kind, by_dispatch, by_methods]
LIMITS = {
    "two numbers first": lambda x: max(0.0, 1.0, x) + min(3, 2.0, x) + max([0, 1, x]) + max(0.1, 0.2, x, key=abs),
    "a slice of an iterator": lambda x: sum(islice((x * k for k in count()), 3)),
}


@pytest.mark.parametrize("f", [*OF_ONE, *LIMITS.values()], ids=[*(f.__name__ for f in OF_ONE), *LIMITS])
def test_one_number(f):
    value, slope = sdgrad.value_and_grad(f)(1.3)
    assert np.isclose(value, f(1.3), rtol=1e-12)
    assert np.isclose(slope, (f(1.3 + 1e-6) - f(1.3 - 1e-6)) / 2e-6, rtol=1e-6)


def by_integers(x, n):
    last = deque([x], maxlen=n)
    for _ in range(4):
        last.append(last[-1] * 1.1)
    return sum(last) + sum(islice((x * k for k in count()), n + 1))


Quote = namedtuple("Quote", "months rate")


def by_months(quotes):
    total = 1.0
    for months, rate in sorted(quotes):
        total = np.sin(total * rate) + months
    for quote in sorted(quotes, key=lambda q: -q.months):
        total = np.cos(total * quote.rate)
    return total * min(quotes, key=lambda q: q.months).rate + max(quotes, key=lambda q: (q.months, 1)).rate


def test_objects_are_sorted_by_their_integers():
    for months in ((12, 6, 24), (6, 24, 12)):
        quotes = [Quote(m, r) for m, r in zip(months, (0.3, 0.5, 0.7), strict=True)]
        value, slopes = sdgrad.value_and_grad(by_months)(quotes)
        assert np.isclose(value, by_months(quotes))
        for k, slope in enumerate(slopes):
            moved = [[q._replace(rate=q.rate + h * (j == k)) for j, q in enumerate(quotes)] for h in (1e-6, -1e-6)]
            assert np.isclose(slope.rate, (by_months(moved[0]) - by_months(moved[1])) / 2e-6, rtol=1e-6)


def test_integers_that_python_needs():
    for n in (2, 3):
        value, slope = sdgrad.value_and_grad(by_integers)(1.3, n)
        assert np.isclose(value, by_integers(1.3, n)) and np.isclose(slope, by_integers(1.0, n))


def weighted(x, k):
    return x * sum({int(v): 1.0 for v in k.ravel()}) * {0: 1.0, 1: 2.0, 2: 3.0}[int(k.ravel()[0]) % 3]


@pytest.mark.parametrize("layout", [lambda k: k[:, ::2], lambda k: k.T, lambda k: k[1:, 1], np.asfortranarray])
def test_content_of_strided_integers(layout):
    """What decided was memory that nobody had written."""
    given = layout(np.arange(12).reshape(3, 4))
    value, slope = sdgrad.value_and_grad(weighted)(1.3, given)
    assert np.isclose(value, weighted(1.3, given)) and np.isclose(slope, weighted(1.0, given))
