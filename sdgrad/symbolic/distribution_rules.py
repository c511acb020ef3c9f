"""Tabulate the derivatives of distribution functions that are sums and integrals, and of their quantiles.

Those of ``sdgrad_noncentral.h`` begin with how often they are differentiated; a quantile begins with 0, or with 1 for
that of ``1 - p``.
"""

from __future__ import annotations

from sdgrad.symbolic.rows import ANY, POSITIVE, UNKNOWN, ScalarRule
from sdgrad.symbolic.special_rules import LARGER, NONE, SMALL, several


def quantile(name: str, density: str, *slopes: str, domain: tuple) -> ScalarRule:
    """Return the row of a quantile, by the slopes of the distribution function at it by the parameters."""
    partials = (*(f"-{slope} / {density}" for slope in slopes), f"(1 - 2 * a) / {density}")
    return several(f"special_{name}_quantile", None, *partials, domain=(NONE, *domain, SMALL), singular=True)


_NCX2 = "special_ncx2_density({0}, {1}, c, {2})"
_OWN, _LOG = _NCX2.format("a", "b", "d"), "special_ncx2_log_density({0}, {1}, c, d)"
_RATIO = f"exp({_LOG.format(0, 'b + 2')} - {_LOG.format(0, 'b')})"  # of the densities with two more degrees and without
_CHANGE = f"({_LOG.format('{0}', 'b + 2')} - {_LOG.format('{0}', 'b')})"
_RATIO_BY_DF = (
    f"{_RATIO} * (1 if a == 0 else ({_CHANGE.format(1)} if a == 1 else {_CHANGE.format(1)} ** 2 + {_CHANGE.format(2)}))"
)
_NCT = "special_nct({0}, b, c, y)"
_ANGLE = "special_vonmises_density({0}, b, c)"
_COUNT = {"called": "the hypergeometric distribution by a count"}

NONCENTRAL = (  # Johnson, Kotz and Balakrishnan 1995, 29 and 31
    several(
        "special_ncx2",
        None,
        "special_ncx2(a + 1, b, c, d)",
        "-" + _NCX2.format("a", "b + 2", "d"),
        _OWN,
        domain=(NONE, LARGER, POSITIVE, LARGER),
        singular=True,
    ),
    several(
        "special_ncx2c",
        "-special_ncx2(1, a, b, c)",
        "special_ncx2_density(0, a + 2, b, c)",
        "-special_ncx2_density(0, a, b, c)",
        domain=(LARGER, POSITIVE, LARGER),
        singular=True,
    ),
    several(
        "special_ncx2_density",
        None,
        "special_ncx2_density(a + 1, b, c, d)",
        f"0.5 * ({_NCX2.format('a', 'b + 2', 'd')} - {_OWN})",
        f"0.5 * ((c * {_NCX2.format('a', 'b + 2', 'd')} + (b - 2) * {_OWN} + a * {_NCX2.format('a - 1', 'b', 'd')}) / d"
        f" - {_OWN})",
        domain=(NONE, LARGER, POSITIVE, LARGER),
        singular=True,
    ),
    several(
        "special_ncx2_log_density",
        None,
        "special_ncx2_log_density(a + 1, b, c, d)",
        f"0.5 * ({_RATIO_BY_DF} - (1 if a == 0 else 0))",
        f"0.5 * ((c * {_RATIO_BY_DF} + (b - 2 if a == 0 else (1 if a == 1 else 0))) / d - (1 if a == 0 else 0))",
        domain=(NONE, LARGER, POSITIVE, LARGER),
        singular=True,
    ),
    quantile(
        "ncx2",
        _NCX2.format(0, "b", "y"),
        "special_ncx2(1, b, c, y)",
        f"(-{_NCX2.format(0, 'b + 2', 'y')})",
        domain=(LARGER, POSITIVE),
    ),
    several(
        "special_nct",
        *(None,) * 3,
        "special_nct(a, b, c + 1, d, e, f)",
        "-special_nct(a + 1, b, c, d, e, f)",
        "special_nct(a + 1, b + 1, c, d, e, f)",
        domain=(NONE, NONE, NONE, LARGER, ANY, ANY),
    ),
    quantile(
        "nct",
        _NCT.format("1, 1, 0"),
        _NCT.format("0, 0, 1"),
        f"(-{_NCT.format('1, 0, 0')})",
        domain=(LARGER, ANY),
    ),
)

_SKEW = "0.7978845608028654 * exp(-0.5 * {0} * {0}) * 0.5 * erfc(-0.7071067811865476 * {1} * {0})"
_SKEW_BY_SHAPE = "0.3183098861837907 * exp(-0.5 * {0} * {0} * (1 + {1} * {1})) / (1 + {1} * {1})"
OTHERS = (  # Azzalini 1985
    several("special_skewnorm", "-" + _SKEW_BY_SHAPE.format("b", "a"), _SKEW.format("b", "a"), domain=(ANY, ANY)),
    quantile("skewnorm", f"({_SKEW.format('y', 'b')})", f"(-({_SKEW_BY_SHAPE.format('y', 'b')}))", domain=(ANY,)),
    several(
        "special_vonmises",
        None,
        "special_vonmises(a + 1, b, c)",
        _ANGLE.format("a"),
        domain=(NONE, POSITIVE, ANY),
    ),
    several(
        "special_vonmises_density",
        None,
        _ANGLE.format("a + 1"),
        f"-sin(c) * (b * {_ANGLE.format('a')} + a * {_ANGLE.format('a - 1')})",
        domain=(NONE, POSITIVE, ANY),
    ),
    quantile("vonmises", "special_vonmises_density(0, b, y)", "special_vonmises(1, b, y)", domain=(POSITIVE,)),
    *(
        several(
            f"special_hypergeom{end}", None, *(UNKNOWN,) * 3, domain=((1, 3), (20, 20), (7, 7), (9, 9)), extra=_COUNT
        )
        for end in ("", "c")
    ),
)

OF_DISTRIBUTIONS = (*NONCENTRAL, *OTHERS)
