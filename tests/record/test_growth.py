"""Lists that loops fill: recorded once where nothing reads them on the way, else written out; right in both cases."""

import numpy as np
import pytest
from python.check import Programs, X, check, name_of

import sdgrad
from sdgrad.program.tree import Loop, walk

recorded, written_out = Programs(), Programs()


@recorded
def arrays(x):
    r = []
    for _ in range(5):
        x = np.sin(x)
        r.append(x)
    return np.sum(np.array(r) ** 2)


@recorded
def numbers_behind_others(x):
    r = [x[0]]
    for _ in range(6):
        x = np.sin(x) * 1.1
        r.append(np.sum(x * x))
    return np.mean(r) + r[-1] * r[0] + sum(r) + len(r)


@recorded
def changed_after_it_was_appended(x):
    r = []
    for k in range(4):
        y = np.sin(x * k)
        r.append(y)
        y[0] = 5.0
    return np.sum(np.array(r) * x)


@recorded
def tuples(x):
    r = []
    for k in range(5):
        x = np.sin(x)
        r.append((x, np.sum(x), k, "name"))
    s = 0.0
    for y, t, k, _ in r:
        s = s + np.sum(y) * t * k
    return s


@recorded
def loops_over_the_list(x):
    r = []
    for _ in range(5):
        x = np.tanh(x)
        r.append(x)
    s = 0.0
    for y, t in zip(r, np.arange(5.0), strict=True):
        s = s + np.sum(y) * t
    for k, y in enumerate(r):
        s = s + y[0] * k
    return s


@recorded
def lists_in_lists(x):
    out = []
    for a in range(4):
        row = []
        for b in range(3):
            row.append(x[a] * b + np.sin(x[b]))
        out.append(row)
    return np.sum(np.array(out) ** 2)


@recorded
def lists_in_a_dict(x):
    history = {"a": [], "b": []}
    for _ in range(5):
        x = x * 0.9
        history["a"].append(x)
        history["b"].append(x[0] ** 2)
    return np.sum(np.stack(history["a"])[2:]) + np.sum(history["b"])


@recorded
def both_arms(x):
    r = []
    for k in range(4):
        if x[k] > 0:
            r.append(x[k] * 2)
        else:
            r.append(x[k] * 3)
    return np.sum(np.array(r) * np.arange(4.0))


@recorded
def several_at_once(x):
    r = []
    for k in range(4):
        r.extend([x[k], x[k] ** 2])
        r += [1.0]
    return np.sum(np.array(r) * np.arange(12.0))


@recorded
def an_element_is_written_afterwards(x):
    r = []
    for _ in range(4):
        x = np.sin(x)
        r.append(x)
    r[1][0] = 9.0
    return np.sum(np.array(r) * 2)


@recorded
def steps_backwards(x):
    r = []
    for k in range(9, 0, -2):
        r.append(x[0] * k)
    return np.sum(np.array(r) * np.arange(5.0))


def logged(history, value):
    history.append(value)
    return value


@recorded
def helper_that_appends(x):
    r = []
    for _ in range(4):
        x = logged(r, np.cos(x))
    return np.sum(np.array(r[1:]) * x)


@recorded
def filled_from_the_front(x):
    s, q = x, [x]
    for k in range(20, -1, -1):
        s = np.sin(s) * 1.1 + 0.01 * k
        q.insert(0, s)
    return np.sum(np.array(q) * np.arange(len(q))[:, None])


@recorded
def filled_at_both_ends(x):
    q = [x * 2, x * 3]
    for k in range(10):
        x = np.sin(x)
        q.insert(0, x)
        q.append(x * 3)
        q.insert(0, x * k)
    return sum(np.sum(v) * (i + 1) for i, v in enumerate(q))


@recorded
def numbers_from_the_front(x):
    s, q = x[0], []
    for k in range(10):
        s = np.sin(s) + x[1] * k
        q.insert(0, s)
    return np.sum(np.array(q) * np.arange(10.0)) + q[0] * q[-1] + sum(q[2:5])


@recorded
def tuples_from_the_front(x):
    q = []
    for k in range(8):
        x = np.tanh(x) * 1.2
        q.insert(0, (x, np.sum(x), k))
    return sum(np.sum(a) * b * c * i for i, (a, b, c) in enumerate(q))


@written_out
def inserted_in_the_middle(x):
    q = [x, x * 2]
    for k in range(6):
        x = np.sin(x)
        q.insert(1, x)
        q.insert(k, x * 2)
        q.insert(-1, x * 3)
    return np.sum(np.array(q) * np.arange(len(q))[:, None])


@written_out
def read_at_the_front(x):
    s, q = x, [x]
    for _ in range(8):
        s = np.tanh(s) * 1.2 + q[0]
        q.insert(0, s)
    return np.sum(np.array(q) * np.arange(len(q))[:, None])


@written_out
def handed_to_functions_of_the_same_names(x):
    q = []
    for _ in range(5):
        x = np.sin(x)
        q.append(x)
        z = np.append(q, x)
        w = np.insert(np.array(q).ravel(), 0, 1.0)
    return np.sum(z * 2) + np.sum(w)


@written_out
def reads_the_last(x):
    r = [x]
    for _ in range(5):
        r.append(np.sin(r[-1]))
    return np.sum(r[-1])


@written_out
def one_array_again_and_again(x):
    r, y = [], x * 1.0
    for _ in range(4):
        y *= 0.9
        r.append(y)
    return np.sum(np.array(r) * x)


@written_out
def the_next_trip_writes_it(x):
    r, y = [], x * 1.0
    for _ in range(4):
        y[0] = y[0] + 1.0
        y = np.sin(y)
        r.append(y)
    return np.sum(np.array(r) * x)


@written_out
def length_on_the_way(x):
    r = []
    for _ in range(4):
        r.append(x * len(r))
    return np.sum(np.array(r))


@written_out
def truth_on_the_way(x):
    r = []
    for _ in range(4):
        if r:
            x = x * 2
        r.append(x[0])
    return np.sum(x) + sum(r)


@written_out
def loop_on_the_way(x):
    r = []
    for _ in range(4):
        for y in r:
            x = x + y
        r.append(np.sum(x))
    return np.sum(x)


@written_out
def starred_on_the_way(x):
    r, last = [], [0.0]
    for k in range(4):
        last = [*r, x[k]]
        r.append(x[k] * 2.0)
    return last[0] * last[-1]


@written_out
def window(x):
    r = []
    for k in range(5):
        r.append(x[0] * k)
        if len(r) > 3:
            r.pop(0)
    return sum(r)


@written_out
def sizes_that_change(x):
    r = []
    for k in range(1, 4):
        r.append(np.sum(x[:k]))
        r.append(x[:k])
    return sum(np.sum(v) for v in r)


@written_out
def functions(x):
    fs = []
    for k in range(4):
        fs.append(lambda v, k=k: v * k)
    return sum(f(x[0]) for f in fs)


def test_the_number_of_trips_is_an_argument():
    def path(x, n=5):
        r = []
        for _ in range(n):
            x = np.sin(x)
            r.append(x)
        return np.sum(np.array(r) ** 2)

    gradient = sdgrad.value_and_grad(path)
    for n in (5, 3, 7, 5):
        assert gradient(X, n)[0] == pytest.approx(path(X, n))
    assert loops(path)


def loops(f) -> int:
    """How many loops the recorded program has."""
    return sum(isinstance(n, Loop) for n in walk(sdgrad.trace(f, X).program.body))


@pytest.mark.parametrize("f", recorded, ids=name_of)
def test_recorded_once(f):
    check(f, X)
    assert loops(f)


@pytest.mark.parametrize("f", written_out, ids=name_of)
def test_written_out(f):
    check(f, X)
    assert not loops(f)


def test_a_list_and_a_loop_over_it_are_two_loops():
    assert loops(loops_over_the_list) == 3
