"""Names that are one of several objects, by what only a run knows: texts, None, members of enumerations, functions."""

import enum

import numpy as np
import pytest

import sdgrad
from python.check import Programs, check, name_of

program = Programs()
POINTS = (
    np.array([0.53, 1.71, -0.7, 2.04, 0.3]),
    np.array([1.9, -0.4, 0.2, 1.3, 1.25]),
    np.array([-0.2, 0.1, 0.3, -1.0, 0.4]),
)


@program
def state_of_a_machine(x):
    state, total = "flat", 0.0
    for i in range(len(x)):
        if state == "flat" and x[i] > 1.0:
            state = "long"
        elif state == "long" and x[i] < 0.0:
            state = "flat"
        total += x[i] ** 2 if state == "long" else 0.1 * x[i]
    return total


@program
def best_so_far(x):
    best = None
    for v in x:
        if best is None or v > best:
            best = v
    return best**2


@program
def opened_and_closed(x):
    entry, won = None, 0.0 * x[0]
    for i in range(len(x)):
        if entry is None and x[i] > 1.0:
            entry = x[i]
        elif entry is not None and x[i] < entry * 0.5:
            won += x[i] - entry
            entry = None
    return won


class Mode(enum.Enum):
    SLOW = 1
    FAST = 2


@program
def member_of_an_enumeration(x):
    mode, s = Mode.SLOW, 0.0
    for i in range(len(x)):
        s += x[i] if mode is Mode.SLOW else x[i] ** 2
        mode = Mode.FAST if x[i] > 1 else Mode.SLOW
    return s


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@program
def member_that_is_a_number(x):
    level, s = Level.LOW, 0.0
    for v in x:
        s += v**2 if level is Level.HIGH else v
        s += 2.0 * v if level == 2 else 0.0
        level = Level.HIGH if v > 1 else Level.LOW
    return s


@program
def function_and_key(x):
    f = np.sin if x[0] > 0 else np.cos
    key = "a" if x[1] > 0 else "b"
    table = {"a": 2.0, "b": 3.0}
    return f(x[2]) * table[key] + table.get(key) * x[3] + {"a": x[4]}.get(key, 0.5) * x[0]


def regime(v):
    if v > 1:
        return "hot"
    if v < 0:
        return "cold"
    return "mild"


@program
def text_that_a_function_returns(x):
    s = 0.0
    for v in x:
        kind = regime(v)
        if kind == "hot":
            s += v**2
        elif kind in ("cold", "frozen"):
            s -= v
        else:
            s += 3 * v
    return s


@program
def cases(x):
    s, t, k = "a", 0.0, 0
    while k < 5:
        match s:
            case "a":
                t += x[k]
            case "b" | "z":
                t += x[k] ** 2
            case other if k > 3:
                t += 7.0 * x[k] * (other != "q")
            case _:
                t -= x[k]
        s = "b" if x[k] > 1 else ("c" if x[k] < 0 else "a")
        k += 1
    return t


@program
def truth_of_a_text_or_none(x):
    s = 0.0
    for i in range(5):
        kind = None
        if x[i] > 1:
            kind = "large"
        if kind:
            s += x[i] ** 2
        if not kind:
            s += x[i]
    return s


@program
def method_of_a_text(x):
    side = "buy" if x[0] > 0 else "sell"
    return x[1] * (2 if side.startswith("b") else 3) + 0.1 * len(f"{1.0}") * x[0]


@program
def returned_before_the_end(x):
    limit = None
    for v in x:
        if limit is not None and v > limit:
            return v * limit
        if v > 0.5:
            limit = v
    return 0.0 * x[0]


@program
def least_and_largest(x):
    low = high = None
    for v in x:
        low = v if low is None else min(low, v)
        high = v if high is None or v > high else high
    return high - low**2


class Trader:
    def __init__(self):
        self.state, self.entry, self.won = "flat", None, 0.0

    def step(self, price):
        if self.state == "flat":
            if price > 1:
                self.state, self.entry = "long", price
        elif price < 0.5:
            self.won += price - self.entry
            self.state, self.entry = "flat", None


@program
def attributes(x):
    trader = Trader()
    for price in x:
        trader.step(price)
    if trader.entry is not None:
        trader.won += x[-1] - trader.entry
    return trader.won + 0.0 * x[0]


@program
def entries(x):
    state = {"name": "a", "sum": 0.0}
    for v in x:
        if v > 1:
            state["name"] = "b"
        elif v < 0:
            state["name"] = "c"
        if state["name"] == "b":
            state["sum"] += v * v
        elif state["name"] == "c":
            state["sum"] -= v
    return state["sum"] + x[0]


@program
def array_or_none(x):
    best = least = None
    for i in range(5):
        point = np.array([x[i], x[i] ** 2])
        value = np.sum(point)
        if least is None or value > least:
            least, best = value, point
    return best[0] * best[1] + np.sum(best) + (best @ point if best is not None else 0.0)


@program
def copy_of_an_array(x):
    z, kept = x * 1.0, None
    for _ in range(4):
        z = z * 0.5 + np.sin(z)
        if z[0] > 0.6:
            kept = z.copy()
    return np.sum(kept**2) if kept is not None else x[1]


@program
def kinds(x):
    value = None if x[0] > 0 else "text"
    if x[1] > 0:
        value = x[2]
    return (2.0 if isinstance(value, str) else 3.0) * x[3] + (x[4] if isinstance(value, float) else x[4] ** 2)


@pytest.mark.parametrize("function", program, ids=name_of)
def test_program(function):
    check(function, *POINTS)


def number_or_none(x):
    w = None
    if x[0] > 0:
        w = x[1]
    return w * 2.0


def returned(x):
    w = None
    if x[0] > 0:
        w = x[1]
    return w


@pytest.mark.parametrize("function", [number_or_none, returned], ids=name_of)
def test_none_where_a_number_is_needed(function):
    """The call raises where it is None, and is right where it is a number."""
    both = sdgrad.value_and_grad(function)
    assert both(POINTS[0])[0] == function(POINTS[0])
    with pytest.raises(TypeError, match="None is used as a number"):
        both(POINTS[2])


def text_that_is_returned(x):
    return x[1], "buy" if x[0] > 0 else "sell"


def text_that_grows(x):
    s = "a"
    for v in x:
        s = s + "b" if v > 1 else s
    return x[0] * len(s)


@pytest.mark.parametrize("function", [text_that_is_returned, text_that_grows], ids=name_of)
def test_refused(function):
    with pytest.raises(sdgrad.SdgradError, match="only a run knows"):
        sdgrad.compile_forward(function)(POINTS[0])


def an_array_that_is_written_later(x):
    z, kept = x * 1.0, None
    for i in range(4):
        z *= 0.9
        if x[i] > 0.6:
            kept = z
    return np.sum(kept**2)


def test_an_array_that_is_written_later():
    with pytest.raises(sdgrad.SdgradError, match=r"copy\(\)"):
        sdgrad.grad(an_array_that_is_written_later)(POINTS[0])


@program
def attributes_of_what_may_be_none(x):
    best = None
    for k in range(4):
        if x[k] > 0.25 and (best is None or x[k] > best.max()):
            best = x[k] * np.arange(len(x))
    return best.sum() * best.T[0] + best[1]


def used_where_it_may_be_none(x):
    best, f = None, None
    for k in range(len(x)):
        if x[k] > 1.0:
            best, f = x * x[k], np.sin
    return best, f


@pytest.mark.parametrize(
    ("use", "error"),
    [
        (lambda best, f: best.sum(), "'NoneType' object has no attribute 'sum'"),
        (lambda best, f: best[0], "None is used as a number"),
        (lambda best, f: f(1.0 * best[0]), "None is used as a number|'NoneType' object is not callable"),
    ],
    ids=["attribute", "item", "call"],
)
def test_none_is_used_as_something_else(use, error):
    def f(x):
        return use(*used_where_it_may_be_none(x))

    both = sdgrad.value_and_grad(f)
    value, _ = both(POINTS[0])
    np.testing.assert_allclose(value, f(POINTS[0]), rtol=1e-12)
    with pytest.raises((TypeError, AttributeError), match=error):
        both(np.zeros(5))
