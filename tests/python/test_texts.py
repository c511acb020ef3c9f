"""Texts of what only a run knows: shown anywhere, and refused where they decide something."""
# ruff: noqa: F509, UP031, UP032

import logging
import warnings

import numpy as np
import pytest

import sdgrad
from sdgrad.errors import UnknownContent

X = np.array([1.0, 2.0])


def by_key(x):
    kept = {}
    for v in x:
        kept.setdefault(f"{v:.3f}", v * v)
    return sum(kept.values())


def by_percent(x):
    return x[1] if "a%.1fb" % (x[0],) == "a1.0b" else x[0]


def by_format(x):
    return x[1] if "1.0" in "{} {:.1f}".format(x[1], x[0]) else x[0]


DECIDING = {
    "a comparison": lambda x: np.sum(x) if str(x[0]) == "1.0" else x[0],
    "a part": lambda x: x[0] if "e" in str(x[0]) else x[1],
    "a key": by_key,
    "a number": lambda x: np.sum(x) * float(f"{x[0]:.1f}"),
    "a length": lambda x: np.sum(x) * len(str(x[0])),
    "percent": by_percent,
    "a method": by_format,
    "a beginning": lambda x: x[0] if repr(x[1]).startswith("2") else x[1],
}


@pytest.mark.parametrize("name", DECIDING)
def test_texts_that_decide_are_refused(name):
    """They were those of no number, and decided."""
    with pytest.raises(UnknownContent, match=r"(?s)test_texts.py:\d+.*a text of what only a run of the program knows"):
        sdgrad.grad(DECIDING[name])(X)


def shown_anywhere(x, n):
    lines = []
    for i in range(3):
        print("%d: %g %5.2f %s%%" % (i, x[0], x[1], x), 7 % n)
        print("%g" % x[0], "{:.3f}".format(x[1]), f"{x[0]:.2e}", "%(a)s" % {"a": n}, "%.1f" % 2.5)
        x = x * 0.9
        lines.append(f"{i}: {x[0]:.3f}".ljust(20))
    logging.info("values %s", x[0])
    warnings.warn(f"now {x[0]:.2f}", stacklevel=1)
    if x[0] > 5.0:
        raise ValueError("too large: " + "\n".join(lines))
    assert x[1] < 5.0, "bad %s" % x[1]
    return np.sum(x) * n


@pytest.mark.filterwarnings("ignore:now")
def test_texts_are_shown_anywhere():
    value, gradient = sdgrad.value_and_grad(shown_anywhere)(X, 3)
    assert np.isclose(value, shown_anywhere(X, 3))
    np.testing.assert_allclose(gradient, 3 * 0.9**3)


def of_known(x, n):
    total = 0.0
    for i in range(3):
        total = total + {"a0": 1.0, "a1": 2.0, "a2": 5.0}["a%d" % i] * x[0]
    weights = np.arange(3.0)
    return total * len(f"{weights[1]:.2f}") * (2.0 if f"{n}" == "3" else 5.0) * len(str(weights))


def test_texts_of_what_is_known_decide():
    for n in (3, 4):
        assert sdgrad.value_and_grad(of_known)(X, n)[0] == of_known(X, n)
