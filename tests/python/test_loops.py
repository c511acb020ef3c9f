"""Loops: their ends, what they run over, and the names that one trip hands to the next."""

import itertools
from typing import NamedTuple

import numpy as np
import pytest

from python.check import OTHER, Programs, X, check, name_of

program = Programs()
EXITS = Programs()


# Ends: both points take another way out ----------------------------------------------------------------


@EXITS
def else_without_a_break(x):
    s = 1.0
    for i in range(4):
        s = s * x[i]
        if s > 0.8:
            s = s + x[0]
            break
    else:
        s = s * 10.0
    return s


@EXITS
def else_of_a_while(x):
    t, n = x[0] * x[0], 0
    while n < 5:
        t = t * 1.5
        if t > 2.0:
            break
        n += 1
    else:
        t = t + x[1] * x[1]
    return t * x[2]


@EXITS
def outer_loop_left_by_an_else(x):
    s = 0.0
    for i in range(4):
        for j in range(i):
            if x[i] * x[j] < -0.5:
                break
            s = s + x[i] * x[j]
        else:
            s = s + x[i]
            continue
        break
    return s * x[0]


@EXITS
def returned_from_the_inner_loop(x):
    for i in range(4):
        for j in range(4):
            if x[i] + x[j] > 1.8:
                return x[i] * x[j] + i
        if x[i] < -1.0:
            return x[i] ** 2
    return np.sum(x)


@EXITS
def flag_that_ends_a_while(x):
    done, s = False, x[0]
    while not done:
        s = s + np.abs(x[1]) + 0.1
        done = s > 3.0 or s * x[2] < -2.0
    return s * s


@EXITS
def named_in_the_condition(x):
    s = np.abs(x[0])
    while (t := s * 1.5) < 3.0:
        s = t + 0.1 * x[1] ** 2
    return s * t


@EXITS
def last_trip_is_kept(x):
    for i in range(4):
        y = x[i] * x[i - 1]
        if y < 0.0:
            break
    return y * i + x[3] ** 2


@pytest.mark.parametrize("f", EXITS, ids=name_of)
def test_exits(f):
    check(f, X, OTHER)


# Iterables -----------------------------------------------------------------------------------------------


@program
def steps_by_name(x, down=-2):
    st = -1
    s = 0.0
    for i in range(3, -1, st):
        s = s * 0.5 + x[i]
    for i in range(3, -1, down):
        s = s * 0.5 + x[i]
    return s


@program
def counted_from_one(x):
    s = 0.0
    for i, (a, b) in enumerate(zip(x, x[1:], strict=False), start=1):
        s = s * a + i * b
    return s + i


@program
def ranges_of_numpy(x):
    s = 0.0
    for i in np.arange(4):
        s = s + x[i] * i
    for t in np.linspace(0.0, 1.0, 3):
        s = s * x[0] + t
    for i, j in np.ndindex(2, 2):
        s = s + x[2 * i + j] ** (i + 1)
    return s


@program
def columns_and_planes(x):
    A = np.outer(x, x + 1.0)
    s = 0.0
    for column in A.T:
        s = s * 0.1 + column[1] * np.sum(column)
    for k, plane in enumerate(A.reshape(2, 2, 4)):
        for row in plane[::-1]:
            s = s + np.sum(row * x) * (k + 1)
    return s


@program
def combinations_of_indices(x):
    s = 0.0
    for i, j in itertools.combinations(range(4), 2):
        s += 1.0 / (1.0 + (x[i] - x[j]) ** 2)
    for i, j in itertools.product(range(2), repeat=2):
        s += x[i] * x[j + 2] * (i - j)
    return s


@program
def neighbours_in_a_chain(x):
    s = 0.0
    for a, b in itertools.pairwise([*x, x[0]]):
        s += a * b**2
    for v, k in zip(itertools.chain(x[:2], x[3:]), itertools.count(1), strict=False):
        s += v**k
    return s


@program
def letters_of_a_text(x):
    y = x
    for letter in "scs":
        if letter == "s":
            y = np.sin(y)
        else:
            y = np.cos(y) + y
    return np.sum(y * x)


@program
def no_trips(x):
    s, i = x[0], 3
    for i in range(2, 2):
        s = s * 5.0
    for j in range(3, 1):
        s = s + j
    for v in x[:0]:
        s = v
    while s < -100.0:
        s = s * x[1]
    return s * x[i]


# What one trip hands to the next -------------------------------------------------------------------------


@program
def three_arrays_in_turn(x):
    a, b, c = x * 1.0, np.sin(x), np.cos(x)
    for _ in range(5):
        a, b, c = b, c, a * 0.5 + b * x
    return np.sum(a * b) + np.sum(c)


@program
def tuple_as_a_state(x):
    state = (x[0], x[1])
    for k in range(4):
        state = (state[1], state[0] * x[k] + 0.5)
    return state[0] * state[1]


class State(NamedTuple):
    place: np.ndarray
    speed: np.ndarray
    time: float


@program
def named_tuple_as_a_state(x):
    state = State(x * 1.0, x * 0.0, 0.0)
    for _ in range(4):
        state = State(state.place + 0.1 * state.speed, state.speed - 0.1 * state.place, state.time + 0.1)
        state = state._replace(speed=state.speed * (1.0 - 0.1 * state.time))
    return np.sum(state.place * x) + np.sum(state.speed) * state.time


@program
def dict_as_a_state(x):
    state = {"n": 0, "y": x[0]}
    for v in x:
        state = {"n": state["n"] + 1, "y": state["y"] * v + state["n"]}
    return state["y"] * state["n"]


@program
def list_as_a_state(x):
    state = [x[0], x[1], 1.0]
    for k in range(4):
        state[k % 3] = state[(k + 1) % 3] * x[k] + state[2]
    return state[0] * state[1] + state[2]


@program
def number_of_trips_from_data(x):
    n = int(x[3] * 2.0)
    s = x[0]
    for k in range(n):
        s = s * x[k % 4] + k
    return s


@pytest.mark.parametrize("f", program, ids=name_of)
def test_program(f):
    check(f)
