"""Exceptions that Python raises and catches while a program is recorded, and what follows a ``with`` block."""

import contextlib
import warnings

import numpy as np
import pytest

import sdgrad
from python.check import Programs, X, check, name_of

program = Programs()


class Missing(KeyError):
    def __init__(self, name, instead):
        super().__init__(name)
        self.instead = instead


def looked_up(table, name):
    if name not in table:
        raise Missing(name, instead=2.0)
    return table[name]


class TooLarge(ValueError):
    pass


@program
def caught_by_its_class(x):
    table, s = {"a": x[0], "b": x[1]}, 1.0
    for name in ("a", "c", "b"):
        try:
            s = s * looked_up(table, name)
        except ZeroDivisionError:
            s = 100.0
        except (ValueError, KeyError) as error:
            s = s * x[2] + error.instead
        else:
            s = s + 1.0
        finally:
            s = s * x[3]
    return s


@program
def values_by_attempts(x):
    def first(parts, n):
        try:
            return parts[n]
        except IndexError:
            return x[3]

    s = first([x[0], x[1]], 1) * first([x[0]], 1)
    try:
        s = s + x[2].none
    except AttributeError:
        s = s * 2.0
    try:
        y = x.reshape(3, 3)
    except ValueError:
        y = x.reshape(2, 2)
    return s + np.sum(y @ y)


@program
def returned_through_finally(x):
    trail = []

    def f(v):
        for k in range(4):
            try:
                if k == 1:
                    continue
                if k == 2:
                    return v * x[k]
                v = v * 2.0
            finally:
                trail.append(v)
        return v

    return f(x[0]) * sum(trail) + len(trail)


@program
def raised_again(x):
    def inner(k):
        try:
            if k > 1:
                raise ValueError(k)
            return x[k]
        except ValueError as error:
            raise RuntimeError("inner") from error

    s = inner(0)
    try:
        s = s * inner(2)
    except RuntimeError as error:
        s = s + x[error.__cause__.args[0]] ** 2
    with contextlib.suppress(RuntimeError):
        s = s * 3.0
        s = s * inner(3)
    return s * x[1]


@program
def checks_that_hold(x):
    assert x.ndim == 1 and len(x) == 4, "four"
    assert x[0] > 0.0
    s = 0.0
    for k, v in enumerate(x):
        assert -5.0 < v < 5.0, f"element {k} is {v}"
        if np.isnan(v):
            raise ValueError("no number")
        if k > 2 and v < 0.0:
            raise NotImplementedError
        s = s + v * v
    if s < 0.0:
        raise ArithmeticError(s)
    elif s > 4.0:
        s = s * x[0]
    else:
        raise AssertionError
    return s


@contextlib.contextmanager
def scaled(y, by):
    y *= by
    try:
        yield y[1:]
    finally:
        y /= by


@program
def managers(x):
    y, s = x * 1.0, 0.0
    with scaled(y, 2.0) as part, contextlib.nullcontext(x[0]) as first:
        part[0] = first * part[1]
        s += np.sum(part)
    with contextlib.ExitStack() as stack:
        for by in (0.5, 4.0):
            stack.enter_context(scaled(y, by))
        s *= np.sum(y)
    return s + np.sum(y * x)


@program
def settings_for_a_while(x):
    with np.errstate(divide="ignore", invalid="ignore"), np.printoptions(precision=2):
        y = np.log(np.where(x > 0.0, x, 1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("nothing", stacklevel=1)
        y = y * x
    return np.sum(y)


@pytest.mark.parametrize("f", program, ids=name_of)
def test_program(f):
    check(f)


def test_what_a_call_raises_has_its_text_and_class():
    def f(x):
        table = {0: x[0]}
        if x[1] > 100.0:
            raise TooLarge("large", 3)
        return looked_up(table, 0) * x[1]

    g = sdgrad.grad(f)
    np.testing.assert_allclose(g(X), [X[1], X[0], 0.0, 0.0])
    with pytest.raises(TooLarge, match="large") as caught:
        g(X * 100.0)
    assert caught.value.args == ("large", 3)
    np.testing.assert_allclose(g(X), [X[1], X[0], 0.0, 0.0])
