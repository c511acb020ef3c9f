"""Bounds of index expressions hold, and are attained where an expression is monotone."""

import dace
import pytest
import sympy

from sdgrad.analysis.value_ranges import Unbounded, extreme
from sdgrad.symbolic.expr import sym

K = sym("k")
EXACT = (
    *(3 * K + 2, 5 - 2 * K, K * (K + 1), K**2, 7, dace.symbolic.int_floor(K, 3), sympy.Min(4, 2 * K)),
    *(sympy.floor(K / 2), sympy.Max(K, 3), dace.symbolic.int_floor(9 - K, 2), K * (K - 1) / 2),
)
BOUNDED = (
    *(sympy.Mod(K, 5), K + sympy.Mod(K, 4), K * (8 - K), sympy.Mod(3 * K + 1, 7) * K, sympy.Abs(K - 3)),
    *((K - 4) ** 2, (K - 4) ** 3, 2 * K - sympy.Mod(K, 3), sympy.Min(K, 9 - K), K**3 - 9 * K**2),
)


@pytest.mark.parametrize("low, high", [(0, 11), (1, 8), (2, 3), (5, 5)])
@pytest.mark.parametrize("expr", EXACT + BOUNDED, ids=str)
def test_bounds(expr, low, high):
    expr = sympy.sympify(expr)
    values = [int(expr.subs(K, k)) for k in range(low, high + 1)]
    least, most = (extreme(expr, "k", sympy.Integer(low), sympy.Integer(high), up) for up in (False, True))
    assert least <= min(values) and most >= max(values)
    if expr in EXACT and low >= 1:
        assert (least, most) == (min(values), max(values))


def test_symbols():
    n = sym("n")
    assert extreme(2 * K + 1, "k", sympy.Integer(0), n - 1, True) == 2 * n - 1
    assert extreme(sympy.Mod(K, n), "k", sympy.Integer(0), n * n, True) == n - 1
    assert extreme(n, "k", sympy.Integer(0), n, False) == n


def test_unknown():
    with pytest.raises(Unbounded):
        extreme(sympy.sin(K), "k", sympy.Integer(0), sympy.Integer(9), True)
