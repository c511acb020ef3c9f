"""Parts of lists at positions that data decide, ``sorted``, ``min`` and ``max`` with keys, objects bound again."""

import dataclasses
import enum
import functools

import numpy as np
import pytest
from references import assert_close

import sdgrad
from python.check import Programs, check, differences, name_of

program = Programs()
POINTS = np.array([0.53, 1.71, 0.7, 2.04]), np.array([1.9, 0.4, 0.2, 1.3])


@program
def jobs_on_machines(x):
    free = [0.0, 0.0]
    for duration in x:
        k = min(range(2), key=lambda i: free[i])
        free[k] += duration**2
    return max(free)


@program
def the_emptiest_of_three(x):
    free = [0.1, 0.0, 0.2]
    for duration in x:
        k = int(np.argmin(free))
        free[k] = free[k] + np.sin(duration)
        free[k - 3] *= 1.1
    return max(free) + free[-1]


@program
def nearest(x):
    found = min([x[0] * 2, x[1], x[2]], key=lambda v: (v - 0.5) ** 2)
    return found**2 + max(x[1] * 3, x[2], key=abs)


@program
def arrays_in_a_list(x):
    rows = [x, 2 * x, np.sin(x)]
    k = int(x[0])
    rows[k] = rows[k + 1] ** 2
    return np.sum(rows[0] * rows[1] * rows[k])


@program
def sorted_by_names(x):
    found = sorted({"b": x[0], "a": x[1], "c": x[2]}.items())
    return sum((i + 1) * v**2 for i, (_, v) in enumerate(found))


class Mode(enum.IntEnum):
    OFF = 0
    HEAT = 1
    COOL = 2


@dataclasses.dataclass(frozen=True)
class Zone:
    capacity: float
    temperature: float


@program
def a_thermostat(x):
    zone, mode, cost = Zone(x[0] + 1.0, 15.0 + x[1]), Mode.OFF, 0.0
    for k in range(30):
        error = 18.0 + x[2] - zone.temperature
        match mode:
            case Mode.OFF if error > 0.5:
                mode = Mode.HEAT
            case Mode.OFF if error < -0.5:
                mode = Mode.COOL
            case Mode.HEAT | Mode.COOL if abs(error) < 0.1:
                mode = Mode.OFF
        power = {Mode.OFF: 0.0, Mode.HEAT: 5.0, Mode.COOL: -5.0}[mode] * x[3]
        flow = 10 + 8 * np.sin(k / 4) - zone.temperature + power
        zone = dataclasses.replace(zone, temperature=zone.temperature + 0.1 * flow / zone.capacity)
        cost = cost + 0.1 * power**2 + error**2
    return cost + zone.temperature


@dataclasses.dataclass(frozen=True)
class Body:
    mass: float
    speed: float

    @functools.cached_property
    def energy(self):
        return 0.5 * self.mass * self.speed**2


@program
def what_an_object_keeps(x):
    body, total = Body(x[0] + 1.0, x[1]), 0.0
    for k in range(4):
        total = total + body.energy
        body = dataclasses.replace(body, speed=body.speed + x[k])
        total = total + body.energy * x[k]
    return total + body.energy


@pytest.mark.parametrize("f", program, ids=name_of)
def test_program(f):
    check(f, *POINTS)


def newton(p, n=30):
    a = 0.1
    for _ in range(n):
        a = a - (a**3 + a - p) / (3 * a * a + 1)
        if abs(a**3 + a - p) < 1e-9:
            root = a
            break
    else:
        root = 0.5 * a
    return root * p


@pytest.mark.parametrize("f", [a_thermostat, newton], ids=name_of)
def test_one_loop(f):
    """Objects that are bound again, and names that the arm of a ``break`` binds, do not have the loop written out."""
    recorded = str(sdgrad.trace(f, POINTS[0] if f is a_thermostat else 10.0))
    assert recorded.count("loop ") == 1 and len(recorded.splitlines()) < 400


def test_a_root():
    gradient = sdgrad.grad(newton)
    for p in (10.0, 2.0):
        assert_close(gradient(p), differences(lambda x: newton(x[0]), np.array([p]))[0], 1e-5, "gradient")


def test_a_position_outside_of_a_list():
    def f(x):
        return [x[0], x[1] * 2][int(x[2])] ** 2

    gradient = sdgrad.grad(f)
    np.testing.assert_allclose(gradient(np.array([0.5, 1.5, 1.0])), [0, 12, 0])
    np.testing.assert_allclose(gradient(np.array([0.5, 1.5, -2.0])), [1, 0, 0])
    for k in (2.0, -3.0):
        with pytest.raises(IndexError, match="list index out of range"):
            gradient(np.array([0.5, 1.5, k]))


def test_a_sum_under_a_mask_of_a_part():
    def partial_likelihood(x, times, events):
        i, s = 0, 0.0
        while i < len(times):
            j = i
            while j < len(times) and times[j] == times[i]:
                j += 1
            s += x[i:j][events[i:j] == 1].sum() ** 2
            i = j
        return s

    times, events = np.array([1, 1, 2, 3, 3]), np.array([1, 0, 1, 1, 1])
    x = np.linspace(0.3, 1.1, 5)
    found = sdgrad.grad(partial_likelihood, "x")(x, times, events)
    assert_close(found, differences(lambda v: partial_likelihood(v, times, events), x), 1e-6, "gradient")
