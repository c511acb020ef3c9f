"""Apply SciPy's special functions: by templates of C++ code, or in terms of other functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as special

from sdgrad.errors import ParseError
from sdgrad.record.elementwise import compute, is_weak, kind, loop_types
from sdgrad.record.functions.arguments import static
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.detached import detached
from sdgrad.record.functions.parts import choose_where
from sdgrad.record.functions.reductions import largest, total
from sdgrad.record.functions.table import array, operand, rule
from sdgrad.record.templates import SCIPY
from sdgrad.record.values import Array

WHOLE, REAL = np.dtype(np.int64), np.dtype(float)

OF_ONE = (
    *("erfi", "erfinv", "erfcinv", "ndtri", "ndtri_exp", "log_ndtr", "j0", "j1", "y0", "y1", "i0", "i0e", "i1", "i1e"),
    *("k0", "k0e", "k1", "k1e", "exp1", "expi", "spence", "wrightomega", "rgamma", "ellipk", "ellipe"),
    *("ber", "bei", "ker", "kei", "berp", "beip", "kerp", "keip", "itstruve0", "it2struve0", "itmodstruve0"),
    *("gammasgn", "ellipkm1", "sindg", "cosdg", "tandg", "cotdg"),
)
OF_TWO = (
    *(
        "agm",
        "jve",
        "yve",
        "owens_t",
        "jv",
        "yv",
        "iv",
        "kv",
        "struve",
        "modstruve",
        "binom",
        "poch",
        "gammaincc",
        "gammaincinv",
    ),
    *("gammainccinv", "hyp0f1", "ellipkinc", "ellipeinc", "elliprc", "pdtr", "pdtrc", "pdtri", "stdtrit", "chdtriv"),
    "stdtridf",
)
OF_THREE = (
    *("betaincc", "hyp1f1", "elliprf", "elliprd", "bdtr", "bdtrc", "bdtri", "nbdtr"),
    *("nbdtrc", "fdtri", "voigt_profile", "elliprg", "hyperu", "wright_bessel", "log_wright_bessel"),
    *("gdtrib", "btdtria", "btdtrib", "nbdtri"),
)

_NO_RATIO = "(0 if {0} == 0 and {1} == 0 else ({0} + {1} if isnan({0} + {1}) else 1.0 / 0.0))"
_LOG_RATIO = (  # of numbers beside each other, whose quotient may overflow
    "(log1p(({0} - {1}) / {1}) if {0} > 0.5 * {1} and {0} < 2 * {1}"
    " else (log({0} / {1}) if {0} / {1} > 1e-300 and {0} / {1} < 1e300 else log({0}) - log({1})))"
)
_SHARES = (  # of F: by the smaller share, which is exact; SciPy has no number for infinite degrees of freedom
    "(0.0 / 0.0 if isinf({{0}}) or isinf({{1}}) else "
    "{}{{0}} / 2, {{1}} / 2, {{0}} * {{2}} / ({{1}} + {{0}} * {{2}})) if {{0}} * {{2}} < {{1}}"
    " else {}{{1}} / 2, {{0}} / 2, {{1}} / ({{1}} + {{0}} * {{2}})))"
)
TEMPLATES = {
    **SCIPY,
    "ndtr": "0.5 * erfc(-0.7071067811865476 * {0})",
    "psi": "sdgrad_polygamma(0, {0})",
    "expit": "sdgrad_sigmoid({0})",
    # near 1/2 the difference of logarithms is none of the last digits
    "logit": "2 * atanh(2 * {0} - 1) if {0} > 0.3 and {0} < 0.65 else log({0}) - log1p(-{0})",
    "log_expit": "-log1p(exp(-{0})) if {0} >= 0 else {0} - log1p(exp({0}))",
    # linear in the first operand, at 0 as well
    "xlogy": "0 if {0} == 0 and ({1} <= 0 or isinf({1})) else {0} * log({1})",
    "xlog1py": "0 if {0} == 0 and ({1} <= -1 or isinf({1})) else {0} * log1p({1})",
    # a root has the infinite slope at 0 of these
    "entr": "-{0} * log({0}) if {0} > 0 else (sqrt({0}) if {0} == 0 else (-1.0 / 0.0 if {0} < 0 else {0}))",
    "rel_entr": f"{{0}} * {_LOG_RATIO} if {{0}} > 0 and {{1}} > 0"
    f" else (0 - sqrt({{0}}) if {{0}} == 0 and {{1}} > 0 else {_NO_RATIO})",
    "kl_div": "{0} * log({0} / {1}) - {0} + {1} if {0} > 0 and {1} > 0"
    f" else ({{1}} - sqrt({{0}}) if {{0}} == 0 and {{1}} > 0 else {_NO_RATIO})",
    "huber": "1.0 / 0.0 if {0} < 0 else (0.5 * {1} * {1} if abs({1}) <= {0} else {0} * (abs({1}) - 0.5 * {0}))",
    "betaln": "special_betaln({0}, {1})",
    "beta": "special_beta({0}, {1})",
    "exp10": "10.0 ** {0}",
    "loggamma": "lgamma({0}) if not {0} < 0 else {0} * (0.0 / 0.0)",
    "erfcx": "special_erfcx(0, {0})",
    "dawsn": "special_dawsn(0, {0})",
    "exprel": "sdgrad_exprel(0, {0})",
    "expn": "special_expn({0}, {1})",
    "ive": "special_ive(0, {0}, {1})",
    "kve": "special_kve(0, {0}, {1})",
    "gammainc": "special_gammainc(0, {0}, {1})",
    "betainc": "special_betainc(0, 0, {0}, {1}, {2})",
    "betaincinv": "special_betaincinv({0}, {1}, {2})",
    "betainccinv": "special_betainccinv({0}, {1}, {2})",
    "stdtr": "special_stdtr({0}, {1})",
    "chndtr": "special_ncx2(0, {1}, {2}, {0})",
    "chndtrix": "special_ncx2_quantile(0, {1}, {2}, {0})",
    "nctdtr": "special_nct(0, 0, 0, {0}, {1}, {2})",
    "nctdtrit": "special_nct_quantile(0, {0}, {1}, {2})",
    "chdtr": "special_gammainc(0, {0} / 2, {1} / 2)",
    "chdtrc": "scipy_gammaincc({0} / 2, {1} / 2)",
    "chdtri": "2 * scipy_gammainccinv({0} / 2, {1}) if {1} >= 0 and {1} <= 1 else ({0} + {1}) * (0.0 / 0.0)",
    "gdtr": "special_gammainc(0, {1}, {0} * {2})",
    "gdtrc": "scipy_gammaincc({1}, {0} * {2})",
    "fdtr": f"({_SHARES.format('special_betainc(0, 0, ', 'scipy_betaincc(')} if not isinf({{2}}) else 1)"
    " if not {2} < 0 else ({0} + {1} + {2}) * (0.0 / 0.0)",
    "fdtrc": f"({_SHARES.format('scipy_betaincc(', 'special_betainc(0, 0, ')} if not isinf({{2}}) else 0)"
    " if not {2} < 0 else ({0} + {1} + {2}) * (0.0 / 0.0)",
    "cosm1": "-2 * sin({0} / 2) ** 2",
    "pseudo_huber": "sdgrad_pseudo_huber({0}, {1})",
    "boxcox": "sdgrad_boxcox({0}, {1})",
    "boxcox1p": "sdgrad_boxcox1p({0}, {1})",
    "inv_boxcox": "sdgrad_inv_boxcox({0}, {1})",
    "inv_boxcox1p": "sdgrad_inv_boxcox1p({0}, {1})",
    "kn": "scipy_kv({0}, {1})",
    "yn": "scipy_yv({0}, {1})",
    "gdtria": "scipy_gammaincinv({1}, {0}) / {2}",
    "gdtrix": "scipy_gammaincinv({1}, {2}) / {0}",
    "nrdtrimn": "{2} - {1} * scipy_ndtri({0})",
    "nrdtrisd": "({2} - {0}) / scipy_ndtri({1})",
    "elliprj": "scipy_elliprj({0}, {1}, {2}, {3})",
    "powm1": "sdgrad_powm1({0}, {1})",
    "radian": "({0} + {1} / 60 + {2} / 3600) * 0.017453292519943295",
    **{name: f"scipy_{name}({{0}})" for name in OF_ONE},
    **{name: f"scipy_{name}({{0}}, {{1}})" for name in OF_TWO},
    **{name: f"scipy_{name}({{0}}, {{1}}, {{2}})" for name in OF_THREE},
    "hyp2f1": "scipy_hyp2f1({0}, {1}, {2}, {3})",
}

OF_COMPLEX = {
    "expm1": TEMPLATES["expm1"],
    "log1p": TEMPLATES["log1p"],
    "xlogy": "0 if {0} == 0 and {1} == 0 else {0} * log({1})",
    "xlog1py": "0 if {0} == 0 and {1} == -1 else {0} * log1p({1})",
}
"""Expressions that hold for complex numbers."""

OF_COMPLEX_IN_DOUBLE = {
    "wofz": "special_wofz(0, {0})",
    "erf": "scipy_erf({0})",
    "erfc": "scipy_erfc({0})",
    "erfcx": "special_wofz(0, 1j * {0})",
    "erfi": "-1j * scipy_erf(1j * {0})",
    "ndtr": "0.5 * scipy_erfc(-0.7071067811865476 * {0})",
    "dawsn": "special_dawsn(0, {0})",
    "exp1": "scipy_exp1({0})",
    "expi": "scipy_expi({0})",
    "gamma": "scipy_gamma({0})",
    "loggamma": "scipy_loggamma({0})",
    "psi": "special_psi(0, {0})",
}
"""Functions of complex numbers that SciPy computes in double precision."""


def of_complex(name: str, z: Any) -> Any:
    """Return one of these functions, in the type of its argument."""
    own, wide = np.dtype(kind(z)), np.dtype(np.complex128)
    found = compute(OF_COMPLEX_IN_DOUBLE[name], [astype(z, wide)], [wide], wide)
    return found if own == wide else astype(found, own)


def _special(name: str, text: str) -> None:
    arity = 1 + max(k for k in range(4) if f"{{{k}}}" in text)
    ufunc = getattr(special, name)

    def function(*values: Any) -> Any:
        if len(values) != arity:
            raise TypeError(f"{name}() takes {arity} positional arguments but {len(values)} were given")
        given = [operand(v) for v in values]
        dtype = loop_types(ufunc, list(map(kind, given)))[arity]
        if dtype.kind == "c" and name in OF_COMPLEX_IN_DOUBLE:
            return of_complex(name, *given)
        if dtype.kind == "c" and name not in OF_COMPLEX:
            raise ParseError(f"scipy.special.{name} of complex numbers is not recorded")
        own = OF_COMPLEX[name] if dtype.kind == "c" else text
        return compute(own, given, [dtype] * len(given), dtype, is_weak(*given))

    rule(ufunc)(function)


for _name, _text in TEMPLATES.items():
    _special(_name, _text)


@rule(special.polygamma)
def polygamma(n: Any, x: Any) -> Any:
    return compute("sdgrad_polygamma({0}, {1})", [operand(n), operand(x)], [WHOLE, REAL], REAL)


@rule(special.logsumexp)
def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    x: Any = np.atleast_1d(array(a))
    weights = None if b is None else operand(b)
    if weights is not None:
        x = np.broadcast_to(
            x.astype(np.result_type(x, weights), copy=False), np.broadcast_shapes(x.shape, np.shape(weights))
        )
    counted = x if weights is None else choose_where(np.equal(weights, 0), -np.inf, x)
    top = _largest(np.real(counted), axis)
    parts = np.exp(x - top)
    summed: Any = total(parts if weights is None else _weighted(weights, parts), axis, keepdims=keepdims)
    shift = top if keepdims else np.squeeze(top, axis) if np.ndim(summed) else top.item()
    if not return_sign:
        return np.log(summed) + shift
    found = np.log(np.abs(summed)) + shift
    return found, np.sign(summed if x.size else found)


def _weighted(weights: Any, parts: Any) -> Any:
    """Return products; of zero with what is not finite it is zero, with the largest number for its derivative."""
    lost = np.equal(weights, 0) & ~np.isfinite(parts)
    zeros = astype(choose_where(lost, weights, 0), parts.dtype)
    return choose_where(lost, zeros * float(np.finfo(parts.dtype).max), weights * parts)


def _largest(x: Array, axis: Any) -> Any:
    """Return the largest elements as constants: they change no derivative of what is divided or shifted by them."""
    least = {"initial": -np.inf} if x.size == 0 else {}
    top = detached(largest(x, axis, keepdims=True, **least))
    return choose_where(np.isfinite(top), top, 0.0)


@rule(special.softmax)
def softmax(x: Any, axis: Any = None) -> Any:
    a = array(x)
    parts = np.exp(a - _largest(a, axis))
    return parts / total(parts, axis, keepdims=True)


@rule(special.log_softmax)
def log_softmax(x: Any, axis: Any = None) -> Any:
    a = array(x)
    shifted = a - _largest(a, axis)
    return shifted - np.log(total(np.exp(shifted), axis, keepdims=True))


# -- functions of which SciPy has a form of its own in Python
def _of_several(function: Any, *texts: str) -> None:
    """Register a function with several results."""

    def results(*values: Any) -> tuple[Any, ...]:
        given = list(map(operand, values))
        if len(given) != function.nin:
            raise TypeError(f"{function.__name__}() takes {function.nin} arguments but {len(given)} were given")
        dtype = loop_types(function, list(map(kind, given)))[-1]
        if dtype.kind == "c":
            raise ParseError(f"scipy.special.{function.__name__} of complex numbers is not recorded")
        return tuple(compute(t, given, [dtype] * len(given), dtype, is_weak(*given)) for t in texts)

    rule(function)(results)


_of_several(special.sici, "scipy_si({0})", "scipy_ci({0})")
_of_several(special.shichi, "scipy_shi({0})", "scipy_chi({0})")
_of_several(special.airy, *(f"scipy_airy_{n}({{0}})" for n in ("ai", "aip", "bi", "bip")))
_of_several(special.ellipj, *(f"scipy_ellipj_{n}({{0}}, {{1}})" for n in ("sn", "cn", "dn", "ph")))
_of_several(special.itairy, *(f"scipy_itairy_{n}({{0}})" for n in ("ai", "bi", "minus_ai", "minus_bi")))
_of_several(special.itj0y0, "scipy_it_j0({0})", "scipy_it_y0({0})")
_of_several(special.iti0k0, "scipy_it_i0({0})", "scipy_it_k0({0})")
_of_several(special.pbdv, "scipy_pbdv_value({0}, {1})", "scipy_pbdv_slope({0}, {1})")
_of_several(special.pbvv, "scipy_pbvv_value({0}, {1})", "scipy_pbvv_slope({0}, {1})")
_of_several(special.pbwa, "scipy_pbwa_value({0}, {1})", "scipy_pbwa_slope({0}, {1})")
_of_several(special.fresnel, "scipy_fresnel_sine({0})", "scipy_fresnel_cosine({0})")


def in_double(text: str, *values: Any) -> Any:
    """Return a function of real numbers in double precision."""
    given = [operand(v) for v in values]
    return compute(text, given, [REAL] * len(given), REAL)


_SINE = "scipy_sindg(90 * {0})"  # exactly zero at even numbers
_ZETA = (  # Riemann's functional equation, without overflow, and where that is the result
    "special_zeta(0, {0}, 1.0) if not {0} < -0.001 else"
    f" (2.0 ** {{0}} * 3.141592653589793 ** ({{0}} - 1) * {_SINE} * tgamma(1 - {{0}}) * special_zeta(0, 1 - {{0}}, 1.0)"
    f" if {{0}} > -170 else ({_SINE} * exp(lgamma(1 - {{0}}) + {{0}} * 1.8378770664093453) * 0.3183098861837907"
    f" if {{0}} > -250 else ({_SINE} / 0.0 if {_SINE} != 0 else 0 * {{0}})))"
)


@rule(special.zeta)
def zeta(x: Any, q: Any = None) -> Any:
    given = [operand(x)] if q is None else [operand(x), operand(q)]
    dtype = loop_types(special._ufuncs._zeta, [*map(kind, given), *([kind(1.0)] * (q is None))])[2]
    text = _ZETA if q is None else "special_zeta(0, {0}, {1}) if {0} >= 1 else ({0} + {1}) * (0.0 / 0.0)"
    return compute(text, given, [REAL] * len(given), dtype, is_weak(*given))


@rule(special.zetac)
def zetac(x: Any) -> Any:
    own = _ZETA.replace("special_zeta(0, {0}, 1.0) if", "scipy_zetac({0}) if").replace("else (2.0", "else -1 + (2.0")
    given = [operand(x)]
    dtype = loop_types(special.zetac, [kind(given[0])])[1]
    return compute(own, given, [REAL], dtype, is_weak(*given))


@rule(special.wofz)
def wofz(z: Any) -> Any:
    """Return Faddeeva's function."""
    if np.dtype(kind(operand(z))).kind == "c":
        return of_complex("wofz", operand(z))
    x = operand(z) * np.float64(1)  # SciPy has it in double precision alone
    return np.exp(-x * x) + 1j * (2.0 / math.sqrt(math.pi) * special.dawsn(x))


@rule(special.kelvin)
def kelvin(x: Any) -> tuple[Any, ...]:
    return tuple(
        getattr(special, f"{first}r{end}")(x) + 1j * getattr(special, f"{first}i{end}")(x)
        for end in ("", "p")
        for first in ("be", "ke")
    )


@rule(special.diric)
def diric(x: Any, n: Any) -> Any:
    """Return Dirichlet's kernel as a polynomial in a cosine, which has no poles."""
    count = static(n)
    if count <= 0 or count != int(count):
        raise ParseError("scipy.special.diric: n is a positive integer here")
    return special.eval_chebyu(int(count) - 1, np.cos(operand(x) * 0.5)) / count


@rule(special.lambertw)
def lambertw(z: Any, k: Any = 0, tol: Any = 1e-8) -> Any:
    branch = static(k)
    if branch not in (0, -1):
        raise ParseError(f"scipy.special.lambertw: the branch {branch} has no real values; 0 and -1 are recorded")
    if np.dtype(kind(operand(z))).kind == "c":
        raise ParseError("scipy.special.lambertw of complex numbers is not recorded")
    return in_double(f"special_lambertw({branch}, {{0}})", z) + 0j


@rule(special.multigammaln)
def multigammaln(a: Any, d: Any) -> Any:
    count = static(d)
    constant = np.float64(count * (count - 1) / 4 * math.log(math.pi))
    return sum((special.gammaln(a - 0.5 * j) for j in range(1, count)), special.gammaln(a) + constant)


@rule(special.factorial)
def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    _refuse_exact("factorial", exact)
    x = operand(n)
    return choose_where(x < 0, 0.0, special.gamma(x + np.float64(1.0)))


@rule(special.comb)
def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:  # noqa: N803 (SciPy's name)
    _refuse_exact("comb", exact)
    n, chosen = (operand(N) + operand(k) - 1.0 if repetition else operand(N) * 1.0), operand(k) * 1.0
    return choose_where((chosen <= n) & (chosen >= 0), special.binom(n, chosen), 0.0)


@rule(special.perm)
def perm(N: Any, k: Any, exact: bool = False) -> Any:  # noqa: N803 (SciPy's name)
    _refuse_exact("perm", exact)
    n, chosen = operand(N) * 1.0, operand(k) * 1.0
    return choose_where((chosen <= n) & (chosen >= 0), special.poch(n - chosen + 1.0, chosen), 0.0)


def _refuse_exact(name: str, exact: bool) -> None:
    if exact:
        raise ParseError(f"scipy.special.{name}: exact=True is for Python's integers; leave it out")


def _rule_of(name: str) -> Callable[[Callable], Callable]:
    """Register a rule for a function that only some versions of SciPy have."""
    return rule(getattr(special, name)) if hasattr(special, name) else lambda f: f


@_rule_of("softplus")
def softplus(x: Any) -> Any:
    return np.logaddexp(0.0, x)
