# ruff: noqa: E501 - one row of the table a test

"""NumPy functions inside DaCe programs: every expression of a table against NumPy's value, shape and dtype.

The expressions of one row become one program, because compiling costs more than running.
"""

import ast
import hashlib
import importlib.util
import math

import dace
import numpy as np
import pytest
import scipy.special
from graphs import call
from numpy_operands import INPUTS, normal

import sdgrad.frontend.replacements

N = dace.symbol("N")
ONE = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "sqrt",
    "cbrt",
    "reciprocal",
    "square",
    "abs",
    "absolute",
    "fabs",
    "sign",
    "floor",
    "ceil",
    "rint",
    "trunc",
    "fix",
    "round",
    "around",
    "deg2rad",
    "rad2deg",
    "degrees",
    "radians",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arctanh",
    "conj",
    "conjugate",
    "real",
    "imag",
    "angle",
    "positive",
    "negative",
    "isnan",
    "isinf",
    "isfinite",
    "sinc",
    "nan_to_num",
    "logical_not",
    "signbit",
]
TWO = [
    "arctan2",
    "hypot",
    "logaddexp",
    "logaddexp2",
    "float_power",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "fmod",
    "mod",
    "remainder",
    "copysign",
    "heaviside",
    "add",
    "subtract",
    "multiply",
    "divide",
    "true_divide",
    "floor_divide",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
]
OPERATORS = ["+", "-", "*", "/", "//", "%", ">", "<=", "==", "!="]


def _calls(names, arguments, prefix="np."):
    return [f"{prefix}{name}({arguments})" for name in names]


TABLE = {
    "one operand float64": [*_calls(ONE, "B"), "np.arccosh(B + 1)", "np.round(A * 10, 1)", "np.rint(H)", "np.round(H)"],
    "one operand float32": [*_calls(ONE, "G"), "np.arccosh(G + 1)", "A.round(1)", "np.round(A * 100, -1)", "np.fix(A)"],
    "one operand scalar": [*_calls(ONE, "s"), "np.arccosh(t)", "np.exp(i)", "np.sqrt(f)"],
    "one operand integer": _calls(["exp", "sqrt", "square", "abs", "sign", "floor", "ceil", "rint", "trunc", "positive", "negative", "cbrt"], "I"),
    "two operands float64": [*_calls(TWO, "A, B"), "np.power(B, A)"],
    "two operands float32": [*_calls(TWO, "F, G"), "np.power(G, F)", "np.floor_divide(2.5, G)"],
    "two operands mixed": [*_calls(TWO, "s, t"), *_calls(["logaddexp", "add", "hypot", "maximum"], "I, J"), "np.power(I, 2)",
        "np.bitwise_and(I, J)", "np.left_shift(J, 2)", "np.ldexp(A, J)", "np.logaddexp(A * 1000, 0.0)"],
    "ufunc keywords": ["np.add(A, B, dtype=np.float32)", "np.divmod(A, B)", "np.modf(A)", "np.add.outer(v, w)",
        "np.maximum.outer(v, w)", "np.add.reduce(A)", "np.add.reduce(A, axis=None)", "np.multiply.reduce(A, axis=1)",
        "np.maximum.reduce(A, axis=0, keepdims=True)", "np.logical_and.reduce(K)", "np.add.accumulate(A, axis=-1)",
        "np.maximum.accumulate(v)"],
    "operators float64": [f"A {o} B" for o in OPERATORS] + ["A + v", "c * r", "v + c", "B ** A", "A ** 2", "B ** -1",
        "B ** 0.5", "2 ** A", "1 - A", "5 // B", "-A", "+A", "A ** 0", "s ** 3", "s // t", "s > t", "-s", "2 - s"],
    "operators float32": [f"F {o} 2" for o in OPERATORS] + ["F * 2.5", "2.5 / G", "F + f", "F * s", "F ** 2", "G ** 0.5",
        "F + I", "F + J", "f + 1", "f * 2.5", "F // 2.0"],
    "operators integer": [f"I {o} J" for o in OPERATORS] + ["I ** 2", "I * 1.5", "J * 2", "J * F", "I // -2", "I % -3",
        "I & J", "I ^ J", "~I", "I << 1", "K & K", "~K", "K + K", "K * A", "i ** 2", "i / 2", "i % 2", "2 ** i", "J + f"],
    "math": [*_calls(["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "atanh", "exp", "expm1", "log", "log2", "log10", "log1p", "sqrt", "fabs", "floor", "ceil", "trunc", "erf", "erfc", "gamma", "lgamma", "degrees", "radians", "cbrt", "exp2", "isnan"], "s", "math."), "math.acosh(t)",
        "math.log(t, s)", "math.pow(s, t)", "math.atan2(s, t)", "math.hypot(s, t)", "math.copysign(s, -t)",
        "math.fmod(t, s)", "s * math.pi", "s * math.e", "math.sin(A[1, 2])", "math.sqrt(2.0) * s", "math.exp(i)",
        "math.sqrt(f)", "min(s, math.inf)", "math.trunc(-t)"],
    "scipy": [f"scipy.special.{n}({a})" for n, a in (("erf", "A"), ("erfc", "A"), ("gammaln", "B"), ("gamma", "B"),
        ("expit", "A"), ("logit", "B"), ("xlogy", "B, B"), ("erf", "F"), ("erf", "s"))],
    "selection": ["np.clip(A, -0.5, 0.5)", "A.clip(-0.5, 0.5)", "np.clip(A, None, 0.5)", "A.clip(min=0)", "np.clip(A, 0, None)",
        "np.clip(A, B - 1, B)", "np.clip(A, min=0, max=1)", "np.clip(F, -0.5, 0.5)", "np.clip(I, -2, 2)", "np.clip(A, r, 1)",
        "np.where(A > 0, A, B)", "np.where(A > 0, A, 0)", "np.where(A > 0, 1.0, 0.0)", "np.where(K, F, 0.5)",
        "np.where(v > 0, A, c)", "np.where(s > 0, A, B)", "np.where(s > t, s, t)", "np.where(K, I, A)",
        "np.select([A > 0, A > -1], [A, 2 * A], 1.5)", "np.select([K], [F], 0)", "np.nan_to_num(E, nan=3.0)",
        "np.interp(A, L, v)", "np.interp(s, L, v)"],
    "complex": ["np.real(Z)", "np.imag(Z)", "Z.real", "Z.imag", "Z.conj()", "np.angle(Z)", "np.abs(Z)", "A.real", "A.imag",
        "np.exp(Z)", "np.vdot(Z, Z)", "np.var(Z)", "np.linalg.norm(Z)", "Z * 2", "np.sum(Z, axis=0)"],
    "sums": ["np.sum(A)", "np.sum(A, axis=0)", "np.sum(A, axis=-1)", "np.sum(T, axis=(0, 2))", "np.sum(T, axis=(-1, 0))",
        "np.sum(A, axis=1, keepdims=True)", "np.sum(A, keepdims=True)", "np.sum(I)", "np.sum(J, axis=0)", "np.sum(K, axis=0)",
        "np.sum(F)", "np.sum(F, dtype=np.float64)", "np.sum(A * B)", "np.prod(A)", "np.prod(A, axis=1, keepdims=True)",
        "np.prod(J)", "A.sum()", "A.sum(0)", "A.sum(axis=(0, 1))", "A.prod(axis=0)", "(A * B).sum(axis=1)",
        "A[1:3].sum(axis=0)", "np.sum(A[:, ::2], axis=0)", "np.sum(A.T, axis=0)", "np.sum(A, initial=2.0)",
        "np.nansum(E)", "np.nanprod(A, axis=0)", "np.count_nonzero(I)", "np.count_nonzero(A > 0, axis=0)", "sum(v)"],
    "means": ["np.mean(A)", "np.mean(A, axis=0)", "np.mean(T, axis=(0, 2), keepdims=True)", "np.mean(I, axis=-1)", "np.mean(F)",
        "np.mean(K)", "A.mean(1)", "A.mean(axis=1, keepdims=True)", "J.mean()", "np.std(A)", "np.std(A, axis=1, ddof=1)",
        "np.std(A, keepdims=True)", "np.var(T, axis=(0, 1))", "np.var(I)", "np.var(F, axis=0)", "A.std(axis=0, ddof=1)",
        "A.var(axis=1, keepdims=True)", "np.average(A)", "np.average(A, weights=B)", "np.average(A, axis=1, weights=v)",
        "np.average(A, axis=0, weights=B)", "np.nanmean(A)"],
    "extrema": ["np.max(A)", "np.max(A, axis=-1)", "np.amax(A, axis=1, keepdims=True)", "np.min(J, axis=0)", "np.max(F)",
        "np.min(T, axis=(0, 2))", "np.max(A, initial=0.5)", "A.max(axis=1, keepdims=True)", "A.min(0)", "np.ptp(A, axis=0)",
        "np.nanmax(E)", "np.nanmin(E)", "np.any(K, axis=0)", "np.all(A > -9, axis=0, keepdims=True)", "np.any(A)", "K.all(axis=0)",
        "np.argmax(A)", "np.argmin(A, axis=-1)", "np.argmax(np.round(A), axis=0)", "A.argmin(axis=1)", "np.argmax(I, axis=1)",
        "np.max(-np.inf + A)"],
    "norms": ["np.linalg.norm(v)", "np.linalg.norm(v, 1)", "np.linalg.norm(v, np.inf)", "np.linalg.norm(v, 3)", "np.linalg.norm(v, 0)",
        "np.linalg.norm(A)", "np.linalg.norm(A, 'fro')", "np.linalg.norm(A, 1)", "np.linalg.norm(A, -np.inf)",
        "np.linalg.norm(A, axis=0, keepdims=True)", "np.linalg.norm(A, ord=1, axis=1)", "np.linalg.norm(F)", "np.linalg.norm(T)",
        "np.linalg.norm(I)", "np.linalg.norm(T, axis=(0, 1))"],
    "scans": ["np.cumsum(v)", "np.cumsum(A)", "np.cumsum(A, axis=0)", "np.cumsum(T, axis=1)", "np.cumprod(A, axis=1)", "np.cumsum(J)",
        "A.cumsum(axis=0)", "A.cumprod(axis=-1)", "np.cumsum(A[:, 1])", "np.cumsum(K)", "np.diff(v)", "np.diff(A, axis=0)",
        "np.diff(A, n=2)", "np.diff(T, axis=1)", "np.trace(S)", "np.trace(A)", "np.trace(S, offset=1)", "np.trace(T)", "S.trace()",
        "np.trapezoid(v)", "np.trapezoid(A, dx=0.1)", "np.trapezoid(v, L)", "np.trapezoid(A, axis=0)"],
    "reshape": ["A.reshape(20)", "A.reshape(-1, 2)", "A.reshape((2, 10))", "np.reshape(A, 20)", "np.reshape(A, (10, -1))",
        "A.T.reshape(20)", "A[:, 1:3].reshape(8)", "np.reshape(A, (5, 4), order='F')", "A.ravel()", "A.ravel('F')", "A.T.ravel()",
        "np.ravel(A)", "A.flatten()", "np.squeeze(c)", "np.squeeze(r, 0)", "np.expand_dims(A, (0, 2))", "np.atleast_1d(s)",
        "np.atleast_2d(v)", "v[:, None] * w[None, :]", "A[:, :, None] * u", "A[None]", "A[..., None]",
        "A.reshape(2, 2, 5).sum(axis=1)", "np.broadcast_to(v, (2, 4, 5))", "np.broadcast_to(s, (3,))", "np.zeros(np.shape(A))"],
    "axes": ["A.T", "T.T", "np.transpose(T, (1, 0, 2))", "T.transpose(2, 0, 1)", "T.transpose((0, 2, 1))", "np.transpose(T, (-1, 0, 1))",
        "T.swapaxes(0, 2)", "np.moveaxis(T, 0, -1)", "np.moveaxis(T, (0, 1), (1, 2))", "np.tile(v, 3)", "np.tile(A, (2, 1, 2))",
        "np.repeat(A, 2)", "np.repeat(A, 2, axis=-1)", "A.repeat(2, axis=0)", "np.flip(A)", "np.flip(T, (0, 2))", "np.fliplr(A)",
        "np.roll(v, 2)", "np.roll(A, -1, axis=1)", "np.roll(A, 1)", "np.roll(A, (1, 2), axis=(0, 1))", "np.rot90(A)", "np.rot90(A, 2)",
        "np.rot90(A, -1)", "np.triu(S, 1)", "np.tril(A, -1)", "np.tril(T)", "np.diag(v, 1)", "np.diag(A, -1)", "np.diagonal(S, 1)",
        "np.diagonal(T, axis1=0, axis2=1)", "np.take(A, [0, 2], axis=1)"],
    "joining": ["np.concatenate((A, B), axis=-1)", "np.concatenate((A, B), axis=None)", "np.concatenate((F, A))", "np.stack((A, B), axis=-1)",
        "np.vstack((A, v))", "np.hstack((v, w))", "np.column_stack((A, w))", "np.dstack((A, B))", "np.append(v, s)", "np.split(A, 2)",
        "np.pad(A, ((1, 2), (0, 1)))", "np.pad(A, 1, mode='edge')", "np.pad(A, 1, mode='reflect')", "np.pad(v, 2, mode='symmetric')",
        "np.pad(v, 1, mode='wrap')", "np.pad(A, 1, 'constant', constant_values=3.0)", "np.array([s, 2.0, t])", "np.array([[s, t], [t, s]])",
        "np.array([v, v])", "np.meshgrid(v, w)", "np.concatenate((A[:, 1:], A[:, :1]), axis=1)"],
    "negative steps": ["v[::-1]", "v[5:1:-2]", "A[::-1]", "A[:, ::-1]", "A[::-1, ::-1]", "v[3::-1]", "v[-1:-4:-1]", "v[::-2]", "A[1, ::-1]",
        "A[::-1, 2]", "v[::-1] + v", "A[::-1].sum(axis=0)", "T[:, ::-1, 1]", "v[1:4][::-1]", "(A * B)[::-1]", "A[None, ::-1]",
        "A[..., ::-1]", "v[:, None][:, ::-1]", "A[::-1, :1]"],
    "slices of one element": ["A[:, :1]", "A[1:2, 1:2]", "A[1:2, 1]", "A[1:2]", "A[:, 1:2, None]", "c[1:3]", "c[2]", "A[:, :1] + A",
        "A[:, :1] @ r", "A[2:3].T", "T[:1, :, 1:2]", "v[2:3]", "A[-1]", "A[1:-1, 1:-1]"],
    "slices of no element": ["np.sum(v[:0])", "A[:0].sum(axis=0)", "A[:, :0].sum(axis=1)", "A[:, :0] @ B[:0]", "np.prod(v[2:1])",
        "np.concatenate((v[:0], w[3:9]))", "np.sum(v[-2:1]) + s", "np.sum(A[7:9, 1:])", "np.sum(v[:-9])", "np.sum(v[0:0:2] * v[3:3])",
        "np.sum(A[:0, 2:3]) + t", "A[2:3, :0] @ B[:0]"],
    "products": ["np.outer(v, w)", "np.inner(A, B)", "np.vdot(A, B)", "np.kron(A, S)", "np.kron(v, A)", "np.dot(v, v)", "np.dot(A, 2.0)",
        "np.dot(T, v)", "np.dot(A, U)", "A.dot(P)", "v @ v", "A @ v", "w @ A", "A @ P", "T @ v", "T @ U", "T @ P", "A @ U", "w @ T",
        "F @ F.T", "I @ v", "A[:, :3] @ u", "np.cross(u, x)", "np.cross(A[:, :3], u)", "np.linalg.matrix_power(S, 3)",
        "np.linalg.multi_dot([A, P, u])", "r @ A.T", "A @ r.T", "c @ r", "np.linalg.solve(S, w)", "np.linalg.solve(S, A)"],
    "tensors": ["np.tensordot(A, P, 1)", "np.tensordot(A, B)", "np.tensordot(v, w, 0)", "np.tensordot(T, U, axes=([2], [1]))",
        "np.tensordot(A, A, axes=(-1, -1))", *(f'np.einsum("{e}")'.replace('")', f'", {a})') for e, a in (
            ("ij,jk->ik", "A, P"), ("ij->ji", "A"), ("ii->i", "S"), ("ii", "S"), ("ij,ij->", "A, B"), ("bij,bjk->bik", "T, U"),
            ("ij,j->i", "A, v"), ("bij,bij->b", "T, T"), ("ij,jk,k->i", "A, P, u"), ("ij,ij->ij", "A, B"), ("ij,kj->ki", "A, B"),
            ("i,ij,j->", "w, A, v"), ("i,j", "v, w")))],
    "creation": ["np.zeros_like(A)", "np.ones_like(F)", "np.full_like(I, 2)", "np.zeros((2, 3))", "np.full((2, 3), 1.5)", "np.full(3, s)",
        "np.eye(3, 4, 1)", "np.identity(3)", "np.arange(5) * s", "np.arange(1.0, 3.0, 0.5)", "np.arange(9, 2, -2)", "np.linspace(s, t, 4)",
        "np.linspace(0, 1, 5, endpoint=False)", "np.copy(A)", "A.copy()", "np.zeros(A.shape[0])", "np.tri(3)", "np.array(A)",
        "np.zeros_like(A, dtype=np.float32)", "np.linspace(0, 1, 5, dtype=np.float32)", "np.ones_like(A) * s"],
}  # fmt: skip

# Programs of several statements: (inputs, outputs by name of array written, body)
STATEMENTS = {
    "writes to negative steps": ("v A B w", """
        v[::-1] = 2 * v
        A[::-1, 1:3] = B[:, 1:3]
        A[0, ::-2] += 1.0
        w[2:0:-1] = 5.0
    """),
    "replacements inside a loop": ("A v", """
        for n in range(4):
            A[n] = A[n] - np.mean(A[n]) + np.cumsum(v) * n
            v[:] = v / np.linalg.norm(v)
    """),
    "decreasing slices inside a loop": (
        "A v",
        """
        for n in range(1, 4):
            A[n, :n] -= A[n, :n][::-1] * 0.5
            v[n] = A[n, n - 1::-1].sum() + A[:n, n - 1] @ A[:n, n] * n
    """,
    ),
    "overlapping out": (
        "A",
        """
        np.add(A[:-1], 1.0, out=A[1:])
    """,
    ),
    "branches and while": (
        "A v",
        """
        n = 0
        while n < 3:
            v[:] = np.roll(v, 1) + np.mean(A)
            n = n + 1
        if np.sum(v) > 0:
            A[0] = np.cumsum(v)
        else:
            A[0] = np.flip(v)
    """,
    ),
    "views write through": ("A B", """
        flat = A.reshape(20)
        flat[3] = 7.0
        np.add(A, B, out=A)
    """),
}  # fmt: skip

ERRORS = {
    "np.sum(A, axis=2)": "numpy.sum: axis=2",
    "np.sum(A, where=K)": "numpy.sum:.*where",
    "np.linalg.norm(A, 2)": "numpy.linalg.norm: ord=2",
    "np.pad(A, 1, mode='linear_ramp')": "numpy.pad: mode='linear_ramp'",
    "np.reshape(A, (3, 7))": "numpy.reshape: shape",
    "np.where(A > 0)": "numpy.where: x and y",
    "np.subtract.reduce(A)": "numpy.subtract.reduce",
    "np.einsum('...ij->...ji', A)": "numpy.einsum: subscripts",
    "A + w": "operator Add: shapes",
    "A @ w": "operator @: the summed dimensions",
    "I ** -1": "negative integer powers",
    "math.sin(A)": "math.sin: x must be a scalar",
    "v[1:3:-1]": "empty",
}


def _program(folder, parameters, body):
    """A function from its text: DaCe reads the source of a program, so there must be a file."""
    name = f"replaced_{hashlib.sha1((parameters + body).encode()).hexdigest()[:12]}"
    path = folder / f"{name}.py"
    path.write_text(f"import math\nimport numpy as np\nimport scipy.special\n\ndef {name}({parameters}):\n{body}\n")
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return getattr(module, name)


def _inputs_of(text):
    return sorted({n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name) and n.id in INPUTS})


def _flat(results):
    if isinstance(results, (tuple, list)):
        return [leaf for part in results for leaf in _flat(part)]
    return [results]


def _check(expression, got, want):
    want = np.atleast_1d(np.asarray(want))  # DaCe returns scalars as arrays of one element
    assert got.shape == want.shape, expression
    assert got.dtype == want.dtype, expression
    tolerance = 1e-5 if want.dtype in (np.float32, np.complex64) else 1e-11
    np.testing.assert_allclose(got, want, tolerance, tolerance, equal_nan=True, err_msg=expression)


def _values(expression):
    with np.errstate(all="ignore"):
        return _flat(eval(expression, {"np": np, "math": math, "scipy": scipy}, INPUTS))  # noqa: S307


@pytest.mark.parametrize("row", TABLE)
def test_expressions(row, tmp_path):
    expressions = [f"{e}{part}" for e in TABLE[row] for part in _parts(e)]
    text = ", ".join(expressions)
    names = _inputs_of(f"({text})")
    program = dace.program(_program(tmp_path, ", ".join(names), f"    return {text}"))
    sdfg = program.to_sdfg(*(INPUTS[n].copy() for n in names), simplify=False)
    assert not sdfg.callback_mapping, row
    results = call(sdfg, {n: INPUTS[n].copy() for n in names}, fill=True)
    for expression, got in zip(expressions, _returned(results), strict=True):
        _check(expression, got, *_values(expression))


def _returned(values):
    """What a program returned, in order."""
    several = [values[f"__return_{k}"] for k in range(len(values)) if f"__return_{k}" in values]
    return several or [values["__return"]]


def _parts(expression):
    """Subscripts that pick the results of an expression one by one: a program returns a flat tuple."""
    count = len(_values(expression))
    return [""] if count == 1 else [f"[{k}]" for k in range(count)]


@pytest.mark.parametrize("row", STATEMENTS)
def test_statements(row, tmp_path):
    names, body = STATEMENTS[row]
    function = _program(tmp_path, ", ".join(names.split()), body.replace("\n    ", "\n"))
    got, want = ({n: INPUTS[n].copy() for n in names.split()} for _ in range(2))
    call(dace.program(function).to_sdfg(**got, simplify=False), got)
    function(**want)
    for name in names.split():
        _check(f"{name} of {row}", got[name], want[name])


def test_symbolic_sizes(tmp_path):
    expressions = ["np.mean(X, axis=0)", "np.cumsum(y)", "X[::-1]", "y[::-2]", "np.diff(y)", "np.outer(y, y)", "X.reshape(-1)", "X.T @ y",
        "np.linalg.norm(X, axis=1, keepdims=True)", "np.roll(y, 1)", "np.tile(y, 2)", "np.concatenate((y, y))", "np.argmax(y)",
        "np.diag(y)", "np.std(X)", "y * y.shape[0]"]  # fmt: skip
    function = _program(tmp_path, "X, y", f"    return {', '.join(expressions)}")
    function.__annotations__ = {"X": dace.float32[N, 3], "y": dace.float32[N]}
    data = {"X": normal(6, 3).astype("f4"), "y": normal(6).astype("f4")}
    results = call(dace.program(function).to_sdfg(simplify=False), {**data, "N": 6}, fill=True)
    for expression, got, want in zip(expressions, _returned(results), function(**data), strict=True):
        _check(expression, got, want)


@pytest.mark.parametrize("expression", ERRORS)
def test_errors_name_the_function_and_the_argument(expression, tmp_path):
    names = _inputs_of(expression)
    program = dace.program(_program(tmp_path, ", ".join(names), f"    return {expression}"))
    with pytest.raises(Exception, match=ERRORS[expression]):
        program.to_sdfg(*(INPUTS[n] for n in names))


def test_importing_again_changes_nothing():
    from dace.frontend.common.op_repository import Replacements
    from dace.frontend.python.newast import ProgramVisitor

    visit, count = ProgramVisitor.visit_Subscript, len(Replacements._rep)
    importlib.reload(importlib.import_module("sdgrad.frontend.replacements.slicing"))
    importlib.reload(sdgrad.frontend.replacements)
    assert ProgramVisitor.visit_Subscript is visit
    assert len(Replacements._rep) == count
