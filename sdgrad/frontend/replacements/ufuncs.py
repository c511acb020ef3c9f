"""NumPy's universal functions, their ``reduce``, ``accumulate`` and ``outer`` methods, and Python's operators."""

import numpy as np
from dace.frontend.common import op_repository
from dace.frontend.python.replacements import ufunc as stock

from sdgrad.frontend.replacements.emit import Emitter
from sdgrad.frontend.replacements.operands import Operand, single, static_axes, static_axis, static_bool
from sdgrad.frontend.replacements.promotion import loop_types, numpy_dtype, sum_type
from sdgrad.frontend.replacements.register import CONTAINERS
from sdgrad.frontend.replacements.scans import scan
from sdgrad.frontend.replacements.ufunc_table import (
    BINARY_OPERATORS,
    BOOLEAN_UFUNCS,
    IDENTITIES,
    INTEGER_UFUNCS,
    PAIR_UFUNCS,
    REAL_UFUNCS,
    UFUNCS,
    UNARY_OPERATORS,
)


def expression(name: str, dtype: np.dtype) -> str:
    """The tasklet expression of a universal function in a loop of type ``dtype``."""
    special = {"b": BOOLEAN_UFUNCS, "i": INTEGER_UFUNCS, "u": INTEGER_UFUNCS, "f": REAL_UFUNCS}.get(dtype.kind, {})
    template = special.get(name, UFUNCS.get(name))
    if template is None:
        raise TypeError(f"numpy.{name}: operands of type {dtype} are not supported")
    return template


def _power(emitter: Emitter, base: Operand, exponent: Operand):
    """A literal integer exponent stays one: repeated multiplication is faster and has a derivative everywhere."""
    (loop, _), (result,) = loop_types(np.power, (base.kind, exponent.kind))
    if not exponent.is_number or loop.kind == "c" or exponent.value != int(exponent.value):
        return None
    number = int(exponent.value)
    if loop.kind in "iu" and number < 0:
        raise ValueError(f"{emitter.function}: integers to negative integer powers are not allowed")
    if not 0 <= number <= 8:
        return None
    template = "{0} * {0}" if number == 2 else f"{{0}} ** {number}" if number else "1"
    return template, [base], [loop], result


def _plan(emitter, name: str, operands, dtype):
    """The expression, its operands, their loop types, and the type of the result."""
    planned = _power(emitter, *operands) if name == "power" and dtype is None else None
    if planned:
        return planned
    types, (result,) = loop_types(getattr(np, name), [o.kind for o in operands], dtype)
    return expression(name, types[0]), operands, types, result


def _is_constant(operands) -> bool:
    return all(o.is_number for o in operands)


def apply_ufunc(emitter: Emitter, name: str, arguments, dtype=None, out=None, where=True):
    """One map computing a universal function of one result."""
    operands = [emitter.operand(a) for a in arguments]
    if _is_constant(operands) and out is None and where is True:
        return getattr(np, name)(*(o.value for o in operands))
    template, operands, types, result = _plan(emitter, name, operands, dtype)
    if out is None and where is True:
        return emitter.compute(name, template, operands, result, loop_types=types)
    return _into(emitter, name, template, operands, types, single(out), where)


def _into(emitter: Emitter, name, template, operands, types, out, where):
    """A universal function with ``out=`` and, element by element, ``where=``."""
    if out is None:
        raise ValueError(f"{emitter.function}: where needs out, or unselected elements are undefined")
    target = emitter.array(out, "out")
    if where is not True:
        types = [*types, np.dtype(bool), target.dtype]
        template = f"({template}) if {{{len(operands)}}} else {{{len(operands) + 1}}}"
        operands = [*operands, emitter.operand(where, "where"), target]
    if any(_overlap(emitter, o, target) for o in operands):
        operands = [emitter.operand(emitter.compute(name, template, operands, target.dtype, target.shape, types))]
        template, types = "{0}", [target.dtype]
    emitter.compute(name, template, operands, target.dtype, target.shape, types, out=target.container)
    return target.container


def _overlap(emitter: Emitter, operand: Operand, target: Operand) -> bool:
    """Whether an input may share memory with the output other than element by element."""

    def owner(container):
        while container in emitter.visitor.views:
            container = emitter.visitor.views[container][0]
        return container

    return operand.container not in (None, target.container) and owner(operand.container) == owner(target.container)


def _apply_pair(emitter: Emitter, name: str, arguments, dtype=None):
    operands = [emitter.operand(a) for a in arguments]
    types, results = loop_types(getattr(np, name), [o.kind for o in operands], dtype)
    templates = PAIR_UFUNCS[name]
    return [emitter.compute(name, t, operands, r, None, types) for t, r in zip(templates, results, strict=True)]


def _flat(arguments) -> list:
    return [single(a) for a in arguments]


@op_repository.replaces_ufunc("ufunc")
def _ufunc(visitor, node, sdfg, state, name, arguments, keywords):
    known = name in UFUNCS or name in PAIR_UFUNCS or name == "invert"
    if not known:
        return stock.implement_ufunc(visitor, node, sdfg, state, name, arguments, keywords)
    emitter = Emitter(visitor, f"numpy.{name}", state)
    unknown = set(keywords) - {"dtype", "out", "where"}
    if unknown:
        raise TypeError(f"numpy.{name}: keyword argument {min(unknown)!r} is not supported")
    inputs, outputs = _flat(arguments)[: getattr(np, name).nin], _flat(arguments)[getattr(np, name).nin :]
    if name in PAIR_UFUNCS:
        if outputs or set(keywords) - {"dtype"}:
            raise TypeError(f"numpy.{name}: out and where are not supported")
        result = _apply_pair(emitter, name, inputs, keywords.get("dtype"))
    else:
        out = outputs[0] if outputs else keywords.get("out")
        out = out[0] if isinstance(out, (tuple, list)) else out
        result = [apply_ufunc(emitter, name, inputs, keywords.get("dtype"), out, keywords.get("where", True))]
    emitter.finish()
    return result


def _binary_method(emitter: Emitter, name: str, method: str) -> np.ufunc:
    ufunc = getattr(np, name)
    if name not in UFUNCS or ufunc.nin != 2:
        raise TypeError(f"numpy.{name}.{method}: only universal functions of two operands are supported")
    return ufunc


def _accumulator(ufunc: np.ufunc, operand: Operand, dtype) -> np.dtype:
    if dtype is not None:
        return numpy_dtype(dtype)
    return sum_type(operand.dtype) if ufunc in (np.add, np.multiply) else operand.dtype


@op_repository.replaces_ufunc("reduce")
def _ufunc_reduce(visitor, node, sdfg, state, name, arguments, keywords):
    emitter = Emitter(visitor, f"numpy.{name}.reduce", state)
    result = _reduce(emitter, name, *_flat(arguments), **keywords)
    emitter.finish()
    return [result]


def _reduce(emitter: Emitter, name, a, axis=0, dtype=None, keepdims=False):
    ufunc = _binary_method(emitter, name, "reduce")
    identity = IDENTITIES.get(name, ufunc.identity)
    if identity is None or name not in ("add", "multiply", "logical_and", "logical_or", *IDENTITIES):
        raise TypeError(f"{emitter.function}: the order of this reduction would matter; write a loop")
    operand = emitter.array(a, "array")
    logical = name.startswith("logical")
    operand = _nonzero(emitter, operand) if logical else emitter.cast(operand, _accumulator(ufunc, operand, dtype))
    return reduce_with(emitter, name, operand, static_axes(axis, len(operand.shape), emitter.function), keepdims)


def _nonzero(emitter: Emitter, operand: Operand) -> Operand:
    if operand.dtype.kind == "b":
        return operand
    return emitter.operand(emitter.compute("nonzero", "{0} != 0", [operand], np.dtype(bool), None, [operand.dtype]))


def as_boolean(emitter: Emitter, argument) -> Operand:
    return _nonzero(emitter, emitter.array(argument, "a"))


def reduce_with(emitter: Emitter, name: str, operand: Operand, axes, keepdims=False, initial=None) -> str:
    """The reduction of ``operand`` with a universal function of the table, in the operand's own type."""
    identity = IDENTITIES.get(name, getattr(np, name).identity) if initial is None else initial
    if operand.dtype.kind in "iub" and isinstance(identity, float) and np.isinf(identity):
        limits = (
            (False, True) if operand.dtype.kind == "b" else (np.iinfo(operand.dtype).min, np.iinfo(operand.dtype).max)
        )
        identity = limits[identity > 0]
    combine = f"lambda x, y: {expression(name, operand.dtype).format('x', 'y')}"
    keepdims = static_bool(keepdims, emitter.function, "keepdims")
    return emitter.reduce(name, combine, operand, axes, identity, keepdims)


@op_repository.replaces_ufunc("accumulate")
def _ufunc_accumulate(visitor, node, sdfg, state, name, arguments, keywords):
    emitter = Emitter(visitor, f"numpy.{name}.accumulate", state)
    result = _accumulate(emitter, name, *_flat(arguments), **keywords)
    emitter.finish()
    return [result]


def _accumulate(emitter: Emitter, name, array, axis=0, dtype=None):
    ufunc = _binary_method(emitter, name, "accumulate")
    operand = emitter.array(array, "array")
    if not operand.shape:
        raise TypeError(f"{emitter.function}: array must have at least one dimension")
    operand = emitter.cast(operand, _accumulator(ufunc, operand, dtype))
    axis = static_axis(axis, len(operand.shape), emitter.function)
    return scan(emitter, name, expression(name, operand.dtype), operand, axis)


@op_repository.replaces_ufunc("outer")
def _ufunc_outer(visitor, node, sdfg, state, name, arguments, keywords):
    emitter = Emitter(visitor, f"numpy.{name}.outer", state)
    result = _outer(emitter, name, *_flat(arguments), **keywords)
    emitter.finish()
    return [result]


def _outer(emitter: Emitter, name, a, b, dtype=None):
    ufunc = _binary_method(emitter, name, "outer")
    left, right = emitter.operand(a, "A"), emitter.operand(b, "B")
    types, (result,) = loop_types(ufunc, (left.kind, right.kind), dtype)
    return emitter.compute(
        name, expression(name, types[0]), [*outer_operands(left, right)], result, left.shape + right.shape, types
    )


def outer_operands(left: Operand, right: Operand) -> tuple[Operand, Operand]:
    """``left`` along the first map parameters and ``right`` along the others."""
    params = [f"__i{k}" for k in range(len(left.shape) + len(right.shape))]
    return left.read_at(*params[: len(left.shape)]), right.read_at(*params[len(left.shape) :])


def _operator(name: str, python: str, arity: int):
    def replacement(visitor, sdfg, state, left, right=None):
        emitter = Emitter(visitor, f"operator {python}", state)
        result = apply_ufunc(emitter, name, [left, right][:arity])
        emitter.finish()
        return result

    return replacement


def _register_operators():
    for python, name in UNARY_OPERATORS.items():
        for container in CONTAINERS:
            op_repository.replaces_operator(container, python)(_operator(name, python, 1))
    others = (*CONTAINERS, "NumConstant", "BoolConstant", "symbol")
    for python, name in BINARY_OPERATORS.items():
        for container in CONTAINERS:
            for other in others:
                op_repository.replaces_operator(container, python, otherclass=other)(_operator(name, python, 2))
                op_repository.replaces_operator(other, python, otherclass=container)(_operator(name, python, 2))


_register_operators()
