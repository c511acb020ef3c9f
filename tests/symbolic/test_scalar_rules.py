"""Every row of the table of scalar rules: value, gradient and second derivative against 40 digits of mpmath."""

import math
from dataclasses import replace

import dace
import mpmath as mp
import numpy as np
import pytest
from dace import Memlet
from graphs import call, gradients
from references import assert_close

import sdgrad
from sdgrad.symbolic.scalar_rules import ROWS, RULES, ScalarRule, register

POINTS = 9
TOLERANCES = {dace.float64: 1e-9, dace.float32: 1e-4, dace.float16: 2e-2}

# Names of NumPy or SymPy that no C++ function has (the frontend and DaCe's code generator replace them), and operators.
NOT_IN_CPP = {
    "power", "float_power", "square", "arcsin", "arccos", "arctan", "arctan2", "arcsinh", "arccosh", "arctanh",
    "radians",
    "degrees", "gammaln", "absolute", "fix", "PyMod", "Mod", "mod", "CMod", "int_floor_ni", "maximum", "minimum",
    "logical_not", "conjugate", "div",
}  # fmt: skip
COMPLEX = {"conj", "real", "imag"}  # tested with complex numbers below
CONSTANT = {"sdgrad_detached"}  # its derivative is not that of its value: test_stop_gradient
INTEGER = {"ceiling", "int_ceil", "int_floor"}  # of symbols: for floats their C++ values mean nothing
NOT_IN_HALF = {
    "sdgrad_truncated_mod",
    "heaviside", "py_mod", "sdgrad_mod", "fmod", "remainder", "iround", "c_mod", "py_floor", "int_floor", "int_ceil",
    "sdgrad_polygamma",
    "lgamma", "tgamma", "nextafter",
}  # fmt: skip


def _quotient(towards):
    return lambda a, b: towards(a / b)


def _truncated(x):
    return mp.floor(x) if x >= 0 else mp.ceil(x)


VALUES = {
    "exp": mp.exp, "exp2": lambda x: mp.mpf(2) ** x, "expm1": mp.expm1, "log": mp.log, "log2": lambda x: mp.log(x, 2),
    "log10": mp.log10, "log1p": mp.log1p, "pow": mp.power, "np_float_pow": mp.power, "div": lambda a, b: a / b,
    "sdgrad_strong": lambda a, b: a, "sdgrad_finite": lambda a: mp.mpf(1),
    "sdgrad_smooth_if": lambda a, b: a,
    "sqrt": mp.sqrt, "cbrt": mp.cbrt, "reciprocal": lambda x: 1 / x, "square": lambda x: x * x, "hypot": mp.hypot,
    "sdgrad_sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "sdgrad_sigmoid_slope": lambda x: mp.exp(-x) / (1 + mp.exp(-x)) ** 2,
    "sin": mp.sin, "cos": mp.cos, "sdgrad_sin": mp.sin, "sdgrad_cos": mp.cos,
    "tan": mp.tan, "asin": mp.asin, "acos": mp.acos, "atan": mp.atan, "atan2": mp.atan2,
    "sinh": mp.sinh, "cosh": mp.cosh, "tanh": mp.tanh, "asinh": mp.asinh, "acosh": mp.acosh, "atanh": mp.atanh,
    "deg2rad": mp.radians, "rad2deg": mp.degrees, "erf": mp.erf, "erfc": mp.erfc, "lgamma": mp.loggamma,
    "tgamma": mp.gamma, "sdgrad_polygamma": lambda a, b: mp.psi(int(a), b), "abs": abs, "fabs": abs, "sign": mp.sign,
    "copysign": lambda a, b: abs(a) * mp.sign(b), "sgn": mp.sign, "sign_numpy_2": mp.sign, "sdgrad_sign": mp.sign,
    "heaviside": lambda a, b: mp.mpf(a > 0), "floor": mp.floor, "ceil": mp.ceil, "ceiling": mp.ceil,
    "trunc": _truncated, "rint": mp.nint, "round": mp.nint, "iround": mp.nint, "ROUND": mp.nint,
    "py_mod": lambda a, b: a - b * mp.floor(a / b), "sdgrad_mod": lambda a, b: a - b * mp.floor(a / b),
    "remainder": lambda a, b: a - b * mp.nint(a / b), "c_mod": lambda a, b: a - b * _truncated(a / b),
    "fmod": lambda a, b: a - b * _truncated(a / b), "py_floor": _quotient(mp.floor), "int_floor": _quotient(mp.floor),
    "sdgrad_floor_divide": _quotient(mp.floor), "sdgrad_truncated_mod": lambda a, b: a - b * _truncated(a / b),
    "int_ceil": _quotient(mp.ceil), "nextafter": lambda a, b: a, "max": max, "fmax": max, "Max": max, "min": min,
    "sdgrad_maximum": max, "sdgrad_minimum": min, "sdgrad_larger": max, "sdgrad_smaller": min,
    "fmin": min, "Min": min, "isnan": lambda x: mp.mpf(0), "isinf": lambda x: mp.mpf(0),
    "isfinite": lambda x: mp.mpf(1), "sdgrad_is_finite": lambda x: mp.mpf(1),
    "sdgrad_is_no_infinity": lambda x: mp.mpf(1),
    "sdgrad_acos_ratio": lambda x: mp.acos(x) / mp.sqrt(1 - x * x), "signbit": lambda x: mp.mpf(x < 0),
}  # fmt: skip

TABULATED = [n for row in ROWS for n in (row.name, *row.aliases)]  # special functions have tests of their own
CALLABLE = [n for n in TABULATED if n not in NOT_IN_CPP | COMPLEX | CONSTANT]


def test_every_name_that_cpp_can_call_has_a_value_to_compare_with():
    assert set(CALLABLE) <= set(VALUES)
    assert set(RULES) >= NOT_IN_CPP | COMPLEX | NOT_IN_HALF


def samples(name: str, dtype: dace.typeclass) -> list[np.ndarray]:
    """Points of a row's domain; the first argument of polygamma functions is their order."""
    rule, rng = RULES[name], np.random.default_rng(len(name) + ord(name[0]))
    columns = [rng.uniform(low, high, POINTS).astype(dtype.type) for low, high in rule.domain]
    return [columns[0] + np.arange(POINTS, dtype=dtype.type) % 3, columns[1]] if name == "sdgrad_polygamma" else columns


def differentiable(name: str) -> tuple[int, ...]:
    """Positions of the arguments to differentiate by."""
    return (1,) if name == "sdgrad_polygamma" else tuple(range(RULES[name].arity))


def derivative(name: str, point, orders: tuple[int, ...]):
    """A partial derivative of a named function by differences of 40 digits and more."""
    if not any(orders):
        return VALUES[name](*point)
    if name == "sdgrad_polygamma":
        return mp.psi(int(point[0]) + orders[1], point[1])
    with mp.workdps(60):
        at, n = (tuple(point), orders) if len(point) == 2 else (point[0], orders[0])
        return mp.diff(VALUES[name], at, n)


def table(name: str, columns, orders: tuple[int, ...]) -> np.ndarray:
    with mp.workdps(40):
        points = zip(*(map(mp.mpf, map(float, c)) for c in columns), strict=True)
        return np.array([float(mp.re(derivative(name, p, orders))) for p in points])


# First derivatives by the engine ---------------------------------------------------------------------


def graph(rows: dict[str, tuple[str, int]], dtype: dace.typeclass) -> dace.SDFG:
    """One map with one tasklet for each row: ``out_<row> = code``, a row being its code and number of arguments."""
    sdfg = dace.SDFG(f"sweep_{dtype.to_string()}")
    state = sdfg.add_state()
    for name, (source, arity) in rows.items():
        inputs = {"x": f"in0_{name}"} if arity == 1 else {"a": f"in0_{name}", "b": f"in1_{name}"}
        for array in (*inputs.values(), f"out_{name}"):
            sdfg.add_array(array, [POINTS], dtype)
        loads = {connector: Memlet(f"{array}[i]") for connector, array in inputs.items()}
        stores = {"out": Memlet(f"out_{name}[i]")}
        state.add_mapped_tasklet(name, {"i": f"0:{POINTS}"}, loads, source, stores, external_edges=True)
    return sdfg


def run(rows, columns, wrt, dtype):
    """Values and gradients of all rows, from one compiled program."""
    sdfg = graph(rows, dtype)
    inputs = [f"in{k}_{n}" for n in rows for k in wrt[n]]
    outputs = [f"out_{n}" for n in rows]
    sdgrad.add_backward_pass(sdfg, inputs, outputs)
    values = {f"in{k}_{n}": c.copy() for n in rows for k, c in enumerate(columns[n])}
    values |= {o: np.zeros(POINTS, dtype.type) for o in outputs}
    values |= gradients(inputs, values)
    return call(sdfg, {**values, **{f"gradient_{o}": np.ones(POINTS, dtype.type) for o in outputs}})


def differs(found, wanted, dtype) -> bool:
    """By element, except in half precision, where a result can cancel and nothing is left of it."""
    size = np.abs(wanted) + 1e-3 * max(1.0, float(np.max(np.abs(wanted))))
    if dtype is dace.float16:
        size = max(1.0, float(np.max(np.abs(wanted))))
    return not np.all(np.abs(found.astype(float) - wanted) <= TOLERANCES[dtype] * size)


def wrong(found, names, columns, dtype) -> list[str]:
    """Names of the values and partials that are not mpmath's."""
    bad = []
    for n in names:
        zeros = (0,) * RULES[n].arity
        values = {} if n in INTEGER else {n: (found[f"out_{n}"], zeros)}
        orders = {k: (*zeros[:k], 1, *zeros[k + 1 :]) for k in differentiable(n)}
        slopes = {f"d{n}/d{k}": (found[f"gradient_in{k}_{n}"], o) for k, o in orders.items()}
        pairs = (values | slopes).items()
        bad += [what for what, (got, o) in pairs if differs(got, table(n, columns[n], o), dtype)]
    return bad


GAMMA = ("lgamma", "tgamma", "sdgrad_polygamma")


def batches(names):
    """The names in a few parts; those that need the library's own C++ are the last."""
    others = [n for n in names if n not in GAMMA]
    return [others[0::2], others[1::2], [n for n in names if n in GAMMA]]


BATCHES = batches(CALLABLE)


@pytest.mark.parametrize("dtype", TOLERANCES, ids=lambda d: d.to_string())
@pytest.mark.parametrize("batch", range(len(BATCHES)))
def test_first_derivatives(batch, dtype):
    names = [n for n in BATCHES[batch] if dtype is not dace.float16 or n not in NOT_IN_HALF]
    if not names:
        assert dtype is dace.float16
        return
    columns = {n: samples(n, dtype) for n in names}
    rows = {n: (f"out = {n}({', '.join(RULES[n].arguments)})", RULES[n].arity) for n in names}
    found = run(rows, columns, {n: differentiable(n) for n in names}, dtype)
    assert wrong(found, names, columns, dtype) == []


# Second derivatives: the rows' own text, differentiated by the engine and evaluated by Python ----------

SMOOTH = [n for n in dict.fromkeys(r.name for r in ROWS) if n not in COMPLEX and any(RULES[n].partials)]


def row_text(name: str, k: int) -> str:
    """The partial of a canonical row, with the result it may mention."""
    operator = {"div": "a / b", "square": "x * x"}.get(name)
    result = operator or f"{name}({', '.join(RULES[name].arguments)})"
    return f"y = {result}\nout = {RULES[name].partials[k]}"


@pytest.mark.parametrize("batch", range(3))
def test_second_derivatives(batch):
    cases = {f"{n}_{k}": (n, k) for n in batches(SMOOTH)[batch] for k in differentiable(n) if RULES[n].partials[k]}
    columns = {c: samples(n, dace.float64) for c, (n, _) in cases.items()}
    rows = {c: (row_text(n, k), RULES[n].arity) for c, (n, k) in cases.items()}
    found = run(rows, columns, {c: differentiable(n) for c, (n, _) in cases.items()}, dace.float64)
    for c, (n, k) in cases.items():
        for by in differentiable(n):
            orders = [0] * RULES[n].arity
            orders[k] += 1
            orders[by] += 1
            wanted = table(n, columns[c], tuple(orders))
            assert_close(found[f"gradient_in{by}_{c}"], wanted, 1e-8, f"derivative of d{n}/d{k} by {by}")


@pytest.mark.parametrize("name", SMOOTH)
def test_text_of_a_row_is_the_derivative(name):
    """To 30 digits: constants in the table are doubles, so their rows are held to 15."""
    rule, digits = RULES[name], 15
    columns = samples(name, dace.float64)
    scope = {**VALUES, **vars(math), "sign": mp.sign, **{n: getattr(mp, n) for n in ("exp", "log", "sqrt", "sin", "cos",
             "sinh", "cosh", "floor")}, "trunc": _truncated, "__builtins__": {}}  # fmt: skip
    with mp.workdps(40):
        for point in zip(*(map(mp.mpf, map(float, c)) for c in columns), strict=True):
            y = VALUES[name](*point)
            for k in differentiable(name):
                orders = tuple(int(j == k) for j in range(rule.arity))
                text = rule.partials[k] or "0"
                found = eval(text, scope, {**dict(zip(rule.arguments, point, strict=True)), "y": y})  # noqa: S307
                wanted = derivative(name, point, orders)
                assert abs(found - wanted) <= mp.mpf(10) ** -digits * max(1, abs(wanted)), (text, point)


# Complex numbers -------------------------------------------------------------------------------------


def parts_and_conjugate(z):
    return np.sum(np.real(np.conj(z) * z * z) + 2.0 * np.imag(z) * np.imag(z) + np.real(z) * np.abs(z))


def test_rows_of_complex_functions():
    rng = np.random.default_rng(0)
    z = rng.standard_normal(5) + 1j * rng.standard_normal(5)
    found = sdgrad.grad(parts_and_conjugate)(z)
    h = 1e-6
    by_x, by_y = ((parts_and_conjugate_each(z + s) - parts_and_conjugate_each(z - s)) / (2 * h) for s in (h, 1j * h))
    assert_close(found, by_x + 1j * by_y, 1e-7, "gradient")


def parts_and_conjugate_each(z):
    return np.array([parts_and_conjugate(z[k : k + 1]) for k in range(len(z))])


# Kinks -----------------------------------------------------------------------------------------------

KINKS = {  # row: (arguments, gradient)
    "abs": ((0.0,), (0.0,)),
    "fabs": ((-0.0,), (0.0,)),
    "copysign": ((0.0, -2.0), (0.0, 0.0)),
    "max": ((1.5, 1.5), (0.5, 0.5)),
    "fmax": ((-1.0, -1.0), (0.5, 0.5)),
    "min": ((1.5, 1.5), (0.5, 0.5)),
    "fmin": ((0.0, 0.0), (0.5, 0.5)),
    "hypot": ((0.0, 0.0), (0.0, 0.0)),
    "pow": ((0.0, 2.0), (0.0, 0.0)),
    "np_float_pow": ((0.0, 1.0), (1.0, 0.0)),
}


def test_every_kink_in_the_table_has_a_case():
    assert {r.name for r in ROWS if r.kink} <= set(KINKS)


def test_kinks():
    rows = {n: (f"out = {n}({', '.join(RULES[n].arguments)})", RULES[n].arity) for n in KINKS}
    columns = {n: [np.full(POINTS, v) for v in point] for n, (point, _) in KINKS.items()}
    found = run(rows, columns, {n: differentiable(n) for n in KINKS}, dace.float64)
    for n, (_, wanted) in KINKS.items():
        got = tuple(float(found[f"gradient_in{k}_{n}"][0]) for k in range(len(wanted)))
        assert got == wanted, n


def weighted_roots(x, m):
    return np.sum(np.sqrt(x) * m) + np.sum(np.log(x + 1.0) * m)


def weighted_logs(x, m):
    y = np.log(x)
    return np.sum(np.where(m > 0, y, 0.0))


def weighted_powers(x, m):
    y = x**0.25
    return np.sum(y * m)


ZERO = (np.array([0.0, 4.0]), np.array([0.0, 1.0]))


@pytest.mark.parametrize(
    ("function", "slope"), [(weighted_roots, 0.25 + 0.2), (weighted_logs, 0.25), (weighted_powers, 0.25 * 4**-0.75)]
)
def test_a_cotangent_of_zero_passes_nothing_on(function, slope):
    np.testing.assert_allclose(sdgrad.grad(function)(*ZERO), [0.0, slope], rtol=1e-12)


def test_without_strong_zero_it_is_multiplied():
    found = sdgrad.grad(weighted_roots, strong_zero=False)(*ZERO)
    assert np.isnan(found[0])
    assert np.isclose(found[1], 0.45)


def test_an_infinite_slope_stays_infinite():
    assert sdgrad.grad(weighted_roots)(np.array([0.0, 4.0]), np.ones(2))[0] == np.inf


# Registration ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (ScalarRule("softsign_like", ("1",), ()), "'softsign_like' needs a test domain for each of its 1 arguments"),
        (ScalarRule("two_like", ("1", "1"), ((0, 1),)), "each of its 2 arguments"),
        (replace(RULES["exp"]), "'exp' is registered twice"),
        (ScalarRule("new_like", ("1",), ((0, 1),), aliases=("sin",)), "'sin' is registered twice"),
    ],
)
def test_a_row_that_cannot_be_tested_or_hides_another_is_refused(rule, message):
    before = dict(RULES)
    try:
        with pytest.raises(ValueError, match=message):
            register(rule)
        assert before == RULES
    finally:
        RULES.clear()
        RULES.update(before)


def test_a_row_of_the_user():
    partials = ("1.0 if a > b else 0.0", "-1.0 if a > b else 0.0")
    sdgrad.register_scalar_rule(ScalarRule("fdim", partials, ((-3, 3), (-3, 3))))
    try:
        a, b = np.linspace(-1, 1, POINTS), np.linspace(1, -1, POINTS) ** 2
        found = run({"fdim": ("out = fdim(a, b)", 2)}, {"fdim": [a, b]}, {"fdim": (0, 1)}, dace.float64)
        assert np.array_equal(found["gradient_in0_fdim"], (a > b) * 1.0)
        assert np.array_equal(found["gradient_in1_fdim"], (a > b) * -1.0)
    finally:
        del RULES["fdim"]
