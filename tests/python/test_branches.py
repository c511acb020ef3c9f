"""Branches and conditions: each program at two points, of which the second takes other arms."""

import numpy as np
import pytest

import sdgrad
from python.check import OTHER, Programs, X, check, name_of
from sdgrad.record import function

program = Programs()

SCALE = np.ones(4)


@program
def value_of_or(x):
    z = x[0] or x[1]
    return z * 1.5


@program
def value_of_and(x):
    z = x[0] > 0 and x[1]
    return z * 1.5


@program
def one_of_many_arms(x):
    if x[0] < -2.0:
        y = x[0]
    elif x[0] < -1.0:
        y = x[1] ** 2
    elif x[2] > 0.0:
        y = x[2] * 3.0
    elif x[3] > 2.0:
        y = x[3] * x[1]
    else:
        y = 1.0
    return y * x[1]


@program
def returns_one_after_another(x):
    if x[1] < 0.0:
        return x[0]
    y = x[0] * x[1]
    if y > 0.5:
        return y * x[2]
    z = y + x[3]
    if z > 0.0:
        return z
    return z * y


@program
def lists_after_a_return(x):
    if x[0] < -5.0:
        return 0.0
    parts = []
    for k in range(3):
        parts.append(x[k] * x[k + 1])
    return sum(parts)


@program
def exchanged_in_an_arm(x):
    a, b = x[0], x[1]
    if a < b:
        a, b = b, a
    return a * a - 3.0 * b


@program
def sorted_by_exchanges(x):
    y = x * 1.0
    for i in range(4):
        for j in range(3 - i):
            if y[j] > y[j + 1]:
                y[j], y[j + 1] = y[j + 1], y[j]
    return np.sum(y * np.array([1.0, 2.0, 3.0, 5.0]))


@program
def arrays_of_both_arms(x):
    if np.sum(x) > 0.0:
        y, z = np.sin(x), x[:2]
    else:
        y, z = x * x, x[2:] + 1.0
    return np.sum(y * x) + z[0] * z[1]


@program
def written_in_arms(x):
    y = x * 1.0
    for i in range(1, 4):
        if y[i] < y[i - 1]:
            y[i] *= y[i - 1]
        else:
            y[:i] += x[i]
    return np.sum(y * y)


@program
def choices_of_arrays(x):
    y = np.sin(x) if x[0] > 0.0 else np.cos(x)
    y[0] = 2.0
    return np.sum(y * (x if x[3] > 0.0 else y))


@program
def guarded_by_what_is_before(x):
    s = 0.0
    for v in x:
        if v > 0.0 and np.log(v) > -1.0:
            s += np.log(v)
        if v == 0.0 or 1.0 / v < -1.0:
            s += v
    return s * x[0]


@program
def truth_tables(x):
    a, b, c = x[0] > 0.0, x[1] > 1.0, x[2] > 0.0
    s = 0.0
    if a and not (b or c):
        s += x[0]
    if (a or b) and c:
        s += x[1]
    if a != c:
        s += x[2]
    if not a and not b or c:
        s += x[3]
    return s * s + (a + b + c) * x[0] + (a ^ b) * x[1] + (not c) * x[2]


@program
def chains_of_comparisons(x):
    s = 0.0
    for i in range(4):
        if -1.0 < x[i] <= 0.9 > x[i - 1]:
            s += x[i] ** 2
        if 0 < i < 3 != x[i] > 0.0:
            s += x[i]
    return s * (x[0] < x[1] < x[2] or 2.0)


@program
def named_in_conditions(x):
    s = 0.0
    if (d := x[0] - x[1]) > 0.0:
        s = d * d
    elif (e := d + 2.0 * x[3]) > 0.0:
        s = e * e
    parts = [t * t for v in x if (t := v * 0.5) is not None]
    return s + d + sum(parts) * t


@program
def conditions_on_all_elements(x):
    s = x[0]
    if np.all(x > -1.0):
        s = s * x[1]
    if (x > 2.0).any() and not (x[:2] < -1.0).all():
        s = s + x[3] ** 2
    if x[:1] > 0.0:
        s = s * 1.5
    if np.allclose(x, x) and x.size:
        s = s + x[2]
    return s


@program
def questions_to_python(x, off=None, scale=SCALE):
    s, names = 0.0, ("a", "b")
    if isinstance(x, np.ndarray) and not isinstance(x[0], (str, list)):
        s += np.sum(x * x)
    if off is None or off > 2:
        s += x[0]
    if "b" in names and "c" not in names and callable(np.sin):
        s *= x[1]
    if scale is not None and len(names) == 2 and x.ndim == 1 and x.dtype == np.float64:
        s += np.sum(scale * x)
    return s


def activated(x, kind, order):
    match kind:
        case "sine":
            return np.sin(x)
        case "power" if order > 2:
            return x**order
        case "power" | "square":
            return x * x
        case ("scaled", factor) if factor > 0:
            return factor * x
        case {"kind": inner, **others}:
            return activated(x, inner, others.get("order", 1))
        case _:
            return x


@program
def matched(x):
    y = activated(x, "sine", 1) + activated(x, "power", 3) + activated(x, "power", 2) + activated(x, None, 0)
    return np.sum(y + activated(x, ("scaled", 2.5), 1) * activated(x, {"kind": "power", "order": 4}, 0))


@program
def matched_counter(x):
    s = 0.0
    for k in range(4):
        match k:
            case 0:
                s += x[k]
            case 1 | 2:
                s *= x[k]
            case n if n > 2 and len(x) > 3:
                s += n * x[n]
            case _:
                s -= x[0]
    return s


@program
def parts_of_a_curve(x):
    def spline(t):
        t = abs(t)
        if t >= 2.0:
            return 0.0
        if t >= 1.0:
            return (2.0 - t) ** 3 / 6.0
        return 2.0 / 3.0 - t * t + t**3 / 2.0

    return sum(spline(v) * (k + 1) for k, v in enumerate(x))


@pytest.mark.parametrize("f", program, ids=name_of)
def test_program(f):
    check(f, X, OTHER)


def test_operands_that_only_compute_a_truth_are_recorded_at_once(monkeypatch):
    """Where a later operand may fail, or may have an infinite derivative, it is a branch: that is known afterwards."""
    recordings = []
    own = function._recorded
    monkeypatch.setattr(function, "_recorded", lambda *given: recordings.append(given) or own(*given))

    def halved(x):
        y, k = x[0] + x[1], 0
        while y > 1.0 and k < 9 and (x[1] > 9.0 or 0.0 < y - x[1] < y * x[2]):
            y, k = y * 0.5, k + 1
        return y * x[2]

    def by_position(x):
        y, k = x[0], 0
        while k < 3 and x[k] > 0.0:
            y, k = y * x[k], k + 1
        return y + (y > 0.0 and np.sqrt(y))

    x = np.array([2.0, 3.0, 5.0])
    np.testing.assert_array_equal(sdgrad.grad(halved)(x), [2.5, 2.5, 2.5])
    assert len(recordings) == 1
    np.testing.assert_allclose(sdgrad.grad(by_position)(x), (1 + 0.5 / np.sqrt(60.0)) * np.array([60.0, 20.0, 12.0]))
    np.testing.assert_array_equal(sdgrad.grad(by_position)(np.array([0.0, 1.0, 1.0])), [1.0, 0.0, 0.0])
    assert len(recordings) == 4


def inverted(x, a):
    """Python's truth values are integers to ``~``, and both of their inverses are true; NumPy's are not."""
    first = x[0] * (3 + ~(a > 0.5)) + np.sum(x[~(x > a)])
    if ~(a > 0.5):
        first = first * 5.0
    if ~(x[0] > 1.0):
        first = first * 7.0
    return first + np.invert(a > 0.5)


@pytest.mark.parametrize("a", [1.5, 0.25])
def test_inverted_truth_values(a):
    x = np.array([0.5, 1.25, 3.0])
    with sdgrad.config.override(verify="never"):
        value, gradient = sdgrad.value_and_grad(inverted)(x, a)
    assert value == inverted(x, a)
    differences = [(inverted(x + 1e-6 * e, a) - inverted(x - 1e-6 * e, a)) / 2e-6 for e in np.eye(3)]
    np.testing.assert_allclose(gradient, differences, rtol=1e-7)
