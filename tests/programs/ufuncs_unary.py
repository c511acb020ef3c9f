"""One program for each of NumPy's one-argument functions."""

import numpy as np

from ._base import arrays, positive, program, within


@program(arrays(7), "ufunc", scalar=False)
def ufunc_exp2(x):
    return np.exp2(x)


@program(arrays((3, 5)), "ufunc", scalar=False)
def ufunc_expm1(x):
    return np.expm1(x)


@program(positive(6), "ufunc", scalar=False)
def ufunc_log1p(x):
    return np.log1p(x)


@program(positive(5), "ufunc", scalar=False)
def ufunc_log2(x):
    return np.log2(x)


@program(positive((2, 4)), "ufunc", scalar=False)
def ufunc_log10(x):
    return np.log10(x)


@program(positive(7), "ufunc", scalar=False)
def ufunc_cbrt(x):
    return np.cbrt(x)


@program(arrays(5), "ufunc", scalar=False)
def ufunc_reciprocal(x):
    return np.reciprocal(x)


@program(arrays((3, 4)), "ufunc", scalar=False)
def ufunc_square(x):
    return np.square(x)


@program(arrays(9), "ufunc", scalar=False)
def ufunc_abs(x):
    return np.abs(x)


@program(arrays((4, 3)), "ufunc", scalar=False)
def ufunc_fabs(x):
    return np.fabs(x)


@program(arrays(5), "ufunc", scalar=False)
def ufunc_absolute(x):
    return np.absolute(x)


@program(arrays(4), "ufunc", scalar=False)
def ufunc_negative(x):
    return np.negative(x)


@program(arrays(3), "ufunc", scalar=False)
def ufunc_positive(x):
    return np.positive(x)


@program(arrays(5), "ufunc", scalar=False)
def ufunc_deg2rad(x):
    return np.deg2rad(x)


@program(arrays(5), "ufunc", scalar=False)
def ufunc_rad2deg(x):
    return np.rad2deg(x)


@program(arrays(6), "ufunc", scalar=False)
def ufunc_radians(x):
    return np.radians(x)


@program(arrays(6), "ufunc", scalar=False)
def ufunc_degrees(x):
    return np.degrees(x)


@program(arrays((3, 5)), "ufunc", scalar=False)
def ufunc_sin(x):
    return np.sin(x)


@program(arrays(7), "ufunc", scalar=False)
def ufunc_cos(x):
    return np.cos(x)


@program(within(-1.2, 1.2, 7), "ufunc", scalar=False)
def ufunc_tan(x):
    return np.tan(x)


@program(within(-0.9, 0.9, 6), "ufunc", scalar=False)
def ufunc_arcsin(x):
    return np.arcsin(x)


@program(within(-0.9, 0.9, 6), "ufunc", scalar=False)
def ufunc_arccos(x):
    return np.arccos(x)


@program(arrays(8), "ufunc", scalar=False)
def ufunc_arctan(x):
    return np.arctan(x)


@program(arrays(5), "ufunc", scalar=False)
def ufunc_sinh(x):
    return np.sinh(x)


@program(arrays(5), "ufunc", scalar=False)
def ufunc_cosh(x):
    return np.cosh(x)


@program(arrays((3, 3)), "ufunc", scalar=False)
def ufunc_tanh(x):
    return np.tanh(x)


@program(arrays(7), "ufunc", scalar=False)
def ufunc_arcsinh(x):
    return np.arcsinh(x)


@program(within(1.2, 3.0, 7), "ufunc", scalar=False)
def ufunc_arccosh(x):
    return np.arccosh(x)


@program(within(-0.9, 0.9, 7), "ufunc", scalar=False)
def ufunc_arctanh(x):
    return np.arctanh(x)


@program(positive(9), "ufunc", scalar=False)
def ufunc_sqrt(x):
    return np.sqrt(x)


@program(arrays((2, 7)), "ufunc", scalar=False)
def ufunc_exp(x):
    return np.exp(x)


@program(positive(11), "ufunc", scalar=False)
def ufunc_log(x):
    return np.log(x)


@program(arrays(4), "ufunc", scalar=False)
def ufunc_conj(x):
    return np.conj(x)


@program(arrays(4), "ufunc", scalar=False)
def ufunc_conjugate(x):
    return np.conjugate(x)


@program(arrays(4), "ufunc needs-frontend", scalar=False)
def ufunc_real(x):
    return np.real(x)


@program(arrays(4), "ufunc needs-frontend", scalar=False)
def ufunc_imag(x):
    return np.imag(x)


# Piecewise constant: the gradient through them is zero, and the other factor's is not.


@program(arrays(6), "ufunc step")
def ufunc_sign(x):
    return np.sum(np.sign(x) * x * x)


@program(within(1.2, 1.8, 6), "ufunc step")
def ufunc_floor(x):
    return np.sum(np.floor(x) * x * x)


@program(within(-0.8, -0.2, 5), "ufunc step")
def ufunc_ceil(x):
    return np.sum(np.ceil(x) * x * x)


@program(within(0.6, 1.4, 5), "ufunc step")
def ufunc_rint(x):
    return np.sum(np.rint(x) * x * x)


@program(within(1.2, 1.8, 5), "ufunc step")
def ufunc_trunc(x):
    return np.sum(np.trunc(x) * x * x)
