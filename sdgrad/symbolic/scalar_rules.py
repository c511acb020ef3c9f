"""Tabulate scalar derivatives: one row a function, read by reverse and forward mode alike.

What the columns are is in ``rows.py``; the special functions of SciPy have a table of their own.
"""

from __future__ import annotations

from sdgrad.symbolic.degree_rules import OF_DEGREES
from sdgrad.symbolic.distribution_rules import OF_DISTRIBUTIONS
from sdgrad.symbolic.elementary_rules import ELEMENTARY
from sdgrad.symbolic.equation_rules import OF_EQUATIONS
from sdgrad.symbolic.rows import ABOVE1, ANY, AWAY, POSITIVE, UNIT, ScalarRule, binary, unary
from sdgrad.symbolic.special_rules import SPECIAL

FINITE = ("sdgrad_is_finite", "sdgrad_is_no_infinity")

# Twice the share of the first operand of an extreme. Sums of comparisons need no jumps, and are vectorized.
_TWICE = "((a {op} b) + (a {op}= b))"
_TWICE_OR_NAN = "((a {op} b) + (not a {other} b))"  # one if an operand is NaN

# Where the squares of two numbers neither overflow nor vanish, in single precision as well.
_SQUARES = "(a * a + b * b > 1e-30) & (a * a + b * b < 1e30)"

ROWS = (
    # exponentials and logarithms
    unary("exp", "y", depends=("y != 0",), overflows=True),
    unary("exp2", "0.6931471805599453 * y", depends=("y != 0",), overflows=True),
    unary("expm1", "y + 1", depends=("y != -1",), overflows=True),
    unary("log", "1 / x", POSITIVE, singular=True),
    unary("log2", "1.4426950408889634 / x", POSITIVE, singular=True),
    unary("log10", "0.4342944819032518 / x", POSITIVE, singular=True),
    unary("log1p", "1 / (x + 1)", (-0.7, 3.0), singular=True),
    binary(
        "pow",
        "b * a ** (b - 1) if (a != 0) | (b != 0) else 0",
        "y * log(a) if a != 0 else 0",
        POSITIVE,
        ANY,
        singular=True,
        steep=True,
        kink="d/db is 0 at a = 0",
        aliases=("power",),
    ),
    binary(
        "np_float_pow",
        "b * a ** (b - 1) if (a != 0) | (b != 0) else 0",
        "y * log(a) if a != 0 else 0",
        POSITIVE,
        ANY,
        singular=True,
        steep=True,
        kink="d/db is 0 at a = 0",
        aliases=("float_power",),
    ),
    # roots, quotients
    binary("div", "1 / b", "-y / b", ANY, AWAY, singular=True, depends=(None, "sdgrad_is_no_infinity(b)")),
    unary("sqrt", "0.5 / y", POSITIVE, singular=True, steep=True),
    unary("cbrt", "1 / (3 * y * y)", AWAY, singular=True, steep=True),
    unary("reciprocal", "-(y * y)", AWAY, singular=True, depends=("sdgrad_is_no_infinity(x)",)),
    unary("square", "2 * x", kind="same"),
    binary("hypot", "a / y", "b / y", selects=("y != 0", "y != 0"), kink="0 at the origin"),
    # trigonometry
    unary("sin", "cos(x)", aliases=("sdgrad_sin",)),
    unary("cos", "-sin(x)", aliases=("sdgrad_cos",)),
    unary("tan", "1 + y * y", (-1.2, 1.2)),
    unary("asin", "1 / sqrt(1 - x * x)", UNIT, singular=True, steep=True, aliases=("arcsin",)),
    unary("acos", "-1 / sqrt(1 - x * x)", UNIT, singular=True, steep=True, aliases=("arccos",)),
    unary("sdgrad_acos_ratio", "(x * y - 1) / (1 - x * x)", UNIT, singular=True),
    unary("atan", "1 / (1 + x * x)", depends=("sdgrad_is_no_infinity(x)",), aliases=("arctan",)),
    binary(
        "atan2",
        f"b / (a * a + b * b) if {_SQUARES} else b / hypot(a, b) * (1 / hypot(a, b))",
        f"-a / (a * a + b * b) if {_SQUARES} else -a / hypot(a, b) * (1 / hypot(a, b))",
        AWAY,
        AWAY,
        singular=True,
        aliases=("arctan2",),
    ),
    unary("sinh", "cosh(x)", overflows=True),
    unary("cosh", "sinh(x)", overflows=True),
    unary("tanh", "1 - y * y", depends=("y * y != 1",)),
    unary(
        "asinh",
        "1 / sqrt(x * x + 1) if abs(x) < 1e9 else 1 / abs(x)",  # the square would overflow
        aliases=("arcsinh",),
        complex_vjp="g / conj(sqrt(x * x + 1))",
        complex_jvp="dx / sqrt(x * x + 1)",
    ),
    unary("acosh", "1 / (sqrt(x - 1) * sqrt(x + 1))", ABOVE1, singular=True, steep=True, aliases=("arccosh",)),
    unary("atanh", "1 / (1 - x * x)", UNIT, singular=True, aliases=("arctanh",)),
    unary("deg2rad", "0.017453292519943295", aliases=("radians",)),
    unary("rad2deg", "57.29577951308232", aliases=("degrees",)),
    # special functions (DLMF 7.2, 5.15)
    unary("sdgrad_sigmoid", "sdgrad_sigmoid_slope(x)", depends=("y * (1 - y) != 0",)),
    unary("sdgrad_sigmoid_slope", "y * (1 - 2 * sdgrad_sigmoid(x))", depends=("y != 0",)),
    unary("erf", "1.1283791670955126 * exp(-(x * x))", depends=("y * y != 1",)),
    unary("erfc", "-1.1283791670955126 * exp(-(x * x))", depends=("y * (2 - y) != 0",)),
    unary("lgamma", "sdgrad_polygamma(0, x)", POSITIVE, singular=True, aliases=("gammaln",)),
    unary("tgamma", "y * sdgrad_polygamma(0, x)", POSITIVE, singular=True),
    ScalarRule("sdgrad_polygamma", (None, "sdgrad_polygamma(a + 1, b)"), ((0, 0), POSITIVE), singular=True),
    # magnitude, sign, rounding
    unary(
        "abs",
        "sdgrad_sign(x)",
        kink="0 at 0",
        kind="real",
        aliases=("fabs", "absolute"),
        complex_vjp="g * x / y if y != 0 else 0",
        complex_jvp="real(conj(x) * dx) / y if y != 0 else 0",
    ),
    binary("copysign", "sdgrad_sign(a) * copysign(1.0, b)", None, kink="0 at a = 0"),
    unary("sdgrad_detached", None, kind="same"),
    # a, of which the derivative is no number unless b is positive
    binary("sdgrad_smooth_if", "1 if b > 0 else sqrt(b - 1)", None, ANY, POSITIVE, kind="same"),
    # a product with a cotangent, which is linear in it wherever it is finite: so are derivatives of derivatives
    binary(
        "sdgrad_strong",
        "1 if b != 0 else sdgrad_finite(a)",
        None,
        kind="same",
        selects=("(b != 0) | sdgrad_is_finite(a)", None),
    ),
    unary("sdgrad_finite", None),
    unary(
        "sign",
        None,
        kind="same",
        aliases=("sgn", "sign_numpy_2", "sdgrad_sign"),
        complex_vjp="(g - y * real(conj(y) * g)) / abs(x) if abs(x) != 0 else 0",
        complex_jvp="(dx - y * real(conj(y) * dx)) / abs(x) if abs(x) != 0 else 0",
    ),
    binary("heaviside", None, None),
    unary("floor", None, aliases=("ceil", "ceiling", "trunc", "rint", "round", "fix", "iround", "ROUND")),
    binary("py_mod", "1", "-floor(a / b)", ANY, AWAY, kind="same", aliases=("PyMod", "Mod", "mod")),
    binary("sdgrad_mod", "1", "-sdgrad_floor_divide(a, b)", ANY, AWAY, kind="same"),
    binary("sdgrad_floor_divide", None, None, ANY, AWAY, kind="same"),
    binary("c_mod", "1", "-trunc(a / b)", ANY, AWAY, kind="same", aliases=("CMod", "fmod", "sdgrad_truncated_mod")),
    binary("py_floor", None, None, ANY, AWAY, kind="same", aliases=("int_floor", "int_ceil", "int_floor_ni")),
    binary("remainder", "1", "-rint(a / b)", ANY, AWAY),
    binary("nextafter", "1", None),
    # choices
    binary(
        "max",
        f"0.5 * {_TWICE.format(op='>')}",
        f"0.5 * (2 - {_TWICE.format(op='>')})",
        selects=("a >= b", "not a > b"),
        kind="same",
        kink="one half each at a tie",
        aliases=("maximum", "fmax", "Max"),
    ),
    binary(
        "min",
        f"0.5 * {_TWICE.format(op='<')}",
        f"0.5 * (2 - {_TWICE.format(op='<')})",
        selects=("a <= b", "not a < b"),
        kind="same",
        kink="one half each at a tie",
        aliases=("minimum", "fmin", "Min"),
    ),
    # those of kernels
    binary("sdgrad_larger", f"0.5 * {_TWICE.format(op='>')}", f"0.5 * (2 - {_TWICE.format(op='>')})", kind="same"),
    binary("sdgrad_smaller", f"0.5 * {_TWICE.format(op='<')}", f"0.5 * (2 - {_TWICE.format(op='<')})", kind="same"),
    # of which a result that is not a number comes from both operands
    binary(
        "sdgrad_maximum",
        f"0.5 * {_TWICE_OR_NAN.format(op='>', other='<')}",
        f"0.5 * (2 - {_TWICE_OR_NAN.format(op='>', other='<')})",
        selects=("not a < b", "not a > b"),
        kind="same",
    ),
    binary(
        "sdgrad_minimum",
        f"0.5 * {_TWICE_OR_NAN.format(op='<', other='>')}",
        f"0.5 * (2 - {_TWICE_OR_NAN.format(op='<', other='>')})",
        selects=("not a > b", "not a < b"),
        kind="same",
    ),
    # complex numbers
    unary("conj", "1", kind="same", aliases=("conjugate",), complex_vjp="conj(g)", complex_jvp="conj(dx)"),
    unary("real", "1", kind="real", complex_vjp="g", complex_jvp="real(dx)"),
    unary("imag", None, kind="real", complex_vjp="1j * g", complex_jvp="imag(dx)"),
    # no derivative anywhere
    unary("isnan", None, kind="bool", aliases=("isinf", "isfinite", *FINITE, "signbit", "logical_not")),
)

RULES: dict[str, ScalarRule] = {}


def register(rule: ScalarRule) -> None:
    """Add a row to the table; refuse one without a test domain, or under a name already taken."""
    if len(rule.domain) != rule.arity:
        raise ValueError(f"scalar rule {rule.name!r} needs a test domain for each of its {rule.arity} arguments")
    names = (rule.name, *rule.aliases)
    for name in names:
        if name in RULES:
            raise ValueError(f"scalar rule {name!r} is registered twice")
    RULES.update(dict.fromkeys(names, rule))


for _row in (*ROWS, *ELEMENTARY, *SPECIAL, *OF_DEGREES, *OF_EQUATIONS, *OF_DISTRIBUTIONS):
    register(_row)
OWN = dict(RULES)


def rules_of_users() -> list[tuple[str, ScalarRule]]:
    """Return the rows that are none of this package's, with their names: new ones, and those in place of its own."""
    return [(name, rule) for name, rule in RULES.items() if rule is not OWN.get(name)]
