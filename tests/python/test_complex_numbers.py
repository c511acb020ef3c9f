"""Complex numbers of Python's, and its module ``cmath``."""

import cmath

import numpy as np
import pytest

from python.check import Programs, X, check, name_of

program = Programs()


@program
def functions_of_cmath(x):
    z = complex(x[0], x[1])
    w = cmath.exp(z * 0.3) + cmath.sqrt(z) + cmath.log(z, 2) + cmath.sin(z) + cmath.atan(z)
    r, p = cmath.polar(w)
    return r * x[2] + cmath.phase(z) * p + abs(cmath.rect(x[3], x[1]) + cmath.log(z))


@program
def voltages_along_a_line(x):
    V = [complex(1, 0)] * 5
    for k in range(4):
        V[k + 1] = V[k] * (1 - 0.1j * x[k])
    return cmath.phase(V[4]) + abs(V[2])


@program
def assigned_part(x):
    z = x * 1j
    z.imag = x
    return np.sum(np.abs(z) ** 2)


@program
def updated_part(x):
    z = x * 1j
    z.real += 0.5
    return np.sum(np.abs(z) ** 2)


@program
def part_of_a_view(x):
    z = x * 1j
    z.real[:] = x
    return np.sum(np.abs(z) ** 2)


@pytest.mark.parametrize("f", program, ids=name_of)
def test_program(f):
    check(f, X)
