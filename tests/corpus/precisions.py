"""Numbers of several precisions in one program."""

import dace
import numpy as np
from programs._base import complexes, program, signed


# Complex numbers that only casts make had derivatives of another precision: the code did not compile.
@program(lambda rng: (signed(rng, 4).astype(np.float16),), "corpus")
def complex_numbers_of_half_precision(x):
    total = np.imag(1j * x[2])
    for i in range(3):
        total += np.real((x[i] + 1j * x[i + 1]) * (x[i] - 0.5j)) + np.abs(1.5 + x[i] * x[i] + 1j * x[i + 1])
    return total


@program(lambda rng: (signed(rng, 4).astype(np.float16), 2), "corpus", wrt=("x",))
def angles_of_half_precision(x, mode):
    total = np.float16(0.0)
    for i in range(3):
        if x[i] < 5.0:
            total += np.angle(2.0 + (0.1 * mode) * (0.1 * mode) + 1j * np.minimum(x[i], x[(i + mode) % 3]))
    return total


# DaCe multiplies a complex number by a real number of another precision without its fraction.
@program(
    lambda rng: (complexes(rng, 3).astype(np.complex64), signed(rng, 3), np.array([3, 2, 5])),
    "corpus complex complex64",
    scalar=False,
    wrt=("x", "w"),
    reference=lambda x, w, k: (x * w + w - x / k).astype(np.complex64),
)
def complex_and_real_of_two_precisions(x: dace.complex64[3], w: dace.float64[3], k: dace.int64[3]):
    y = np.zeros(3, np.complex64)
    for i in dace.map[0:3]:
        with dace.tasklet:
            a << x[i]  # noqa: F821
            b << w[i]  # noqa: F821
            n << k[i]  # noqa: F821
            r >> y[i]  # noqa: F821
            r = a * b + b - a / n  # noqa: F821, F841
    return y


# A negative constant was printed without parentheses: the power was that of its absolute value.
@program(lambda rng: (signed(rng, 4), 3), "corpus nojax", wrt=("x",), expected=lambda x, n: np.array(
    [1.0, -1.0, 1.0, -1.0]) + np.array([-8.0, 16.0, 0.0, 0.0]) - 2 * x * np.array([1.0, -2.0, 4.0, -8.0]))  # fmt: skip
def powers_of_negative_constants(x, n):
    s = 0.0
    for i in range(4):
        s += (-1) ** i * x[i] - (-2.0) ** i * x[i] ** 2
    return s + x[0] * (-2.0) ** n + x[1] * (-2) ** (n + 1)


# The cotangent of a complex number was real, and C++ has no real part of a real number under that name.
@program(lambda rng: (signed(rng, 4),), "corpus nojax", expected=lambda x: np.array(
    [1.0 + x[0] / np.hypot(x[0], x[3]), 0.0, 2.0, x[3] / np.hypot(x[0], x[3])]))  # fmt: skip
def real_parts_alone(x):
    z = x[0] + 1j * x[1]
    w = complex(x[2], x[3])
    return z.real + 2 * w.conjugate().real + np.hypot(np.real(z), w.imag)
