"""Apply orthogonal polynomials of whole degree, spherical and derived Bessel functions, and spherical harmonics."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as special

from sdgrad.errors import ParseError
from sdgrad.record.elementwise import compute, is_weak, kind, loop_types
from sdgrad.record.functions.arguments import constant
from sdgrad.record.functions.table import array, content, operand, rule
from sdgrad.record.values import is_recorded

REAL = np.dtype(float)

# -- polynomials: the degree, parameters, and the place
POLYNOMIALS = {
    "eval_legendre": "special_gegenbauer({0}, 0.5, {1})",
    "eval_chebyt": "special_chebyt({0}, {1})",
    "eval_chebyu": "special_gegenbauer({0}, 1.0, {1})",
    "eval_chebyc": "2 * special_chebyt({0}, 0.5 * {1})",
    "eval_chebys": "special_gegenbauer({0}, 1.0, 0.5 * {1})",
    "eval_sh_legendre": "special_gegenbauer({0}, 0.5, 2 * {1} - 1)",
    "eval_sh_chebyt": "special_chebyt({0}, 2 * {1} - 1)",
    "eval_sh_chebyu": "special_gegenbauer({0}, 1.0, 2 * {1} - 1)",
    "eval_hermite": "special_hermite({0}, {1})",
    "eval_hermitenorm": "special_hermitenorm({0}, {1})",
    "eval_laguerre": "special_genlaguerre({0}, 0.0, {1})",
    "eval_genlaguerre": "special_genlaguerre({0}, {1}, {2})",
    "eval_gegenbauer": "special_gegenbauer({0}, {1}, {2})",
    "eval_sh_jacobi": "special_jacobi({0}, {1} - {2}, {2} - 1, 2 * {3} - 1) / scipy_binom(2 * {0} + {1} - 1, {0})",
    "eval_jacobi": "special_jacobi({0}, {1}, {2}, {3})",
}
SPHERICAL = {f"spherical_{letter}n": f"special_spherical_{letter}n({{0}}, {{1}})" for letter in "jyik"}


def whole(n: Any, what: str) -> Any:
    """Return a degree or an order.

    :raises ParseError: it is not a whole number, or negative.
    """
    own = operand(n)
    if np.dtype(kind(own)).kind not in "iu":
        known = content(own) if is_recorded(own) else own
        if known is None or is_recorded(known) or np.any(np.asarray(known) != np.floor(known)):
            raise ParseError(f"{what} is recorded for whole degrees: make the degree an integer")
    known = content(own) if is_recorded(own) else own
    if known is not None and not is_recorded(known) and np.any(np.asarray(known) < 0):
        raise ParseError(f"{what} of negative degree is not recorded")
    return own


def _polynomial(name: str, text: str) -> None:
    ufunc = getattr(special, name)

    def function(n: Any, *values: Any) -> Any:
        given = [whole(n, f"scipy.special.{name}"), *map(operand, values)]
        if len(given) != ufunc.nin:
            raise TypeError(f"{name}() takes {ufunc.nin} positional arguments but {len(given)} were given")
        dtype = loop_types(ufunc, list(map(kind, given)))[ufunc.nin]
        if dtype.kind == "c":
            raise ParseError(f"scipy.special.{name} of complex numbers is not recorded")
        return compute(text, given, [dtype] * len(given), dtype, is_weak(*given))

    rule(ufunc)(function)


for _name, _text in POLYNOMIALS.items():
    _polynomial(_name, _text)


# -- Bessel functions
def _spherical(name: str, text: str) -> None:
    lower, upper = (text.replace("{0}", f"({{0}} {sign} 1)") for sign in "-+")
    signs = {"j": ("", "-", "-"), "y": ("", "-", "-"), "i": ("", "+", ""), "k": ("-", "-", "-")}[name[-2]]
    inner = f"({signs[0]}{{0}} * {lower} {signs[1]} ({{0}} + 1) * {upper}) / (2 * {{0}} + 1)"
    slope = f"{signs[2]}{text.replace('{0}', '1.0')} if {{0}} == 0 else {inner}"

    def function(n: Any, z: Any, derivative: bool = False) -> Any:
        given = [whole(n, f"scipy.special.{name}"), operand(z)]
        if np.dtype(kind(given[1])).kind == "c":
            raise ParseError(f"scipy.special.{name} of complex numbers is not recorded")
        single = name == "spherical_kn" and kind(given[1]) == np.float32  # SciPy's others change to double precision
        dtype = np.dtype(np.float32) if single else REAL
        return compute(slope if derivative else text, given, [dtype, dtype], dtype)

    rule(getattr(special, name))(function)


for _name, _text in SPHERICAL.items():
    _spherical(_name, _text)


def _derived(function: Any, of: Callable, sign: float, every: float) -> None:
    """Register the n-th derivative of a Bessel function as a sum of neighbours (DLMF 10.6.7, 10.29.5)."""

    def derivative(v: Any, z: Any, n: Any = 1) -> Any:
        count = int(constant(n, f"scipy.special.{function.__name__}: n is not known"))
        if count < 0:
            raise ValueError("n must be a non-negative integer.")
        if count == 0:
            return of(v, z)
        v = np.float64(v) if isinstance(v, (int, float)) else v  # an array in SciPy's formula: the result has its type
        terms = (math.comb(count, i) * sign**i * of(v - count + 2 * i, z) for i in range(count + 1))
        return every**count * sum(terms) / 2.0**count

    rule(function)(derivative)


_derived(special.jvp, special.jv, -1.0, 1.0)
_derived(special.yvp, special.yv, -1.0, 1.0)
_derived(special.ivp, special.iv, 1.0, 1.0)
_derived(special.kvp, special.kv, 1.0, -1.0)


# -- spherical harmonics
def _normalized(n: int, m: int, cosine: Any, sine: Any) -> Any:
    """Return an associated Legendre function of norm one on the sphere, for ``0 <= m <= n`` (DLMF 14.10.3)."""
    start = math.prod((2 * k + 1) / (2 * k) for k in range(1, m + 1)) / (4.0 * math.pi)
    before, now = 0.0, (-1.0) ** m * math.sqrt(start) * (sine**m if m else 1.0 + 0.0 * sine)
    for k in range(m + 1, n + 1):
        rise = math.sqrt((4.0 * k * k - 1.0) / (k * k - m * m))
        rest = math.sqrt(((k - 1.0) ** 2 - m * m) / (4.0 * (k - 1.0) ** 2 - 1.0))
        before, now = now, rise * (cosine * now - rest * before)
    return now


def _orders(what: str, *values: Any) -> list[int]:
    known = [constant(v, f"{what}: degree and order are numbers that are known when recording") for v in values]
    if any(np.ndim(v) or int(v) != v for v in known):
        raise ParseError(f"{what}: degree and order are single whole numbers here")
    return [int(v) for v in known]


def _of_sphere(n: Any, m: Any, theta: Any, what: str) -> tuple[int, Any]:
    """Return the order, and the part of a spherical harmonic that depends on the polar angle."""
    degree, order = _orders(what, n, m)
    angle = operand(theta) * 1.0
    if np.dtype(kind(angle)).kind == "c":
        raise ParseError(f"{what} of complex angles is not recorded")
    if degree < 0:
        raise ParseError(f"{what} of negative degree is not recorded")
    if abs(order) > degree:
        return order, 0.0 * angle
    found = _normalized(degree, abs(order), np.cos(angle), np.abs(np.sin(angle)))
    return order, found if order >= 0 else (-1.0) ** order * found


@rule(special.sph_harm_y)
def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    if diff_n:
        raise ParseError("scipy.special.sph_harm_y: diff_n= is not recorded; differentiate the result")
    order, polar = _of_sphere(n, m, theta, "scipy.special.sph_harm_y")
    turned = order * operand(phi)
    return polar * (np.cos(turned) + 1j * np.sin(turned))


@rule(special.lpmv)
def lpmv(m: Any, v: Any, x: Any) -> Any:
    order, degree = _orders("scipy.special.lpmv", m, v)
    place: Any = array(x) if isinstance(x, (list, tuple)) else operand(x) * 1.0
    if order < 0 or degree < 0:
        raise ParseError("scipy.special.lpmv of negative degree or order is not recorded")
    if order > degree:
        return 0.0 * place
    double = math.prod(range(1, 2 * order, 2))
    now: Any
    before, now = 0.0, (-1.0) ** order * double * ((1.0 - place * place) ** (order / 2) if order else 1.0 + 0.0 * place)
    for k in range(order + 1, degree + 1):
        before, now = now, ((2.0 * k - 1.0) * place * now - (k + order - 1.0) * before) / (k - order)
    return now
