"""Call programs from functions that are recorded: derivatives, modules and graphs take their place in the recording."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import sympy
from dace import data as dt

from sdgrad.errors import ParseError
from sdgrad.program.naming import is_shared, own_arguments, returned
from sdgrad.program.own_arrays import with_own_arrays
from sdgrad.program.tree import Container, Program, writes
from sdgrad.record.checks import take_over
from sdgrad.record.elements import dim
from sdgrad.record.functions.table import array
from sdgrad.record.reads import Read
from sdgrad.record.recorder import Recorder
from sdgrad.record.shared_inputs import shared_input
from sdgrad.record.stores import in_memory, store, writing
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import Array, Number, is_recorded
from sdgrad.runtime.call.checks import Checks
from sdgrad.runtime.call.marshalling import as_array

F = TypeVar("F", bound=Callable)


def example(value: Any) -> Any:
    """Return a value of NumPy's like a recorded one; only its type and its shape mean something."""
    if isinstance(value, Number):
        kind = {"i": int, "f": float, "c": complex}.get(value.dtype.kind)
        return kind() if value.weak and kind is not None else value.dtype.type(0)
    if not isinstance(value, Array):
        return value
    if has_open_size(value):
        raise ParseError(
            f"an array of shape ({', '.join(map(str, value.tensor.shape))}), whose size a loop changes, is an argument "
            "of a derivative, of a model, or of a program without the sizes as symbols in its annotations: give it an "
            "array of a size that is a number"
        )
    return np.zeros(value.tensor.shape, value.dtype)


def has_open_size(value: Any) -> bool:
    """True of an array with a size that a loop changes."""
    return isinstance(value, Array) and any(not isinstance(n, int) for n in value.tensor.shape)


def works_inside(f: F) -> F:
    """Decorate a function of ours that recorded functions may call as it is."""
    f.record_call = lambda recorder, args, kwargs: f(*args, **kwargs)  # type: ignore[attr-defined]
    return f


class WorksInside:
    """Base of objects that recorded functions may call as they are."""

    __call__: Callable[..., Any]

    def record_call(self, recorder: Recorder, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Record a call in a function that is recorded."""
        return self(*args, **kwargs)


def splice(
    recorder: Recorder,
    program: Program,
    closure: Mapping[str, Any],
    operands: Mapping[str, Any],
    shapes: Sequence[tuple[int, ...] | None],
    writes_back: bool = False,
) -> list[Any]:
    """Record a call of a program, and return its results.

    :param closure: what the program takes besides its arguments; what is recorded belongs to this recording.
    :param shapes: of the results, as NumPy has them: () is a number; None: as the program has it.
    :param writes_back: the program writes its arguments; if not, it writes copies of them.
    :raises ParseError: the program takes an array that nobody gives.
    """
    checks = {n: v for n, v in closure.items() if isinstance(v, Checks)}
    shared = {n: shared_input(recorder, n, v).container for n, v in closure.items() if is_shared(n)}
    own = program if writes_back else with_own_arrays(program)
    taken = {n: recorder.adopt(v) if is_recorded(v) else v for n, v in operands.items()}
    bound = {**shared, **dict.fromkeys(checks, "")}
    given = {**taken, **{n: closed(recorder, v) for n, v in closure.items() if n not in bound}}
    if missing := [n for n in own_arguments(own) if n not in given and n not in bound]:
        raise ParseError(f"'{own.name}' reads {', '.join(missing)}: neither an argument nor an array of the closure")
    changed = _written(own, given) if writes_back else {}
    for value in changed.values():
        writing(value)
    bound |= {n: _memory(recorder, given[n], own.containers[n].desc) for n in own_arguments(own) if n not in bound}
    sizes = _sizes(own, given)
    sizes |= {s: _integer(recorder, given[s]) for s in own.symbols if s in given and s not in sizes}
    memory = {name: _result(recorder, own.containers[name], sizes) for name in returned(own)}
    results = [_shaped(recorder, tensor, shape) for tensor, shape in zip(memory.values(), shapes, strict=True)]
    bound |= {n: t.container for n, t in memory.items()} | {n: _cleared(recorder) for n in checks}
    recorder.splice(own, bound, sizes)
    for name, array_ in changed.items():
        if bound[name] != array_.tensor.container:
            store(array_, Ellipsis, recorder.array(Tensor(recorder, bound[name], array_.tensor.shape, array_.dtype)))
    for name, found in checks.items():
        take_over(recorder, found, Tensor(recorder, bound[name], (), np.dtype(np.int64)))
    pairs = zip(results, shapes, strict=True)
    return [recorder.read(t, (0,) * t.rank) if s == () else recorder.array(t) for t, s in pairs]


def _result(recorder: Recorder, container: Container, sizes: Mapping[str, sympy.Expr]) -> Tensor:
    """Return memory for a result."""
    extents = [dim(sympy.sympify(n).subs(sizes)) for n in container.shape]
    return recorder.declare("t", extents, np.dtype(container.dtype.type))


def _shaped(recorder: Recorder, tensor: Tensor, shape: tuple[int, ...] | None) -> Tensor:
    """Return a result in its shape; None, and that of a number, is the one it has."""
    return tensor if not shape or tensor.shape == tuple(shape) else recorder.view(tensor, shape)


def _cleared(recorder: Recorder) -> str:
    """Return memory for the number of a check that fails."""
    status = recorder.declare("status", (), np.dtype(np.int64))
    recorder.write(status, (), 0)
    return status.container


def _written(program: Program, given: Mapping[str, Any]) -> dict[str, Array]:
    """Return the arrays among the arguments that a program writes."""
    names = {program.root(w) for node in program.body for w in writes(node)}
    return {n: v for n, v in given.items() if n in names and isinstance(v, Array)}


def _sizes(program: Program, given: Mapping[str, Any]) -> dict[str, sympy.Expr]:
    """Return the symbols that are extents of a program's arguments, by what they are here."""
    found: dict[str, sympy.Expr] = {}
    extents = [
        (sympy.sympify(n), sympy.sympify(own))
        for name, value in given.items()
        if isinstance(value, Array) and name in program.containers
        for n, own in zip(program.containers[name].shape, value.tensor.shape, strict=False)
    ]
    for n, own in extents:
        if n.is_Symbol and sympy.expand(found.setdefault(str(n), own) - own) != 0:
            raise ParseError(f"'{program.name}': {n} is {found[str(n)]} in one argument, and {own} in another")
    for n, own in extents:  # those like N + 1
        unknown = [s for s in n.free_symbols if str(s) not in found]
        solutions = sympy.solve(n.subs(found) - own, unknown[0]) if len(unknown) == 1 else []
        found |= {str(unknown[0]): solutions[0]} if len(solutions) == 1 else {}
    return found


def closed(recorder: Recorder, value: Any) -> Any:
    """Return what a program takes besides its arguments as a value of this recording."""
    if is_recorded(value):
        return recorder.adopt(value)
    if isinstance(value, Read):
        value = recorder.reads.adopt(value)
    if isinstance(as_array(value), np.ndarray):
        return recorder.outside(as_array(value))
    return value


def _memory(recorder: Recorder, value: Any, desc: dt.Data) -> str:
    """Return the container of a value, in the type and the layout of a program's argument."""
    dtype = np.dtype(desc.dtype.type)
    if not isinstance(value, Array) and (not isinstance(value, np.ndarray) or not value.ndim):
        return recorder.stored(value, dtype).container
    return in_memory(array(value), dtype).container


def _integer(recorder: Recorder, value: Any) -> Any:
    """Return an integer argument as an expression over symbols of this recording."""
    if isinstance(value, Number):
        return recorder.symbol(value)
    return sympy.Integer(int(value))
