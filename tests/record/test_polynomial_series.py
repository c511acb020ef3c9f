"""Series of ``numpy.polynomial``: Vandermonde matrices, sums, products and integrals beside NumPy's."""

import numpy as np
import pytest
from together import differences, value_differences

import sdgrad

rng = np.random.default_rng(0)
GIVEN = {"x": rng.standard_normal(5), "c": rng.standard_normal(4), "e": rng.standard_normal((3, 2)), "s": 1.3}
CALLS = [
    "P.polynomial.polyvander(x, 3)",
    "P.chebyshev.chebvander(x, 4)",
    "P.legendre.legvander(e, 3)",
    "P.hermite.hermvander(x, 3)",
    "P.hermite_e.hermevander(x, 3)",
    "P.laguerre.lagvander(x, 3)",
    "P.legendre.legvander(x, 0)",
    "P.polynomial.polyadd(c, x)",
    "P.polynomial.polysub(c, c[:2])",
    "P.polynomial.polymul(c, x)",
    "P.polynomial.polyder(c)",
    "P.polynomial.polyder(e, 2, s, axis=0)",
    "P.polynomial.polyder(e, axis=1)",
    "P.polynomial.polyder(c, 5)",
    "P.polynomial.polyint(c)",
    "P.polynomial.polyint(c, 2, [s, 2.0], 0.3, 1.5)",
    "P.polynomial.polyint(e, 1, s, axis=1)",
    "P.polynomial.polyint(c, lbnd=s * 1.0)",
    "P.polynomial.polyint(c, 0)",
]


FAMILIES = {
    "polynomial": "poly", "chebyshev": "cheb", "legendre": "leg", "hermite": "herm", "hermite_e": "herme",
    "laguerre": "lag",
}  # fmt: skip
OF_SEVERAL = [
    text
    for module, short in FAMILIES.items()
    for text in (
        f"P.{module}.{short}val2d(x, x * s, e)", f"P.{module}.{short}val3d(c, c, c * s, e[:, :, None] * c)",
        f"P.{module}.{short}grid2d(x, c, e)", f"P.{module}.{short}grid3d(x[:2], c, x[:3], e[:, :, None] * c)",
        f"P.{module}.{short}vander2d(x, x * s, [1, 2])", f"P.{module}.{short}vander3d(c, c * s, c, [1, 0, 2])",
    )
]  # fmt: skip
CONVERTED = [f"P.{m}.{n}(c)" for m, s in FAMILIES.items() if s != "poly" for n in (f"{s}2poly", f"poly2{s}")]


def test_polynomials_of_several_variables():
    own = [*OF_SEVERAL[::5], *CONVERTED[::3]]
    assert differences(own, {"P": np.polynomial}, GIVEN, step=5e-4, loose=1e-6) == []
    assert value_differences([*OF_SEVERAL, *CONVERTED], {"P": np.polynomial}, GIVEN) == []


def test_values_and_derivatives():
    assert differences(CALLS, {"P": np.polynomial}, GIVEN, step=5e-4, loose=1e-6) == []


def test_zeros_that_numpy_leaves_out():
    f = sdgrad.compile_forward(lambda a, b: np.polynomial.polynomial.polysub(a, b))
    np.testing.assert_allclose(f(np.array([1.0, 2.0]), np.array([0.5, 1.0])), [0.5, 1.0])
    with pytest.raises(ValueError, match="the last factor is zero"):
        f(np.array([1.0, 2.0]), np.array([0.5, 2.0]))


def test_single_precision_and_complex_numbers():
    def f(x, z):
        return np.polynomial.chebyshev.chebvander(x, 3), np.polynomial.polynomial.polymul(z, z), (
            np.polynomial.polynomial.polyder(z)), np.polynomial.polynomial.polyint(z)  # fmt: skip

    x, z = GIVEN["x"].astype(np.float32), GIVEN["c"] + 1j * GIVEN["c"][::-1]
    for found, wanted in zip(sdgrad.compile_forward(f)(x, z), f(x, z), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
