"""Element-wise functions that are not universal functions of NumPy: selection, rounding, parts, ``math``, ``scipy``."""

import math

import numpy as np

from sdgrad.frontend.replacements.emit import Emitter
from sdgrad.frontend.replacements.operands import single, static_int
from sdgrad.frontend.replacements.promotion import common_type, inexact_type, real_type
from sdgrad.frontend.replacements.register import numpy_function
from sdgrad.frontend.replacements.ufunc_table import MATH, MATH_TO_BOOLEAN, MATH_TO_INTEGER, SCIPY
from sdgrad.frontend.replacements.ufuncs import apply_ufunc

# Selection


@numpy_function("clip", method="clip")
def clip(emitter, a, a_min=None, a_max=None, *, min=None, max=None):
    low, high = (first if first is not None else second for first, second in ((a_min, min), (a_max, max)))
    if low is None and high is None:
        return emitter.compute("copy", "{0}", [a])
    if high is None:
        return apply_ufunc(emitter, "maximum", [a, low])
    if low is None:
        return apply_ufunc(emitter, "minimum", [a, high])
    operands = [emitter.operand(x, n) for x, n in ((a, "a"), (low, "a_min"), (high, "a_max"))]
    dtype = common_type([o.kind for o in operands])
    return emitter.compute("clip", "min(max({0}, {1}), {2})", operands, dtype)


@numpy_function("sdgrad.stop_gradient", "sdgrad.detach")
def stop_gradient(emitter, x):
    operand = emitter.operand(x)
    return operand.value if operand.is_number else emitter.compute("stop_gradient", "sdgrad_detached({0})", [operand])


@numpy_function("where")
def where(emitter, condition, x=None, y=None):
    if x is None or y is None:
        raise TypeError(f"{emitter.function}: x and y are required, because the number of true elements is not known")
    mask, left, right = emitter.operand(condition, "condition"), emitter.operand(x, "x"), emitter.operand(y, "y")
    if mask.is_number:
        either = [left, right]
        if left.is_number and right.is_number:
            return (left if mask.value else right).value
        template = "{0}" if mask.value else "{1}"
        return emitter.compute("where", template, either, common_type([o.kind for o in either]))
    dtype = common_type([left.kind, right.kind])
    return emitter.compute("where", "{1} if {0} else {2}", [mask, left, right], dtype, None, [mask.dtype, dtype, dtype])


@numpy_function("select")
def select(emitter, condlist, choicelist, default=0):
    # The visitor unwraps lists of one
    condlist, choicelist = ([c] if isinstance(c, str) else c for c in (condlist, choicelist))
    if not isinstance(condlist, (list, tuple)) or len(condlist) != len(choicelist) or not condlist:
        raise ValueError(f"{emitter.function}: condlist and choicelist must be lists of one length")
    masks = [emitter.operand(c, "condlist") for c in condlist]
    choices = [emitter.operand(c, "choicelist") for c in (*choicelist, default)]
    dtype = common_type([c.kind for c in choices])
    count = len(masks)
    chain = " else ".join(f"({{{count + k}}}) if {{{k}}}" for k in range(count)) + f" else {{{2 * count}}}"
    return emitter.compute(
        "select", chain, masks + choices, dtype, None, [m.dtype for m in masks] + [dtype] * (count + 1)
    )


# Rounding


@numpy_function("round", "around", "round_", method="round")
def round_(emitter, a, decimals=0):
    operand = emitter.operand(a, "a")
    decimals = static_int(decimals, emitter.function, "decimals")
    if operand.dtype.kind in "iub" and decimals >= 0:
        return emitter.compute("round", "{0}", [operand])
    if operand.dtype.kind != "f":
        raise TypeError(f"{emitter.function}: a must be real, not {operand.dtype}, for decimals={decimals}")
    scale = repr(10.0 ** abs(decimals))
    template = f"rint({{0}} * {scale}) / {scale}" if decimals > 0 else f"rint({{0}} / {scale}) * {scale}"
    return emitter.compute("round", template if decimals else "rint({0})", [operand])


@numpy_function("fix")
def fix(emitter, x):
    return apply_ufunc(emitter, "trunc", [x])


# Parts of complex numbers


def _part(emitter: Emitter, a, name: str):
    operand = emitter.operand(a, "val")
    if operand.dtype.kind == "c":
        return emitter.compute(name, f"{name}({{0}})", [operand], real_type(operand.dtype), None, [operand.dtype])
    if name == "imag":
        return emitter.compute("imag", "0", [operand])
    return operand.container or operand.value


@numpy_function("real", attribute="real")
def real(emitter, val):
    return _part(emitter, val, "real")


@numpy_function("imag", attribute="imag")
def imag(emitter, val):
    return _part(emitter, val, "imag")


@numpy_function(method="conj")
def conj_method(emitter, a):
    return apply_ufunc(emitter, "conj", [a])


@numpy_function(method="conjugate")
def conjugate_method(emitter, a):
    return apply_ufunc(emitter, "conj", [a])


@numpy_function("angle")
def angle(emitter, z, deg=False):
    operand = emitter.operand(z, "z")
    dtype = real_type(inexact_type(operand.dtype))
    template = "atan2(imag({0}), real({0}))" if operand.dtype.kind == "c" else "3.141592653589793 if {0} < 0 else 0"
    result = emitter.compute("angle", template, [operand], dtype, None, [operand.dtype])
    return emitter.compute("degrees", "{0} * 57.29577951308232", [result]) if deg else result


# Special values


@numpy_function("sinc")
def sinc(emitter, x):
    operand = emitter.operand(x, "x")
    pi = repr(math.pi)
    template = f"1 if {{0}} == 0 else sin({pi} * {{0}}) / ({pi} * {{0}})"
    return emitter.compute("sinc", template, [operand], inexact_type(operand.dtype))


@numpy_function("nan_to_num")
def nan_to_num(emitter, x, copy=True, nan=0.0, posinf=None, neginf=None):
    operand = emitter.operand(x, "x")
    if operand.dtype.kind != "f":
        return emitter.compute("copy", "{0}", [operand])
    limits = np.finfo(operand.dtype)
    given = [nan, limits.max if posinf is None else posinf, limits.min if neginf is None else neginf]
    fillers = [emitter.operand(float(single(f))) for f in given]
    template = "{1} if isnan({0}) else (({2} if {0} > 0 else {3}) if isinf({0}) else {0})"
    return emitter.compute("nan_to_num", template, [operand, *fillers])


# Python's ``math`` and ``scipy.special``


def _double(emitter: Emitter, label, template, arguments, dtype=np.float64):
    operands = [emitter.operand(a, "x") for a in arguments]
    if any(o.shape for o in operands):
        raise TypeError(f"{emitter.function}: x must be a scalar, not an array of shape {operands[0].shape}")
    if all(o.is_number for o in operands):
        return getattr(math, label)(*(o.value for o in operands))
    return emitter.compute(label, template, operands, dtype, (), [np.dtype("float64")] * len(operands))


def _register_math(label: str, template: str, dtype):
    arity = 2 if "{1}" in template else 1

    @numpy_function(f"math.{label}")
    def function(emitter, *x):
        if len(x) != arity:
            raise TypeError(f"{emitter.function}: takes {arity} arguments, not {len(x)}")
        return _double(emitter, label, template, x, dtype)


for _table, _dtype in ((MATH, np.float64), (MATH_TO_INTEGER, np.int64), (MATH_TO_BOOLEAN, np.bool_)):
    for _label, _template in _table.items():
        _register_math(_label, _template, _dtype)


@numpy_function("math.log")
def log(emitter, x, base=None):
    return _double(emitter, "log", *(("log({0})", [x]) if base is None else ("log({0}) / log({1})", [x, base])))


def _register_special(label: str, template: str):
    arity = 2 if "{1}" in template else 1

    @numpy_function(f"scipy.special.{label}", f"scipy.special._ufuncs.{label}")
    def function(emitter, *x):
        operands = [emitter.operand(a, "x") for a in x]
        if len(operands) != arity:
            raise TypeError(f"{emitter.function}: takes {arity} arguments, not {len(operands)}")
        dtype = inexact_type(common_type([o.kind for o in operands]))
        return emitter.compute(label, template, operands, dtype)


for _label, _template in SCIPY.items():
    _register_special(_label, _template)


# Interpolation


@numpy_function("interp")
def interp(emitter, x, xp, fp):
    """Piecewise linear interpolation as a sum of clamped ramps, one for every interval of ``xp``.

    ``fp[0] + sum_k (fp[k+1] - fp[k]) * clamp((x - xp[k]) / (xp[k+1] - xp[k]), 0, 1)``: constant outside ``xp``.
    """
    x, xp, fp = (emitter.array(a, n) for a, n in ((x, "x"), (xp, "xp"), (fp, "fp")))
    if len(xp.shape) != 1 or len(fp.shape) != 1:
        raise ValueError(f"{emitter.function}: xp and fp must have one dimension")
    dtype = np.dtype("float64")
    ndim = len(x.shape)
    k = f"__i{ndim}"
    reads = [x.read_at(*(f"__i{n}" for n in range(ndim)))]
    reads += [o.read_at(at) for o in (xp, fp) for at in (k, f"{k} + 1")]
    template = "({4} - {3}) * min(max(({0} - {1}) / ({2} - {1}), 0.0), 1.0)"
    ramps = emitter.compute("interp", template, reads, dtype, (*x.shape, xp.shape[0] - 1))
    total = emitter.reduce("add", "lambda x, y: x + y", emitter.operand(ramps), (ndim,), 0)
    return emitter.compute("interp", "{0} + {1}", [total, fp.read_at("0")], dtype, x.shape)
