"""What a call's arguments mean: operands (containers, numbers, symbolic expressions) and static arguments."""

from dataclasses import dataclass
from numbers import Integral, Number
from typing import Any, TypeAlias

import numpy as np
import sympy
from dace import data, dtypes, symbolic

from sdgrad.frontend.replacements.promotion import Kind, dace_dtype, numpy_dtype

# An integer or a symbolic expression: the two share arithmetic, but no type that says so
Size: TypeAlias = Any


@dataclass(frozen=True)
class Operand:
    """One input of an element-wise expression.

    ``at`` gives the element read, one expression in the map's parameters ``__i0, __i1, ...`` per dimension. Without it
    the operand broadcasts over the map as NumPy broadcasts.
    """

    shape: tuple
    kind: Kind  # a numpy.dtype, or a Python type that promotes weakly
    container: str | None = None
    value: Any = None  # the number or symbolic expression when there is no container
    at: tuple[str, ...] | None = None

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.kind)

    @property
    def name(self) -> str:
        """The container's name, of an operand that has one."""
        if self.container is None:
            raise TypeError(f"{self.value!r} is not a container")
        return self.container

    @property
    def is_number(self) -> bool:
        return self.container is None and isinstance(self.value, (Number, np.generic))

    def read_at(self, *indices) -> "Operand":
        return Operand(self.shape, self.kind, self.container, self.value, tuple(map(str, indices)))

    def code(self, connector: str, dtype: np.dtype) -> str:
        """Tasklet code of the operand's element as a ``dtype``."""
        if self.container is not None:
            return connector if self.kind == dtype else f"dace.{dace_dtype(dtype).to_string()}({connector})"
        if self.is_number:
            return _literal(self.value, dtype)
        text = symbolic.symstr(self.value)
        return f"({text})" if dtype == np.int64 else f"dace.{dace_dtype(dtype).to_string()}({text})"


def _literal(value, dtype: np.dtype) -> str:
    """A number as tasklet code of type ``dtype``; double and int64 need no cast."""
    if dtype.kind == "c":
        number = complex(value)
        return f"dace.{dace_dtype(dtype).to_string()}({number.real!r}, {number.imag!r})"
    cast = {"b": bool, "i": int, "u": int, "f": float}[dtype.kind]
    text = repr(cast(value))
    if dtype in (np.float64, np.int64, np.bool_):
        return f"({text})" if text.startswith("-") else text
    return f"dace.{dace_dtype(dtype).to_string()}({text})"


def is_data(sdfg, argument) -> bool:
    return isinstance(argument, str) and argument in sdfg.arrays


def single(argument):
    """The visitor hands the result of a call over as a list of one."""
    return argument[0] if isinstance(argument, list) and len(argument) == 1 else argument


def _kind_of_number(value):
    if isinstance(value, (bool, np.generic)):
        return numpy_dtype(type(value))
    return next(kind for kind in (int, float, complex) if isinstance(value, kind))


def _is_real(expr: sympy.Basic) -> bool:
    """Whether a symbolic expression is a real number in Python: ``0.1 * h`` and ``h / 2`` are, ``h // 2`` is not."""
    if isinstance(expr, sympy.Symbol):
        return getattr(expr, "dtype", dtypes.int64) in (dtypes.float32, dtypes.float64)
    if isinstance(expr, (sympy.floor, sympy.ceiling, symbolic.int_floor, symbolic.int_ceil)):
        return False
    fraction = isinstance(expr, sympy.Rational) and expr.q != 1 or isinstance(expr, sympy.Pow) and expr.exp.is_negative
    return isinstance(expr, sympy.Float) or bool(fraction) or any(map(_is_real, expr.args))


def read_operand(sdfg, argument, function: str, name: str = "argument") -> Operand:
    argument = single(argument)
    if isinstance(argument, sympy.Integer):  # an extent
        argument = int(argument)
    if is_data(sdfg, argument):
        desc = sdfg.arrays[argument]
        shape = () if isinstance(desc, data.Scalar) else tuple(desc.shape)
        return Operand(shape, numpy_dtype(desc.dtype), argument)
    if isinstance(argument, (Number, np.generic)):
        return Operand((), _kind_of_number(argument), value=argument)
    if isinstance(argument, sympy.Basic):
        return Operand((), float if _is_real(argument) else int, value=argument)
    raise TypeError(f"{function}: {name} must be an array, a scalar or a number, not {argument!r}")


def static_int(argument, function: str, name: str) -> int:
    argument = single(argument)
    if isinstance(argument, (Integral, sympy.Integer)) and not isinstance(argument, bool):
        return int(argument)
    raise TypeError(f"{function}: {name} must be an integer known when the program is parsed, not {argument!r}")


def static_bool(argument, function: str, name: str) -> bool:
    if isinstance(argument, (bool, np.bool_, Integral)):
        return bool(argument)
    raise TypeError(f"{function}: {name} must be True or False when the program is parsed, not {argument!r}")


def static_axis(argument, ndim: int, function: str, name: str = "axis") -> int:
    axis = static_int(argument, function, name)
    if not -ndim <= axis < ndim:
        raise ValueError(f"{function}: {name}={axis} is out of bounds for an array of {ndim} dimensions")
    return axis % ndim


def static_axes(argument, ndim: int, function: str, name: str = "axis") -> tuple[int, ...]:
    """The axes that ``axis=None``, an integer or a tuple stands for, in increasing order."""
    argument = single(argument)
    if argument is None:
        return tuple(range(ndim))
    listed = argument if isinstance(argument, (list, tuple)) else (argument,)
    axes = [static_axis(a, ndim, function, name) for a in listed]
    if len(set(axes)) != len(axes):
        raise ValueError(f"{function}: duplicate value in {name}={argument!r}")
    return tuple(sorted(axes))


def static_shape(argument, function: str, name: str = "shape") -> tuple:
    """A shape given as one size or a sequence of sizes, each an integer or a symbolic expression."""
    listed = argument if isinstance(argument, (list, tuple)) else (argument,)
    sizes = tuple(single(s) for s in listed)
    for size in sizes:
        if isinstance(size, bool) or not isinstance(size, (Integral, sympy.Basic)):
            raise TypeError(f"{function}: {name} must hold sizes known when the program is parsed, not {size!r}")
    return tuple(int(s) if isinstance(s, Integral) else s for s in sizes)
