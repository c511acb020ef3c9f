"""Apply functions element by element: NumPy's universal functions, by the templates of their code."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import sympy
from dace.symbolic import int_floor

from sdgrad.errors import ParseError
from sdgrad.record.elements import Element
from sdgrad.record.guards import uncaught
from sdgrad.record.recorder import WEAK, Recorder
from sdgrad.record.settling import settle
from sdgrad.record.templates import BOOLEAN_UFUNCS, COMPLEX_UFUNCS, INTEGER_UFUNCS, PAIR_UFUNCS, REAL_UFUNCS, UFUNCS
from sdgrad.record.tensors import Tensor, broadcast_shape
from sdgrad.record.values import RULES, Array, Number, Origin, is_positive, is_recorded
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import to_ast

BY_KIND: dict[str, Mapping[str, str | None]] = {
    "b": BOOLEAN_UFUNCS, "i": INTEGER_UFUNCS, "u": INTEGER_UFUNCS, "f": REAL_UFUNCS, "c": COMPLEX_UFUNCS,
}  # fmt: skip
SYMBOLIC: dict[np.ufunc, Callable[..., sympy.Expr]] = {
    np.add: lambda a, b: a + b,
    np.subtract: lambda a, b: a - b,
    np.multiply: lambda a, b: a * b,
    np.negative: lambda a: -a,
    np.positive: lambda a: a,
    np.floor_divide: int_floor,
    np.remainder: sympy.Mod,
    np.maximum: sympy.Max,
    np.minimum: sympy.Min,
}
"""Universal functions of integers whose results stay expressions over symbols."""
COMPARED: dict[np.ufunc, type[ast.cmpop]] = {
    np.less: ast.Lt,
    np.less_equal: ast.LtE,
    np.greater: ast.Gt,
    np.greater_equal: ast.GtE,
    np.equal: ast.Eq,
    np.not_equal: ast.NotEq,
}
JOINED: dict[np.ufunc, type[ast.boolop]] = {np.logical_and: ast.And, np.logical_or: ast.Or}


def owner_of(name: str) -> str:
    """Return the module of a universal function."""
    return "numpy" if hasattr(np, name) else "scipy.special"


def _refuse_of_objects(ufunc: np.ufunc) -> None:
    """Raise an error for a function of Python that ``np.frompyfunc`` made one of NumPy's: it cannot be reached."""
    if all(set(t) <= set("O->") for t in ufunc.types):
        name = ufunc.__name__.removesuffix(" (vectorized)")
        told = "a function" if name == "<lambda>" else f"'{name}'"
        raise ParseError(f"np.frompyfunc of {told} has no derivative here: use np.vectorize, or operations of arrays")


def template(name: str, dtype: np.dtype) -> str:
    """Return the code of a universal function in a loop of a type.

    :raises ParseError: there is none.
    """
    found = BY_KIND.get(dtype.kind, {}).get(name, UFUNCS.get(name))
    if found is None:
        has_others = any(name in table for table in (UFUNCS, *BY_KIND.values()))
        told = f" for operands of type {dtype}" if has_others else ""
        raise ParseError(f"{owner_of(name)}.{name} has no derivative here{told}: no rule is known")
    return found


def _pair(name: str, dtype: np.dtype) -> Sequence[str]:
    """Return the code of a function with two results in a loop of a type."""
    if name == "divmod":
        return template("floor_divide", dtype), template("remainder", dtype)
    if name not in PAIR_UFUNCS:
        raise ParseError(f"{owner_of(name)}.{name} has no derivative here: no rule is known")
    return PAIR_UFUNCS[name]


@cache
def _parsed(text: str) -> ast.expr:
    return code.parse(text)


WHOLE_OF_C = 4
"""Bytes of an ``int``, in which C++ computes what has fewer."""


def filled(text: str, operands: Sequence[Element], name: Callable[[Element], str], dtype: Any) -> Element:
    """Return a template with its operands, each of which is computed once."""
    asked = {f"_{k}": x for k, x in enumerate(operands) if f"{{{k}}}" in text}
    places = {k: x.code if _is_literal(x.code) else code.name(name(x)) for k, x in asked.items()}
    tree = code.rename(_parsed(text.format(*(f"_{k}" for k in range(len(operands))))), places)
    dtype = np.dtype(dtype)
    if dtype.kind in "iu" and dtype.itemsize < WHOLE_OF_C:  # C++ computes in int, and NumPy's numbers wrap around
        tree = code.call(f"dace.{dtype.name}", tree)
    return Element(tree, dtype)


def _is_literal(tree: ast.expr) -> bool:
    """True of numbers, negative ones too."""
    tree = tree.operand if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub) else tree
    return isinstance(tree, ast.Constant)


def kind(value: Any) -> Any:
    """Return the type of an operand for NumPy's promotion: Python's numbers are weak."""
    if isinstance(value, Number):
        return {v: k for k, v in WEAK.items()}[value.dtype] if value.weak and value.dtype.kind != "b" else value.dtype
    if isinstance(value, bool):
        return np.dtype(bool)
    return type(value) if type(value) in WEAK else np.dtype(value.dtype.str)


def common(values: Sequence[Any]) -> np.dtype:
    """Return the type that holds each of some numbers and arrays, Python's numbers weak (NEP 50)."""
    samples = {int: 1, float: 1.0, complex: 1j}
    return np.dtype(np.result_type(*(samples.get(k, k) for k in map(kind, values))).str)


def is_weak(*values: Any) -> bool:
    """True if an operation on these gives a number of Python's."""
    return all(v.weak if isinstance(v, Number) else type(v) in WEAK for v in values)


def origin(*values: Any) -> Origin:
    """Return what the result of an operation depends on."""
    return frozenset().union(
        *(v.storage.origin if isinstance(v, Array) else v.origin for v in values if is_recorded(v))
    )


WHOLE = np.dtype(np.int64)
OF_WHOLE = (
    *(np.remainder, np.floor_divide, np.divmod, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert),
    *(np.left_shift, np.right_shift, np.gcd, np.lcm),
)
"""What means something else for numbers of floating point, or nothing."""
EXTREMES = {np.maximum: "max", np.minimum: "min"}
DIVISIONS = {np.true_divide, np.floor_divide, np.remainder}
SHIFTS = (np.left_shift, np.right_shift)
OF_INTEGERS = {np.floor_divide, np.remainder, np.fmod}


ARITHMETIC = {np.add, np.subtract, np.multiply, np.negative, np.positive, np.absolute, np.power, np.divmod, *DIVISIONS}


def _is_python(value: Any) -> bool:
    """True of a number or a truth value of Python's, not NumPy's."""
    return value.weak if isinstance(value, Number) else type(value) is bool or type(value) in WEAK


def _counted(value: Any) -> Any:
    """Return a truth value of Python's as the integer that it is; any other number unchanged."""
    if isinstance(value, Number) and value.dtype.kind == "b":
        return compute("{0}", [value], [WHOLE], WHOLE, True)
    return int(value) if type(value) is bool else value


def _check_python(ufunc: np.ufunc, operands: Sequence[Any]) -> None:
    """Let an operator of two of Python's numbers raise what Python's own does."""
    if ufunc in DIVISIONS and (is_recorded(operands[1]) or not operands[1]):
        uncaught(next(x.recorder for x in operands if is_recorded(x)), ZeroDivisionError())
    if ufunc in SHIFTS and is_recorded(operands[1]):
        in_range = apply(np.greater_equal, [operands[1], 0])
        RULES.require(operands[1].recorder, in_range, ValueError("negative shift count"))


def apply(ufunc: np.ufunc, operands: Sequence[Any], dtype: Any = None) -> Any:
    """Return a universal function of recorded values, numbers and arrays of known content."""
    _refuse_of_objects(ufunc)
    if ufunc in OF_WHOLE:
        for x in operands:
            if isinstance(x, Number) and x.weak and x.dtype.kind == "f":
                x.recorder.hints.needs_integers(x.origin)
    if ufunc in ARITHMETIC and all(map(_is_python, operands)):
        operands = [_counted(v) for v in operands]
    if (found := _symbolic(ufunc, operands)) is not None:
        if isinstance(found, Number):
            RULES.keep_short(ufunc, operands, found.expr)
        return found
    kinds: Sequence[Any] = [kind(x) for x in operands]
    if is_weak(*operands):
        _check_python(ufunc, operands)
    if ufunc is np.power:
        operands, kinds = _power_operands(operands, kinds)
    types = loop_types(ufunc, kinds, dtype)
    results = types[ufunc.nin :]
    if ufunc.nout == 2:
        texts: Sequence[str] = _pair(ufunc.__name__, types[0])
        pair = zip(texts, results, strict=True)
        return tuple(compute(t, operands, types[: ufunc.nin], r, is_weak(*operands)) for t, r in pair)
    text = template(ufunc.__name__, types[0])
    if (short := _shorter(ufunc, operands, types)) is not None:
        text = short
    is_python = is_weak(*operands)
    grows = is_python and types[0] == WHOLE and RULES.keep_short(ufunc, operands)
    found = compute(text, operands, types[: ufunc.nin], results[0], is_python)
    if isinstance(found, Number):
        found.grows = grows
    if isinstance(found, Array) and found.dtype.kind == "b":
        found.storage.recipe = (ufunc, *map(_recipe, operands))
    elif isinstance(found, Number) and found.dtype.kind == "b":
        found.condition = _condition(ufunc, operands)
    elif isinstance(found, Number) and ufunc in (np.add, np.subtract) and found.dtype == WHOLE:
        found.moved = _moved(ufunc, *operands)
    return found


def _moved(ufunc: np.ufunc, a: Any, b: Any) -> tuple[Number, int] | None:
    """Return the integer that a sum adds a known one to, and that one; None for other sums."""
    if ufunc is np.add and isinstance(b, Number):
        a, b = b, a
    if type(b) is not int or not isinstance(a, Number) or a.dtype != WHOLE:
        return None
    base, by = a.moved or (a, 0)
    return base, by + (b if ufunc is np.add else -b)


def _condition(ufunc: np.ufunc, operands: Sequence[Any]) -> ast.expr | None:
    """Return a condition on loop indices and sizes, as a loop or a branch takes it; None for any other."""
    if ufunc in COMPARED:
        parts = [x.expr if isinstance(x, Number) else x if type(x) is int else None for x in operands]
        if all(p is not None for p in parts):
            left, right = (to_ast(sympy.sympify(p)) for p in parts)
            return ast.Compare(left, [COMPARED[ufunc]()], [right])
    conditions = [x.condition for x in operands if isinstance(x, Number)]
    tests = [c for c in conditions if c is not None]
    if ufunc in JOINED and len(tests) == len(operands):
        return ast.BoolOp(JOINED[ufunc](), tests)
    return ast.UnaryOp(ast.Not(), tests[0]) if ufunc is np.logical_not and tests else None


def _recipe(operand: Any) -> Any:
    """Return a value that is equal for operands that are equal."""
    if not isinstance(operand, Array):
        return operand if not is_recorded(operand) else operand.expr if operand.expr is not None else id(operand)
    if operand.storage.recipe is not None and not operand.storage.version:
        return operand.storage.recipe
    if operand.tensor.place is not None or operand.known is not None:
        return object()
    return (operand.storage.name, operand.storage.version, operand.tensor.container, operand.tensor.part)


def loop_types(ufunc: np.ufunc, kinds: Sequence[Any], dtype: Any = None) -> list[np.dtype]:
    """Return the types in which a universal function computes, and those of its results."""
    if all(k in WEAK for k in kinds):
        kinds = [WEAK[k] for k in kinds]  # NumPy compares Python's integers as objects
    wanted = {} if dtype is None else {"signature": (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout}
    found = ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout), **wanted)  # type: ignore[arg-type]
    return [np.dtype(t.str) for t in found]


def _is_too_long(value: Any, dtype: np.dtype) -> bool:
    """True of an integer of Python's that has no place in a type of integers."""
    if type(value) is not int or dtype.kind not in "iu":
        return False
    least = np.iinfo(dtype).min or -1  # C++ has no word for -2**63
    return not least < value <= np.iinfo(dtype).max


def compute(
    text: str, operands: Sequence[Any], types: Sequence[np.dtype], dtype: np.dtype, weak: bool = False
) -> Number | Array:
    """Return the code of a template on operands, element by element, with NumPy's broadcast.

    :param types: what each operand is converted to.
    :param weak: a number that results takes the type of its partner.
    """
    recorder = next((x.recorder for x in operands if is_recorded(x)), None) or RULES.active()
    if any(_is_too_long(x, t) for x, t in zip(operands, types, strict=True)):
        settle(recorder, origin(*operands))
        raise ParseError("an integer of more than 64 bits meets one that only a run knows: write it as a float")
    arrays = [x for x in operands if isinstance(x, Array)]
    if not any(a.ndim for a in arrays):
        numbers = [x[()] if isinstance(x, Array) else x for x in operands]
        parts = [recorder.element(x, t).astype(t) for x, t in zip(numbers, types, strict=True)]
        value = filled(text, parts, recorder.named, dtype)
        return recorder.number(value, weak, origin(*numbers))
    shapes = [a.tensor.shape for a in arrays]
    RULES.agree(recorder, *shapes)
    shape = broadcast_shape(*shapes)
    inner = prepared(recorder, operands, shape)

    def at(*index: Any) -> Element:
        parts = [read(recorder, x, index, t) for x, t in zip(inner, types, strict=True)]
        return filled(text, parts, recorder.let, dtype)

    return recorder.array(recorder.compute(shape, dtype, at))


def prepared(recorder: Recorder, operands: Sequence[Any], shape: Sequence[Any]) -> list[Any]:
    """Return operands as numbers, or as tensors of a shape."""
    inner = [recorder.content(x) if isinstance(x, Array) else x for x in operands]
    return [x.broadcast(shape) if isinstance(x, Tensor) else x for x in inner]


def read(recorder: Recorder, operand: Any, index: tuple, dtype: Any) -> Element:
    """Return an operand's element in the leaf that is being recorded, in a type."""
    found = operand[index] if isinstance(operand, Tensor) else recorder.element(operand, dtype)
    return found.astype(dtype)


def _symbolic(ufunc: np.ufunc, operands: Sequence[Any]) -> Any:
    """Return an operation on loop indices and sizes as such; None for any other."""
    whole = [x for x in operands if isinstance(x, Number)]
    if ufunc not in SYMBOLIC or not whole or any(x.expr is None for x in whole):
        return None
    if any(type(x) is not int or _is_too_long(x, WHOLE) for x in operands if not isinstance(x, Number)):
        return None
    parts: list[Any] = [x.expr if isinstance(x, Number) else sympy.Integer(x) for x in operands]
    if ufunc in (np.floor_divide, np.remainder):  # those of generated code are cut off, not rounded down
        if not (isinstance(operands[0], Number) and parts[1].is_Integer and parts[1] > 0):
            return None
        if not is_positive(operands[0]):  # as in (i - 1) % n
            further = whole[0].recorder.symbolic(parts[0] + parts[1], origin(*operands))
            if ufunc is np.floor_divide or not is_positive(further):
                return None
            parts[0] = further.expr
    return whole[0].recorder.symbolic(SYMBOLIC[ufunc](*parts), origin(*operands))


def _power_operands(operands: Sequence[Any], kinds: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return operands of a power: Python's integers to negative powers are real."""
    base, exponent = operands
    if not is_weak(base, exponent) or list(kinds) != [int, int]:
        return operands, kinds
    if isinstance(exponent, Number):
        if is_positive(exponent):
            return operands, kinds
        if all(o[0] == "argument" for o in exponent.origin):
            exponent = exponent.__index__()
    whole = type(exponent) is int and exponent >= 0
    return (base, exponent), (int if whole else float, int)


def _shorter(ufunc: np.ufunc, operands: Sequence[Any], types: Sequence[np.dtype]) -> str | None:
    """Return the code of a function where a known operand makes it shorter; None if none does."""
    if ufunc is np.power:
        return _short_power(operands, types)
    if ufunc in OF_INTEGERS and types[0].kind in "iu" and type(operands[1]) is int and operands[1] > 0:
        return UFUNCS[ufunc.__name__]  # C++'s own operators
    if ufunc in EXTREMES and types[0].kind == "f":
        numbers = [k for k, x in enumerate(operands) if isinstance(x, int | float | np.number) and x == x]
        if numbers:  # C++'s and DaCe's return the second operand where they do not compare
            return f"{EXTREMES[ufunc]}({{{numbers[0]}}}, {{{1 - numbers[0]}}})"
    return None


def _short_power(operands: Sequence[Any], types: Sequence[np.dtype]) -> str | None:
    """Return a power with a small whole exponent as products: it has a derivative everywhere."""
    exponent = operands[1]
    if isinstance(exponent, Array) and exponent.known is not None and exponent.size == 1:
        exponent = exponent.read_known().flat[0]
    if is_recorded(exponent) or np.ndim(exponent) or isinstance(exponent, complex) or exponent != int(exponent):
        of_arrays = types[0].kind in "iu" and any(isinstance(x, Array) for x in operands)
        return "sdgrad_integer_power({0}, {1})" if of_arrays else None  # C++'s are rounded to 53 bits
    whole = int(exponent)
    if not 0 <= whole <= 8:
        return None
    if types[0].kind == "c" and whole:
        return " * ".join(["{0}"] * whole)
    return "{0} * {0}" if whole == 2 else f"{{0}} ** {whole}" if whole else "1"
