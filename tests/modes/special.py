"""SciPy's special functions: modes beside each other (``tests/record/test_special_functions.py`` has them exactly)."""

from __future__ import annotations

from dataclasses import replace

from .lines import ANY, POSITIVE, PROBABILITY, SMALL, UNIT, Line, one, two

BELOW: tuple[float, float] = (-3.0, 0.9)
_OF_ONE = {
    "erfi": ANY, "erfinv": UNIT, "erfcinv": (0.1, 1.9), "erfcx": ANY, "dawsn": ANY, "ndtri": PROBABILITY,
    "log_ndtr": ANY, "ndtri_exp": (-3.0, -0.1), "j0": ANY, "j1": ANY, "y0": POSITIVE, "y1": POSITIVE, "i0": ANY,
    "i1": ANY, "i0e": POSITIVE, "i1e": POSITIVE, "k0": POSITIVE, "k1": POSITIVE, "k0e": POSITIVE, "k1e": POSITIVE,
    "exp1": POSITIVE, "expi": POSITIVE, "exprel": ANY, "spence": POSITIVE, "wrightomega": ANY, "rgamma": POSITIVE,
    "ellipk": BELOW, "ellipe": BELOW, "ellipkm1": POSITIVE, "loggamma": POSITIVE, "zeta": (1.2, 4.0), "cosm1": ANY,
    "itstruve0": POSITIVE, "it2struve0": POSITIVE, "itmodstruve0": POSITIVE, "gammasgn": POSITIVE,
    "zetac": (1.2, 4.0), "sindg": ANY, "cosdg": ANY, "tandg": ANY, "factorial": POSITIVE, "softplus": ANY,
}  # fmt: skip
_WITH_AN_ORDER = {
    "jv": "1.5", "yv": "2", "iv": "0", "ive": "2.5", "kv": "1", "kve": "0.5", "struve": "1", "modstruve": "0.5",
    "expn": "2", "hyp0f1": "1.5",
}  # fmt: skip
_OF_TWO = {
    "owens_t": (ANY, ANY), "binom": ((3.0, 6.0), (0.2, 2.9)), "poch": (POSITIVE, POSITIVE),
    "gammainc": (POSITIVE, POSITIVE), "gammaincc": (POSITIVE, POSITIVE), "gammaincinv": (POSITIVE, PROBABILITY),
    "gammainccinv": (POSITIVE, PROBABILITY), "chdtr": (POSITIVE, POSITIVE), "chdtrc": (POSITIVE, POSITIVE),
    "chdtri": (POSITIVE, PROBABILITY), "boxcox": (POSITIVE, POSITIVE),
    "boxcox1p": (POSITIVE, POSITIVE), "inv_boxcox": (POSITIVE, POSITIVE), "inv_boxcox1p": (POSITIVE, POSITIVE),
    "pseudo_huber": (POSITIVE, ANY), "zeta": ((1.2, 4.0), POSITIVE),
    "comb": ((3.0, 6.0), (0.2, 2.9)), "perm": ((3.0, 6.0), (0.2, 2.9)),
}  # fmt: skip
_FIXED = (  # at some parameters, by the last argument
    one("special.betainc(2.0, 3.0, a)", PROBABILITY), one("special.betaincc(2.0, 3.0, a)", PROBABILITY),
    one("special.betaincinv(2.0, 3.0, a)", PROBABILITY), one("special.betainccinv(2.0, 3.0, a)", PROBABILITY),
    one("special.stdtr(3.5, a)"),
    one("special.fdtr(2.0, 3.0, a)", POSITIVE), one("special.fdtrc(2.0, 3.0, a)", POSITIVE),
    one("special.gdtr(2.0, 3.0, a)", POSITIVE), one("special.gdtrc(2.0, 3.0, a)", POSITIVE),
    one("special.hyp2f1(0.5, 1.5, 2.5, a)", BELOW), one("special.sici(a)[0]"), one("special.sici(a)[1]", POSITIVE),
    one("special.shichi(a)[0]"), one("special.shichi(a)[1]", POSITIVE), one("special.fresnel(a)[0]"),
    one("special.fresnel(a)[1]"), one("np.real(special.lambertw(a))", POSITIVE),
    one("special.multigammaln(a + 2.0, 3)", POSITIVE, only=(0.0, 1e300), nan=False),
)  # fmt: skip
_POLYNOMIALS = ("legendre", "chebyt", "chebyu", "chebyc", "chebys", "sh_legendre", "sh_chebyt", "sh_chebyu", "hermite",
                "hermitenorm", "laguerre")  # fmt: skip
_OF_DEGREES = (  # polynomials, harmonics and Bessel functions of whole degree
    *(one(f"special.eval_{name}(3, a)", only=(-1e3, 1e3)) for name in _POLYNOMIALS),
    one("special.eval_genlaguerre(3, 0.7, a)", only=(-1e3, 1e3)),
    one("special.eval_gegenbauer(3, 1.3, a)", only=(-1e3, 1e3)),
    one("special.eval_jacobi(3, 1.3, -0.4, a)", only=(-1e3, 1e3)),
    one("special.lpmv(2, 4, a)", UNIT, only=(-1.0, 1.0)),
    one("np.real(special.sph_harm_y(3, -2, a, 0.3))"),
    *(one(f"special.spherical_{letter}n({n}, a)", POSITIVE) for letter in "jyik" for n in (0, 2)),
    *(one(f"special.{name}(2, a)", POSITIVE) for name in ("kn", "yn", "jve", "yve", "jvp", "yvp", "ivp", "kvp")),
)
_ELLIPTIC = (
    two("special.ellipkinc(a, b)", SMALL, BELOW),
    two("special.ellipeinc(a, b)", SMALL, BELOW),
    *(two(f"special.ellipj(a, b)[{k}]", SMALL, PROBABILITY) for k in range(4)),
    two("special.elliprc(a, b)", POSITIVE, POSITIVE),
    two("special.agm(a, b)", POSITIVE, POSITIVE),
    Line("special.elliprf(a, b, d)", (POSITIVE,) * 3),
    Line("special.elliprd(a, b, d)", (POSITIVE,) * 3),
)
_CHANCES = (  # by degrees of freedom, which have no second derivative, in a test of their own
    one("special.pdtr(2, a)", POSITIVE),
    one("special.pdtrc(2, a)", POSITIVE),
    one("special.pdtri(2, a)", PROBABILITY),
    *(one(f"special.{name}(1, 5, a)", PROBABILITY) for name in ("bdtr", "bdtrc", "bdtri", "nbdtr", "nbdtrc")),
    one("special.stdtrit(2.5, a)", PROBABILITY),
    one("special.fdtri(2.5, 3.5, a)", PROBABILITY),
    Line("special.voigt_profile(a, b, d)", (ANY, POSITIVE, POSITIVE)),
    Line("special.chndtr(a, b, d)", (POSITIVE, POSITIVE, POSITIVE)),
    Line("special.chndtrix(a, b, d)", (PROBABILITY, POSITIVE, POSITIVE)),
    Line("special.nctdtr(a, b, d)", (POSITIVE, ANY, ANY)),
    Line("special.nctdtrit(a, b, d)", (POSITIVE, ANY, PROBABILITY)),
)
_SOLUTIONS = (  # of differential equations, integrals and inverses; only where SciPy's own are exact
    *(one(f"special.{name}(0.5, a)[{k}]", only=(-5.0, 5.0)) for name in ("pbdv", "pbvv", "pbwa") for k in (0, 1)),
    *(one(f"special.{a}e{b}(a)", POSITIVE, only=(-1e3, 1e3)) for a in "bk" for b in ("r", "i", "rp", "ip")),
    *(one(f"special.{name}(a)[{k}]", POSITIVE, only=(0.1, 10.0)) for name in ("itj0y0", "iti0k0") for k in (0, 1)),
    *(one(f"np.abs(special.kelvin(a)[{k}])", POSITIVE, only=(0.1, 10.0)) for k in range(4)),
    one("special.hyperu(1.5, 0.7, a)", POSITIVE, only=(0.1, 100.0)),
    one("special.wright_bessel(0.5, 1.5, a)", POSITIVE, only=(0.0, 10.0)),
    one("special.log_wright_bessel(0.5, 1.5, a)", POSITIVE, only=(0.0, 10.0)),
    one("special.eval_sh_jacobi(3, 2.5, 1.5, a)", PROBABILITY, only=(-1e3, 1e3)),
    one("special.diric(a, 5)", only=(-100.0, 100.0)),
    one("np.real(special.wofz(a))"),
    one("np.imag(special.wofz(a))", only=(-1e30, 1e30)),
    Line("special.elliprg(a, b, d)", (POSITIVE,) * 3),
    Line("special.elliprj(a, b, d, 0.7)", (POSITIVE,) * 3),
    Line("special.gdtria(a, b, d)", (PROBABILITY, POSITIVE, POSITIVE)),
    Line("special.gdtrix(a, b, d)", (POSITIVE, POSITIVE, PROBABILITY)),
    Line("special.gdtrib(a, b, d)", (POSITIVE, PROBABILITY, POSITIVE)),
    two("special.chdtriv(a, b)", PROBABILITY, POSITIVE, only=(0.5, 0.5)),
    Line("special.btdtria(a, b, d)", (PROBABILITY, POSITIVE, PROBABILITY)),
    Line("special.btdtrib(a, b, d)", (POSITIVE, PROBABILITY, PROBABILITY)),
    one("special.nbdtri(1, 5, a)", PROBABILITY),
    Line("special.nrdtrimn(a, b, d)", (PROBABILITY, POSITIVE, ANY)),
    Line("special.nrdtrisd(a, b, d)", (ANY, (0.6, 0.9), ANY)),
)
_OTHERS = (
    *(one(f"special.airy(a)[{k}]") for k in range(4)),
    *(one(f"special.airye(a)[{k}]", POSITIVE) for k in range(4)),
    two("special.powm1(a, b)", POSITIVE, ANY, only=(0.1, 1e300)),
    Line("special.radian(a, b, d)", (ANY, POSITIVE, POSITIVE)),
    one("special.cotdg(a)", POSITIVE),
)
_ALL: tuple[Line, ...] = (
    *_OF_DEGREES,
    *_ELLIPTIC,
    *_CHANCES,
    *_OTHERS,
    *_SOLUTIONS,
    *(one(f"special.{name}(a)", domain) for name, domain in _OF_ONE.items()),
    *(one(f"special.{name}({order}, a)", POSITIVE) for name, order in _WITH_AN_ORDER.items()),
    one("special.hyp1f1(1.5, 2.5, a)", POSITIVE, only=(-1e3, 1e3)),  # SciPy's own does not end beyond
    *(two(f"special.{name}(a, b)", *domains) for name, domains in _OF_TWO.items()),
    *_FIXED,
)
LINES: tuple[Line, ...] = tuple(replace(line, beside=False) for line in _ALL)  # JAX's are those of its own formulas
