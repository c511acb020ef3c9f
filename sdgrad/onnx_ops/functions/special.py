"""Special functions of each element: SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from sdgrad.onnx_ops.functions.table import recorded

SPECIAL = {
    "digamma": scipy.special.psi,
    "i0": scipy.special.i0,
    "special_modified_bessel_i0": scipy.special.i0,
    "special_i0e": scipy.special.i0e,
    "special_i1": scipy.special.i1,
    "special_modified_bessel_i1": scipy.special.i1,
    "special_i1e": scipy.special.i1e,
    "special_modified_bessel_k0": scipy.special.k0,
    "special_modified_bessel_k1": scipy.special.k1,
    "special_bessel_j0": scipy.special.j0,
    "special_bessel_j1": scipy.special.j1,
    "special_bessel_y0": scipy.special.y0,
    "special_bessel_y1": scipy.special.y1,
    "special_erfcx": scipy.special.erfcx,
    "erfinv": scipy.special.erfinv,
    "special_ndtri": scipy.special.ndtri,
    "special_log_ndtr": scipy.special.log_ndtr,
    "special_zeta": scipy.special.zeta,
    "igamma": scipy.special.gammainc,
    "igammac": scipy.special.gammaincc,
    "copysign": np.copysign,
}
"""By the names of PyTorch's operations."""

for _name, _function in SPECIAL.items():
    recorded(_name)(lambda *x, own=_function: own(*x))


@recorded("polygamma")
def polygamma(x: Any, n: int) -> Any:
    """Return a derivative of the digamma function."""
    return scipy.special.psi(x) if n == 0 else scipy.special.polygamma(n, x).astype(x.dtype)


@recorded("ldexp")
def ldexp(x: Any, power: Any) -> Any:
    """Return a multiple by a power of two."""
    return x * 2.0**power
