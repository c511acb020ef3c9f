"""Tasklet expressions of element-wise functions: ``{0}``, ``{1}``, ... are the operands, already of NumPy's loop type.

An expression uses only names that DaCe's code generator knows and that differentiation rules exist for.
"""

# NumPy's universal functions by name
UFUNCS = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "divide": "{0} / {1}",
    "true_divide": "{0} / {1}",
    "floor_divide": "{0} // {1}",
    "remainder": "PyMod({0}, {1})",
    "mod": "PyMod({0}, {1})",
    "fmod": "CMod({0}, {1})",
    "power": "{0} ** {1}",
    "float_power": "{0} ** {1}",
    "negative": "-{0}",
    "positive": "{0}",
    "absolute": "abs({0})",
    "abs": "abs({0})",
    "fabs": "abs({0})",
    "sign": "sign_numpy_2({0})",
    "rint": "rint({0})",
    "floor": "floor({0})",
    "ceil": "ceil({0})",
    "trunc": "trunc({0})",
    "exp": "exp({0})",
    "exp2": "exp2({0})",
    "expm1": "expm1({0})",
    "log": "log({0})",
    "log2": "log2({0})",
    "log10": "log10({0})",
    "log1p": "log1p({0})",
    "sqrt": "sqrt({0})",
    "cbrt": "cbrt({0})",
    "square": "{0} * {0}",
    "reciprocal": "1 / {0}",
    "conjugate": "conj({0})",
    "conj": "conj({0})",
    "sin": "sin({0})",
    "cos": "cos({0})",
    "tan": "tan({0})",
    "arcsin": "asin({0})",
    "arccos": "acos({0})",
    "arctan": "atan({0})",
    "sinh": "sinh({0})",
    "cosh": "cosh({0})",
    "tanh": "tanh({0})",
    "arcsinh": "asinh({0})",
    "arccosh": "acosh({0})",
    "arctanh": "atanh({0})",
    "arctan2": "atan2({0}, {1})",
    "hypot": "hypot({0}, {1})",
    "degrees": "{0} * 57.29577951308232",
    "rad2deg": "{0} * 57.29577951308232",
    "radians": "{0} * 0.017453292519943295",
    "deg2rad": "{0} * 0.017453292519943295",
    "fmax": "fmax({0}, {1})",
    "fmin": "fmin({0}, {1})",
    "copysign": "copysign({0}, {1})",
    # Each branch is the whole function, so that its derivative is right on both sides and at a tie, and no branch
    # exponentiates a positive number
    "logaddexp": "({0} + log1p(exp({1} - {0}))) if {0} > {1} else ({1} + log1p(exp({0} - {1})))",
    "logaddexp2": "({0} + log1p(exp2({1} - {0})) * 1.4426950408889634) if {0} > {1}"
    " else ({1} + log1p(exp2({0} - {1})) * 1.4426950408889634)",
    "heaviside": "0 if {0} < 0 else ({1} if {0} == 0 else (1 if {0} > 0 else {0}))",
    "ldexp": "{0} * exp2({1})",
    "equal": "{0} == {1}",
    "not_equal": "{0} != {1}",
    "less": "{0} < {1}",
    "less_equal": "{0} <= {1}",
    "greater": "{0} > {1}",
    "greater_equal": "{0} >= {1}",
    "logical_and": "{0} and {1}",
    "logical_or": "{0} or {1}",
    "logical_xor": "(not {0}) != (not {1})",
    "logical_not": "not {0}",
    "isnan": "isnan({0})",
    "isinf": "isinf({0})",
    "isfinite": "isfinite({0})",
    "bitwise_and": "{0} & {1}",
    "bitwise_or": "{0} | {1}",
    "bitwise_xor": "{0} ^ {1}",
    "left_shift": "sdgrad_shift_left({0}, {1})",
    "right_shift": "sdgrad_shift_right({0}, {1})",
}

# Functions of two results, one expression each; divmod has those of its two parts
PAIR_UFUNCS = {
    "modf": ("0 if isinf({0}) else {0} - trunc({0})", "trunc({0})"),
}

# Booleans have no arithmetic of their own in C++: these expressions replace the ones above in boolean loops
BOOLEAN_UFUNCS = {
    "add": "{0} or {1}",
    "multiply": "{0} and {1}",
    "maximum": "{0} or {1}",
    "minimum": "{0} and {1}",
    "invert": "not {0}",
    "absolute": "{0}",
    "conjugate": "{0}",
    "conj": "{0}",
}
SELF_CONJUGATE = {"conjugate": "{0}", "conj": "{0}"}
DIVISIONS = {
    "floor_divide": "sdgrad_floor_divide({0}, {1})",
    "remainder": "sdgrad_mod({0}, {1})",
    "mod": "sdgrad_mod({0}, {1})",
}
REAL_UFUNCS = {
    **SELF_CONJUGATE,
    "maximum": "sdgrad_maximum({0}, {1})",
    "minimum": "sdgrad_minimum({0}, {1})",
    "sign": "sdgrad_sign({0})",
    **DIVISIONS,
}
COMPLEX_UFUNCS = {
    "reciprocal": "{0} ** -1",
    "logical_not": "{0} == 0",
    "logical_and": "({0} != 0) and ({1} != 0)",
    "logical_or": "({0} != 0) or ({1} != 0)",
    "logical_xor": "({0} != 0) != ({1} != 0)",
    # C++ has no order of complex numbers, and no parts of them
    **dict.fromkeys(("rint", "fmax", "fmin", "less", "less_equal", "greater", "greater_equal")),
}
INTEGER_UFUNCS = {
    **DIVISIONS,  # zero by zero is zero in NumPy, and ends the process in C++
    "fmod": "sdgrad_truncated_mod({0}, {1})",
    "invert": "~{0}", "rint": "{0}", "floor": "{0}", "ceil": "{0}", "trunc": "{0}",
    "maximum": "max({0}, {1})", "minimum": "min({0}, {1})", "fmax": "max({0}, {1})", "fmin": "min({0}, {1})",
    **SELF_CONJUGATE,
}  # fmt: skip

# The ``math`` module computes in double precision: (expression, number of arguments)
MATH = {
    "sin": "sin({0})", "cos": "cos({0})", "tan": "tan({0})", "asin": "asin({0})", "acos": "acos({0})",
    "atan": "atan({0})", "atan2": "atan2({0}, {1})", "sinh": "sinh({0})", "cosh": "cosh({0})", "tanh": "tanh({0})",
    "asinh": "asinh({0})", "acosh": "acosh({0})", "atanh": "atanh({0})", "exp": "exp({0})", "expm1": "expm1({0})",
    "exp2": "exp2({0})", "log2": "log2({0})", "log10": "log10({0})", "log1p": "log1p({0})", "sqrt": "sqrt({0})",
    "cbrt": "cbrt({0})", "pow": "{0} ** {1}", "fabs": "abs({0})", "erf": "erf({0})", "erfc": "erfc({0})",
    "gamma": "tgamma({0})", "lgamma": "lgamma({0})", "hypot": "hypot({0}, {1})", "copysign": "copysign({0}, {1})",
    "fmod": "CMod({0}, {1})", "degrees": "{0} * 57.29577951308232", "radians": "{0} * 0.017453292519943295",
}  # fmt: skip
MATH_TO_INTEGER = {
    "floor": "floor({0})",
    "ceil": "ceil({0})",
    # DaCe makes symbols of integer scalars, and SymPy's ``trunc`` is another function
    "trunc": "floor({0}) if {0} > 0 else ceil({0})",
}
MATH_TO_BOOLEAN = {"isnan": "isnan({0})", "isinf": "isinf({0})", "isfinite": "isfinite({0})"}

# ``scipy.special``: (expression, how many operands)
SCIPY = {
    "erf": "erf({0})", "erfc": "erfc({0})", "gamma": "tgamma({0})", "gammaln": "lgamma({0})",
    "expit": "1 / (1 + exp(-{0}))", "logit": "log({0} / (1 - {0}))", "exp2": "exp2({0})", "expm1": "expm1({0})",
    "log1p": "log1p({0})", "cbrt": "cbrt({0})", "xlogy": "0 if {0} == 0 else {0} * log({1})",
    "xlog1py": "0 if {0} == 0 else {0} * log1p({1})",
}  # fmt: skip
