"""Functions of whole degree and more of SciPy's: its values, and derivatives by differences of these."""

import numpy as np
import pytest
import scipy.special as sp

import sdgrad
from sdgrad.errors import ParseError

N = np.array([0, 1, 2, 5])
X = np.array([-0.7, 0.2, 0.6, 0.9])
B = np.array([0.4, 1.2, 2.5, 7.0])
P = np.array([0.1, 0.3, 0.62, 0.9])


def polynomials(x):
    return [
        *(f(N, x) for f in (sp.eval_legendre, sp.eval_chebyt, sp.eval_chebyu, sp.eval_chebyc, sp.eval_chebys)),
        *(f(N, x) for f in (sp.eval_sh_legendre, sp.eval_sh_chebyt, sp.eval_sh_chebyu, sp.eval_hermite)),
        *(f(N, x) for f in (sp.eval_hermitenorm, sp.eval_laguerre)),
        sp.eval_genlaguerre(N, 0.7, x), sp.eval_gegenbauer(N, 1.3, x), sp.eval_jacobi(N, 1.3, -0.4, x),
        sp.lpmv(2, 4, x), np.real(sp.sph_harm_y(3, -2, x, 2 * x)), np.imag(sp.sph_harm_y(2, 1, x, 0.3)),
        sp.ellipkinc(x, 0.6), sp.ellipeinc(0.8, x), sp.ellipkinc(4.0, x), *sp.airy(x),
    ]  # fmt: skip


def positive(b):
    return [
        *(f(N, b) for f in (sp.spherical_jn, sp.spherical_yn, sp.spherical_in, sp.spherical_kn)),
        *(f(N, b, True) for f in (sp.spherical_jn, sp.spherical_yn, sp.spherical_in, sp.spherical_kn)),
        sp.elliprf(b, 0.7, 1.9), sp.elliprd(0.3, b, 1.9), sp.elliprd(0.3, 1.9, b), sp.elliprc(2.0, b), sp.agm(b, 0.7),
        sp.pdtr(2, b), sp.pdtrc(2, b), sp.voigt_profile(0.7, b, 0.3), sp.voigt_profile(0.7, 0.5, b), sp.kn(2, b),
        sp.yn(2, b), sp.jve(1.5, b), sp.yve(0.5, b), sp.powm1(b, 0.3), sp.radian(b, b, b), sp.cotdg(b),
        sp.jvp(1.5, b, 2), sp.yvp(0.5, b), sp.ivp(1, b), sp.kvp(1, b, 3), sp.stdtrit(b, 0.3),
    ]  # fmt: skip


def of_probability(p):
    return [
        *sp.ellipj(1.3, p), sp.stdtrit(2.5, p), sp.fdtri(2.5, 3.5, p), sp.bdtr(1, 5, p), sp.bdtrc(1, 5, p),
        sp.bdtri(1, 5, p), sp.nbdtr(1, 5, p), sp.nbdtrc(1, 5, p), sp.pdtri(2, p),
    ]  # fmt: skip


@pytest.mark.parametrize(("f", "x"), [(polynomials, X), (positive, B), (of_probability, P)])
def test_values_and_derivatives(f, x):
    with sdgrad.config.override(optimization_level=0):
        found, tangents = sdgrad.jvp(f, (x,), (np.ones_like(x),))
    h = 1e-4 * np.minimum(1.0, np.abs(x))
    parts = [[np.asarray(v) for v in f(x + k * h)] for k in (1, -1, 2, -2)]
    for k, (own, wanted, slope) in enumerate(zip(found, f(x), tangents, strict=True)):
        np.testing.assert_allclose(own, wanted, rtol=1e-13, atol=1e-15, err_msg=str(k))
        near, back, far, behind = (p[k] for p in parts)
        differences = (8 * (near - back) - (far - behind)) / (12 * h)
        np.testing.assert_allclose(slope, differences, rtol=1e-8, atol=1e-9, err_msg=str(k))


def by_counters(x, highest):
    rows = [sp.jvp(1, x + 1.0, highest)]
    for n in range(highest):
        for m in range(n + 1):
            rows.append(sp.lpmv(m, n, x))
    return sum(np.sum(r) for r in rows)


def test_degrees_that_loops_and_arguments_decide():
    for highest in (2, 3):
        with sdgrad.config.override(optimization_level=0):
            value, slope = sdgrad.value_and_grad(by_counters, wrt="x")(X, highest)
        assert np.isclose(value, by_counters(X, highest), rtol=1e-12)
        moved = (by_counters(X + 1e-6, highest) - by_counters(X - 1e-6, highest)) / 2e-6
        assert np.isclose(np.sum(slope), moved, rtol=1e-6)


def test_refused():
    for wrong in (lambda x: sp.eval_legendre(0.5, x), lambda x: sp.eval_legendre(-2, x), lambda x: sp.lpmv(-1, 2, x)):
        with pytest.raises(ParseError, match="degree"):
            sdgrad.grad(wrong)(0.3)
