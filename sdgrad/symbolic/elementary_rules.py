"""Tabulate functions whose derivatives in closed form would be small differences of large numbers."""

from __future__ import annotations

from sdgrad.symbolic.rows import ANY, POSITIVE, Interval, binary, unary

NONE: Interval = (0, 0)  # of an argument that counts derivatives
_DEGREE = 0.017453292519943295

# far from 0 its mixed derivative would cancel in the other form
_BY_POWER = (
    "(({0} ** b * {1} - y) / b if abs(b * {1}) > 1 else {1} * {1} * sdgrad_exprel(1, b * {1}))"
    " if {0} != 0 else 1 / (b * b)"
)
ELEMENTARY = (
    binary("sdgrad_exprel", None, "sdgrad_exprel(a + 1, b)", NONE, ANY, overflows=True),
    binary("sdgrad_log1prel", None, "sdgrad_log1prel(a + 1, b)", NONE, POSITIVE, singular=True),
    binary(
        "sdgrad_powm1",
        "b * a ** (b - 1) if (a != 0) | (b != 0) else 0",
        "a ** b * log(a) if a != 0 else 0",
        POSITIVE,
        ANY,
        singular=True,
    ),
    binary(
        "sdgrad_boxcox",
        "exp((b - 1) * log(a)) if a != 0 else a ** (b - 1)",
        _BY_POWER.format("a", "log(a)"),
        POSITIVE,
        ANY,
        singular=True,
        overflows=True,
    ),
    binary(
        "sdgrad_boxcox1p",
        "exp((b - 1) * log1p(a)) if a != -1 else (1 + a) ** (b - 1)",
        _BY_POWER.format("(1 + a)", "log1p(a)"),
        POSITIVE,
        ANY,
        singular=True,
        overflows=True,
    ),
    *(
        binary(
            name,
            "sdgrad_inv_boxcox(a, b) / (1 + a * b)",
            "sdgrad_inv_boxcox(a, b) * a * a * sdgrad_log1prel(1, a * b)",
            POSITIVE,
            POSITIVE,
            singular=True,
            overflows=True,
        )
        for name in ("sdgrad_inv_boxcox", "sdgrad_inv_boxcox1p")
    ),
    binary(
        "sdgrad_pseudo_huber",
        "(b / (hypot(a, b) + a) * b) ** 2 / hypot(a, b) if (b != 0) & (a >= 0) else 0",
        "a / hypot(a, b) * b if (a > 0) | ((a == 0) & (b != 0)) else 0",
        POSITIVE,
        ANY,
    ),
    # of degrees: SciPy's own, with the zeros and the signs at multiples of a right angle
    unary("scipy_sindg", f"{_DEGREE} * scipy_cosdg(x)"),
    unary("scipy_cosdg", f"-{_DEGREE} * scipy_sindg(x)"),
    unary("scipy_tandg", f"{_DEGREE} / (scipy_cosdg(x) * scipy_cosdg(x))", singular=True),
    unary("scipy_cotdg", f"-{_DEGREE} / (scipy_sindg(x) * scipy_sindg(x))", POSITIVE, singular=True),
)
