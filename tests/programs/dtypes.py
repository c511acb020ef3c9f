"""Element types: float16, float32, float64, mixtures, integers, booleans and complex numbers."""

import dace
import numpy as np

from ._base import arrays, complexes, program, signed

# Real --------------------------------------------------------------------------------------------


@program(lambda rng: (signed(rng, (3, 4)).astype(np.float32),), "float32", scalar=False)
def single(x):
    return np.sin(x) * x


@program(lambda rng: (signed(rng, 7).astype(np.float32),), "float32")
def single_sum(x):
    return np.sum(x * x)


@program(
    lambda rng: (signed(rng, (3, 5)).astype(np.float32), signed(rng, 5).astype(np.float32)),
    "float32",
    scalar=False,
)
def single_matvec(A, x):
    return A @ x


@program(lambda rng: (signed(rng, 6).astype(np.float32),), "float32 inplace", scalar=False, mutates="x")
def single_in_place(x):
    x[1:4] = x[1:4] * x[1:4]


@program(lambda rng: (signed(rng, 6).astype(np.float16),), "float16", scalar=False)
def half(x):
    return x * x + x


@program(lambda rng: (signed(rng, 6).astype(np.float32), signed(rng, 6)), "mixed", scalar=False)
def single_times_double(x, y):
    return x * y


@program(lambda rng: (signed(rng, (3, 4)), signed(rng, 4).astype(np.float32)), "mixed broadcast", scalar=False)
def double_plus_single_row(x, y):
    return np.sin(x) + y * y


@program(
    lambda rng: (signed(rng, 6).astype(np.float32), signed(rng, 6)),
    "mixed inplace",
    scalar=False,
    mutates="y",
)
def single_written_into_double(x, y):
    y[:] = x * x


@program(lambda rng: (signed(rng, 6),), "cast float32", scalar=False)
def cast_to_single_and_back(x):
    y = x.astype(np.float32)
    return y.astype(np.float64) * 2.0


@program(lambda rng: (signed(rng, 6),), "cast")
def cast_to_integer_is_constant(x):
    k = (x * 3.0).astype(np.int64)
    return np.sum(k * x)


# Integers and booleans beside floats ---------------------------------------------------------------


@program(lambda rng: (signed(rng, 6), rng.integers(1, 5, 6)), "int", scalar=False)
def times_integers(x, n):
    return x * n + n


@program(lambda rng: (signed(rng, 6), rng.integers(1, 5, 6).astype(np.int32)), "int int32", scalar=False)
def divided_by_integers(x, n):
    return x * x / n


@program(lambda rng: (signed(rng, 6), rng.integers(0, 4, 6)), "int power", scalar=False)
def to_integer_powers(x, n):
    return x**n


@program(lambda rng: (signed(rng, 6), rng.integers(0, 2, 6) > 0), "bool mask", scalar=False)
def times_booleans(x, mask):
    return x * mask + x


@program(lambda rng: (signed(rng, 6), rng.integers(0, 2, 6) > 0), "bool mask where", scalar=False)
def selected_by_booleans(x, mask):
    return np.where(mask, np.sin(x), x * x)


@program(lambda rng: (signed(rng, 6), rng.integers(1, 5, 6)), "int outputs inplace", scalar=False, mutates="n")
def integer_output_beside_float(x, n):
    n[:] = n * 2
    return x * n


@program(arrays(7), "int constant", scalar=False)
def times_range(x):
    return x * np.arange(7)


# Complex -------------------------------------------------------------------------------------------


@program(lambda rng: (complexes(rng, 5),), "complex")
def complex_squared_modulus(z):
    return np.sum(np.real(z * np.conj(z)))


@program(lambda rng: (complexes(rng, 5),), "complex")
def complex_modulus(z):
    return np.sum(np.abs(z))


@program(lambda rng: (complexes(rng, (3, 4)),), "complex", scalar=False)
def complex_real_part(z):
    return np.real(z * z)


@program(lambda rng: (complexes(rng, (3, 4)),), "complex", scalar=False)
def complex_imaginary_part(z):
    return np.imag(z * z * z)


@program(lambda rng: (complexes(rng, 5), complexes(rng, 5)), "complex")
def complex_product(z, w):
    return np.sum(np.real(z * w) * np.imag(z / w))


@program(lambda rng: (complexes(rng, 5),), "complex")
def complex_exponential(z):
    return np.sum(np.real(np.exp(z)) + np.imag(np.exp(1j * z)))


@program(lambda rng: (complexes(rng, 5),), "complex")
def complex_conjugate(z):
    return np.sum(np.imag(np.conj(z) * np.conj(z)))


@program(lambda rng: (complexes(rng, (3, 4)), complexes(rng, 4)), "complex matvec")
def complex_matvec(A, z):
    return np.sum(np.abs(A @ z))


@program(lambda rng: (signed(rng, 5), complexes(rng, 5)), "complex mixed")
def real_times_complex(x, z):
    return np.sum(np.real(x * z) + np.imag(z) * x)


@program(lambda rng: (signed(rng, 5),), "complex mixed")
def phase_of_reals(x):
    z = np.exp(1j * x)
    return np.sum(np.real(z * z))


@program(lambda rng: (complexes(rng, 5), complexes(rng, 5)), "complex inplace", wrt=("z",))
def complex_in_place(z, w):
    t = z * w
    t[1:3] = t[1:3] * t[0:2]
    return np.sum(np.real(t))


@program(lambda rng: (complexes(rng, 5).astype(np.complex64),), "complex complex64")
def complex_single(z):
    return np.sum(np.real(z * np.conj(z)))


@program(lambda rng: (complexes(rng, 6),), "complex attribute")
def complex_attributes(z):
    return np.sum(z.real * z.imag)


@program(lambda rng: (complexes(rng, 6),), "complex")
def complex_sine_and_root(z):
    return np.sum(np.real(np.sin(z)) + np.imag(np.sqrt(z * z + 4.0)))


# Annotated -----------------------------------------------------------------------------------------


@program(arrays(6, ()), "annotated scalar-argument", scalar=False)
def annotated(x: dace.float64[6], a: dace.float64):
    return a * x + a * a


@program(
    lambda rng: (signed(rng, 6).astype(np.float32), np.float32(0.75)),
    "annotated float32 scalar-argument",
    scalar=False,
)
def annotated_single(x: dace.float32[6], a: dace.float32):
    return a * x * x


@program(lambda rng: (signed(rng, 6), 3), "annotated int scalar-argument", scalar=False)
def annotated_integer(x: dace.float64[6], k: dace.int32):
    return x * k + x**2
