"""Differences that are there for a reason, by the call and the mode."""

from __future__ import annotations

import re

from .checks import Finding

REFUSED = "of complex (numbers|matrices) is not recorded|for operands of type complex|only a run knows"

KNOWN: tuple[tuple[str, str, str], ...] = (
    (r"gammaln.* special", r"\(-inf\)", "SciPy has minus infinity at a pole's end"),
    (r"special\.(sin|cos|tan)dg.* special", "NumPy", "SciPy gives zero for angles beyond 1e14 degrees"),
    (r"special\.zeta\(a\).* special", r"NumPy: 1 of \d+: \(-2\)", "a zero is one up to rounding"),
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
    (r"\[(uint8|bool)", "dtype|softmax.*NumPy|linalg\.det", "NumPy computes with these in half or single precision"),
    (r"softmax.*\[uint8", "NumPy", "SciPy wraps around below zero"),
    (r"linalg\.det.*\[uint8", "NumPy", "SciPy computes in single precision"),
)
"""Patterns of a finding's call and of its mode and message, and why that is so."""


def reason(finding: Finding) -> str | None:
    """Why a difference is no error; None if nothing is known."""
    for call, rest, why in KNOWN:
        if re.search(call, finding.cell.name) and re.search(rest, f"{finding.mode}: {finding.message}"):
            return why
    return None
