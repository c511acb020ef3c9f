"""Differences that are there for a reason, by the call and the mode."""

from __future__ import annotations

import re

from .checks import Finding

REFUSED = "of complex (numbers|matrices) is not recorded|for operands of type complex|only a run knows"

KNOWN: tuple[tuple[str, str, str], ...] = (
    (r"\blinalg\..*\[float16", "refused: TypeError: .*LAPACK", "LAPACK has no half precision"),
    (
        r"medfilt2d.*\[(u?int|bool)",
        "refused: ParseError: .*is not recorded",
        "refused by name: floating point is needed",
    ),
    (r"nanpercentile.*broadcast", "differences", "rows are one: elements are equal"),
    (r"stats\..*support.*\[float(16|32)", "dtype", "SciPy has the ends in the type of the parameters"),
    (r"gaussian_kde.*broadcast", "lower-dimensional subspace", "all numbers of a sample are equal: SciPy refuses them"),
    (r"averaged_inverted_cdf.*broadcast", "differences", "rows are one: elements are equal"),
    (r"energy_distance.*broadcast", "differences", "all numbers of a sample are equal: a kink"),
    (r"np\.cov.*aweights.*none", "refused: RuntimeError: .*incompatible numbers", "NumPy refuses weights of nothing"),
    (r"arycentric.*broadcast", "points xi must be distinct", "all points are one: SciPy raises this, or gives NaN"),
    (r"gammaln.* special", r"\(-inf\)", "SciPy has minus infinity at a pole's end"),
    (r"special\.zeta\(a, b\).* special", "NumPy: .*not (nan|inf)", "SciPy gives up where it vanishes or overflows"),
    (r"special\.spherical_kn.* special", "NumPy: .*inf, not nan", "SciPy multiplies infinity by zero"),
    (
        r"special\.(cotdg|ellip[ke]inc|ellipj|binom|poch|boxcox1?p?|gammaincc?|chdtrc?)\(a.* special",
        "over.*nan, not",
        "no second derivatives at the ends of the domain",
    ),
    (r"special\.inv_boxcox.* special", r"over.*e-17", "a second derivative of zero"),
    (r"special\.factorial.*float32 C special", r"NumPy: .*\(40\)", "SciPy computes in single precision"),
    (r"sph_harm_y.*float32 C special", r"NumPy: .*\(1e-37\)", "the square of a sine underflows in single precision"),
    (r"special\.powm1.* special", "NumPy: .*inf, not 0", "SciPy has zero where it overflows"),
    (r"special\.inv_boxcox1p.* special", r"NumPy: .*1e-3\d", "SciPy returns the argument where a product underflows"),
    (r"special\.spherical_.n.*float32 C special", r"NumPy: .*\(1e-37\)", "SciPy computes in single precision"),
    (r"special\.(yvp|kvp).*float32 C special", r"NumPy: .*\(1e-37\)", "SciPy computes in single precision"),
    (r"lambertw.* special", "NumPy: .*nan, not", "its results are real: nothing is left of the branch point"),
    (r"special\.stdtrit.*float32 C special", r"NumPy: .*1e-37\)", "SciPy's search has no end in single precision"),
    (r"np\.power\(a \* a.* special", r"\(0, nan\)", "nothing passes through a derivative of zero"),
    (r"(slogdet|interp).*\[bool", "nan, not", "singular matrices and repeated places have quotients of zeros"),
    (r"ndimage\..*\[(u?int|bool)", "refused: ParseError: .*rounds its results", "SciPy rounds; refused by name"),
    (r"\[bool", "refused: TypeError: .*numpy boolean", "Python's operators on booleans are not NumPy's"),
    (r"\[complex", f"refused: ParseError: .*({REFUSED})", "refused by name: complex numbers have no order, or no rule"),
    (
        r"special\.(psi|polygamma|gamma|gammaln)\b.* special\]",
        "nan, not",
        "polygamma functions are for positive numbers",
    ),
    (r"float_power.*complex64", "CompilationFailed", "derivatives in another precision than the operand's"),
    (r"(quantile|percentile|slogdet|linalg\.norm|linalg\.det|fft).*\[(float|int|uint)", "dtype", "another precision"),
    (r"\[(uint8|bool)", r"dtype|softmax.*NumPy|linalg\.det", "NumPy computes with these in half or single precision"),
    (r"[Kk]rogh.*\[float16", "NumPy", "SciPy computes in half precision"),
    (r"(softmax|zpk2tf).*\[uint8", "NumPy", "SciPy wraps around below zero"),
    (
        r"(stats\..*|companion.*|procrustes.*)\[uint8",
        "NumPy: .*not",
        "SciPy wraps around, or computes in half precision",
    ),
    (r"linalg\.det.*\[uint8", "NumPy", "SciPy computes in single precision"),
)
"""Patterns of a finding's call and of its mode and message, and why that is so."""


def reason(finding: Finding) -> str | None:
    """Why a difference is no error; None if nothing is known."""
    for call, rest, why in KNOWN:
        if re.search(call, finding.cell.name) and re.search(rest, f"{finding.mode}: {finding.message}"):
            return why
    return None
