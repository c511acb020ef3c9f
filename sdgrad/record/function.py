"""Record a Python function for arguments of certain kinds: its program, and the inputs it takes besides."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

import dace
import numpy as np
import sympy
from dace import data as dt
from dace import symbolic

import sdgrad.record.dispatch  # noqa: F401  (answers NumPy's protocols)
from sdgrad.convert.functions import converted
from sdgrad.errors import ParseError
from sdgrad.program.naming import result_names
from sdgrad.program.tree import Container, Program
from sdgrad.record.carried import Unusable, is_array, is_number
from sdgrad.record.elements import typeclass
from sdgrad.record.functions.table import activate
from sdgrad.record.indexing import as_array
from sdgrad.record.operators import RecordingOperators
from sdgrad.record.recorder import ONLY_DATA, Recorder
from sdgrad.record.restart import Hints, Restart
from sdgrad.record.stores import fill
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import Array, Number, Storage
from sdgrad.symbolic.expr import sym

MOST_RECORDINGS = 200


@dataclass(frozen=True)
class Recording:
    """Hold what was recorded of a function.

    :param closure: the arrays that the program takes besides the arguments, by name.
    :param fixed: arguments whose values the program is for.
    """

    program: Program
    closure: Mapping[str, Any]
    fixed: frozenset[str]


def record(f: Callable, arguments: Mapping[str, Any]) -> Recording:
    """Record a function for arguments of these shapes and dtypes."""
    hints = Hints()
    for _ in range(MOST_RECORDINGS):
        try:
            return _recorded(f, arguments, hints)
        except Restart:
            continue
    raise ParseError(f"{f.__name__}: recording does not come to an end")


def _recorded(f: Callable, arguments: Mapping[str, Any], hints: Hints) -> Recording:
    name = getattr(f, "__name__", type(f).__name__)
    recorder = Recorder(name if name.isidentifier() else "function", hints=hints)
    recorder.names.add(["__return", *arguments])
    given = {n: _argument(recorder, n, v) for n, v in arguments.items()}
    own = [n for n, v in given.items() if isinstance(v, (Array, Number))]
    args, kwargs = _positional(f, given)
    operators = RecordingOperators(recorder)
    function = converted(f, operators) if isinstance(f, FunctionType) else None
    stack = activate(recorder)
    try:
        found = (function or f)(*args, **kwargs)
        results = _results(recorder, found)
    finally:
        stack.pop()
    recorder.flush()
    inputs = {n: v for n, v in recorder.inputs.items() if n in recorder.containers}
    program = recorder.program([*[n for n in own if n in recorder.containers], *inputs, *results])
    return Recording(program, inputs, frozenset(hints.fixed))


def _argument(recorder: Recorder, name: str, value: Any) -> Any:
    """Return what stands for an argument: recorded arrays and numbers; all else is itself."""
    if isinstance(value, np.ndarray):
        tensor = recorder.declare(name, value.shape, value.dtype, argument=True)
        return Array(recorder, Storage(name, None, recorder.blocks[0], None), tensor)
    if isinstance(value, (bool, np.bool_)) or not is_number(value) or name in recorder.hints.fixed:
        return value
    origin = frozenset({("argument", name)})
    weak = type(value) in (int, float, complex)
    if type(value) is int or isinstance(value, np.int64):
        recorder.symbols[name] = dace.int64
        return Number(recorder, np.int64, weak, origin, expr=sym(name))
    dtype = np.asarray(value).dtype
    recorder.containers[name] = Container(name, dt.Scalar(typeclass(dtype), transient=False))
    return Number(recorder, dtype, weak, ONLY_DATA, tensor=Tensor(recorder, name, (), dtype))


def _positional(f: Callable, given: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments by name as a call takes them."""
    bound = inspect.signature(f).bind_partial()
    bound.arguments.update(given)
    return list(bound.args), dict(bound.kwargs)


def _results(recorder: Recorder, found: Any) -> list[str]:
    """Write what the function returned to the program's results, and return their names."""
    if found is None:
        return []
    values = list(found) if isinstance(found, (tuple, list)) else [found]
    names = result_names(values)
    for name, value in zip(names, values, strict=True):
        if isinstance(value, Unusable):
            value.refuse()
        if not is_number(value) and not is_array(value):
            raise ParseError(f"{recorder.name} returns a {type(value).__name__}: return numbers and arrays")
        if isinstance(value, (Array, np.ndarray)):
            array = as_array(recorder, value)
            tensor = recorder.declare(name, array.tensor.shape, array.dtype, argument=True)
            fill(Array(recorder, Storage(name, None, recorder.blocks[0], None), tensor), array)
        else:
            dtype = value.dtype if isinstance(value, (Number, np.generic)) else np.asarray(value).dtype
            tensor = recorder.declare(name, (), dtype, argument=True)
            recorder.write(tensor, (), value)
    return names


def needs_dace(f: Any) -> bool:
    """True of functions with constructs of DaCe: maps, tasklets, symbols, which only its parser reads."""
    function = getattr(f, "f", f)
    if not isinstance(function, FunctionType):
        return False
    annotated = any(_of_dace(a) for a in function.__annotations__.values())
    return annotated or any(_of_dace(function.__globals__.get(n)) for n in _names(function.__code__))


def _names(code: CodeType) -> set[str]:
    """Return the global names that code and the code in it mention."""
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def _of_dace(value: Any) -> bool:
    """True of DaCe itself, its symbols, and types with symbols in their shapes."""
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] == "dace"
    if isinstance(value, dt.Array):
        return any(not isinstance(n, int) and sympy.sympify(n).free_symbols for n in value.shape)
    return isinstance(value, symbolic.symbol)
