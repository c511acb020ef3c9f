"""Record a Python function for arguments of certain kinds: its program, and the inputs it takes besides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy
from dace import data as dt

import sdgrad.record.dispatch  # noqa: F401  (answers NumPy's protocols)
from sdgrad.convert.callables import name_of
from sdgrad.errors import ParseError
from sdgrad.lift.dace_functions import sizes_of
from sdgrad.program.naming import result_names
from sdgrad.program.tree import Container, Program, writes
from sdgrad.record.carried import is_number, is_value
from sdgrad.record.elements import typeclass
from sdgrad.record.escaped import over
from sdgrad.record.functions.on_demand import load_imported, offer
from sdgrad.record.functions.table import activate
from sdgrad.record.guards import Refused
from sdgrad.record.index_limits import IndexLimit, kept_limits
from sdgrad.record.indexing import as_array
from sdgrad.record.labels import labelled
from sdgrad.record.left_outside import left
from sdgrad.record.nests import Form, returned
from sdgrad.record.outside import Change
from sdgrad.record.reads import is_numeric
from sdgrad.record.recorder import ONLY_DATA, Recorder
from sdgrad.record.restart import Fits, Hints, Restart
from sdgrad.record.shown import located
from sdgrad.record.special_methods import RecordingOperators
from sdgrad.record.stores import fill
from sdgrad.record.tensors import Tensor
from sdgrad.record.unusable import Unusable
from sdgrad.record.values import Array, Number, Origin, Storage, is_recorded
from sdgrad.symbolic.expr import free_names

offer("mpi4py.MPI", "sdgrad.record.message_passing", "sdgrad.record.collectives")

MOST_RECORDINGS = 200


@dataclass(frozen=True)
class Recording:
    """Hold what was recorded of a function.

    :param closure: what the program takes besides the arguments, by name: arrays, and how to read them at each call.
    :param fixed: arguments whose values the program is for.
    :param guards: what was read outside of the function, and has to be the same for the program to be the right one.
    :param form: the nest in which the results come; None if the function returns nothing.
    :param numbers: the results that are numbers.
    :param fits: what has to hold of integer arguments.
    :param limits: what index arrays among the inputs may hold.
    :param changed: what the function binds outside of itself, with what was bound before.
    :param found: errors, by the inputs that hold what is outside, and is changed: results must not depend on it.
    """

    program: Program
    closure: Mapping[str, Any]
    fixed: frozenset[str]
    guards: tuple[Any, ...] = ()
    form: Form | None = None
    numbers: frozenset[str] = frozenset()
    changed: tuple[Change, ...] = ()
    fits: tuple[Fits, ...] = ()
    limits: tuple[IndexLimit, ...] = ()
    found: Mapping[str, str] = field(default_factory=dict)


def record(f: Callable, arguments: Mapping[str, Any], of_rule: bool = False, hints: Hints | None = None) -> Recording:
    """Record a function for arguments of these shapes and dtypes.

    :param of_rule: it is a rule of the user's: factorizations in it are not checked.
    :param hints: what is found on the way, also by a recording that fails.
    """
    load_imported()
    hints = hints or Hints(of_rule=of_rule)
    for _ in range(MOST_RECORDINGS):
        try:
            return _recorded(f, arguments, hints)
        except Restart as restart:
            if restart.hints is not hints:  # of the function around this one
                raise
        except Refused as refused:
            if hints.lacking or hints.fix_sizes(refused.error):
                continue
            located(refused.error)
            raise refused.error from None
        except RecursionError as error:  # whether a function calls itself again may depend on a counter
            counts = {n for n, v in arguments.items() if type(v) is int or isinstance(v, np.integer)}
            if counts <= hints.fixed:
                located(error)
                raise
            hints.fixed |= counts
        except Exception as error:  # a function may need to know the sizes that are open
            if hints.lacking or hints.fix_sizes(error):
                continue
            located(error)
            raise
    raise hints.caller or ParseError(f"{name_of(f)}: recording does not come to an end")


def unknown_size(argument: str, name: str) -> ParseError:
    """Return the error for a number that decides shapes and of which only the type is known."""
    return ParseError(
        f"'{argument}' of {name} decides shapes: inside of a program it has to be a number that is written there, or a "
        "global one"
    )


def _recorded(f: Callable, arguments: Mapping[str, Any], hints: Hints) -> Recording:
    name, hints.lacking = name_of(f), False
    if unknown := [n for n, v in arguments.items() if isinstance(v, dt.Scalar) and n in hints.fixed]:
        raise unknown_size(unknown[0], name)
    recorder = Recorder(name if name.isidentifier() else "function", hints=hints, sizes=sizes_of(f, arguments))
    taken = {str(s) for v in arguments.values() if isinstance(v, sympy.Basic) for s in v.free_symbols}
    recorder.around |= taken
    recorder.names.add(["__return", *arguments, *taken])
    given = {n: _argument(recorder, n, v) for n, v in arguments.items()}
    own = [n for n, v in given.items() if isinstance(v, (Array, Number))]
    recorder.reads.arguments(given)
    recorder.outside_places.again(hints)
    stack, operators = activate(recorder), RecordingOperators()
    try:
        for collection in hints.met.values():
            recorder.reads.known_first(collection, operators.met)
        results, form = _results(recorder, operators.call_of(f, given), given)
        if hints.lacking:
            raise Restart(hints)
        recorder.flush()
        for check in recorder.ends:
            check()
        changed = recorder.outside_places.finish(recorder.reads, hints, left)
    except BaseException:
        recorder.outside_places.put_back()
        recorder.reads.put_back()
        raise
    finally:
        stack.pop()
        recorder.over = True
        over(operators)
    arrays = [n for n in (*own, *recorder.inputs) if n in recorder.containers]
    program = labelled(recorder, recorder.program([*arrays, *results]))
    numbers = frozenset(n for n, rank in results.items() if not rank)
    guards = recorder.reads.guards()
    written = {program.root(name) for node in program.body for name in writes(node)}
    fits, limits = tuple(hints.fits.values()), kept_limits(recorder, written)
    found = recorder.outside_places.found
    fixed = frozenset(hints.fixed)
    return Recording(program, recorder.inputs, fixed, guards, form, numbers, changed, fits, limits, found)


def _argument(recorder: Recorder, name: str, value: Any) -> Any:
    """Return what stands for an argument: recorded arrays and numbers; all else is itself."""
    if isinstance(value, np.ndarray) and value.ndim == 0 and is_numeric(value):
        found = _argument(recorder, name, value[()])
        if isinstance(found, Number):
            found.is_array = True
        return found
    if isinstance(value, dt.Scalar):
        value = value.dtype.type(0)
    if isinstance(value, dt.Array):
        tensor = recorder.declare(name, value.shape, value.dtype.type, argument=True)
        return Array(recorder, Storage(name, None, recorder.blocks[0], None), tensor)
    if isinstance(value, sympy.Basic):
        return recorder.symbolic(value, ONLY_DATA)
    if isinstance(value, np.ndarray) and not is_numeric(value):
        return value  # texts, say: Python's, and part of the signature
    if isinstance(value, np.ndarray) and value.dtype.kind in "biu":
        if name in recorder.hints.fixed:
            found = recorder.known(value.copy())
            found.storage.readonly = f"'{name}' is written, and its content decides what is recorded: copy it first"
            return found
        recorder.hints.countable.add(name)
    if isinstance(value, np.ndarray):
        tensor = recorder.declare(name, value.shape, value.dtype, argument=True)
        return Array(recorder, Storage(name, None, recorder.blocks[0], None), tensor)
    if isinstance(value, (bool, np.bool_)) or not is_number(value) or name in recorder.hints.fixed:
        return value
    origin = frozenset({("argument", name)})
    weak = type(value) in (int, float, complex)
    if type(value) is int or isinstance(value, np.int64):
        symbol = recorder.symbol(_scalar(recorder, name, np.dtype(np.int64), weak, origin), f"{name}_value")
        recorder.hints.counts[str(symbol)] = (name, int(value))
        return Number(recorder, np.int64, weak, origin, expr=symbol)
    return _scalar(
        recorder, name, np.asarray(value).dtype, weak, origin if isinstance(value, np.integer) else ONLY_DATA
    )


def _scalar(recorder: Recorder, name: str, dtype: np.dtype, weak: bool, origin: Origin) -> Number:
    """Declare an argument that is a number."""
    kind = typeclass(dtype)
    # complex numbers are not passed by value: C and ctypes do not agree on how
    desc = dt.Array(kind, [1]) if dtype.kind == "c" else dt.Scalar(kind, transient=False)
    recorder.containers[name] = Container(name, desc)
    return Number(recorder, dtype, weak, origin, tensor=Tensor(recorder, name, (), dtype))


def _check_size(recorder: Recorder, array: Array, given: Mapping[str, Any]) -> None:
    """Start again with integer arguments fixed that decide the size of a result.

    :raises ParseError: only a run knows it.
    """
    own = {n for v in given.values() if isinstance(v, Array) for d in v.tensor.shape for n in free_names(d)}
    sizes = {n for d in array.tensor.shape for n in free_names(d)} - own
    decide = {str(v.expr): n for n, v in given.items() if isinstance(v, Number) and v.expr is not None}
    if sizes and decide:
        raise recorder.hints.fix({("argument", decide[s]) for s in sizes & decide.keys() or decide})
    if sizes:
        raise ParseError(
            f"{recorder.name} returns an array of shape ({', '.join(map(str, array.tensor.shape))}), which only a run "
            "knows: return what is computed of it, or write it into an array of a known size"
        )


def _results(recorder: Recorder, found: Any, given: Mapping[str, Any]) -> tuple[dict[str, int], Form | None]:
    """Write what the function returned to the program's results, and return their ranks by name, and their form.

    :param given: the arguments, as they are recorded.
    """
    if found is None:
        return {}, None
    leaves, form = returned(found)
    values = [v.as_number() if isinstance(v, Unusable) else v for v in leaves]
    names = result_names(values)
    for name, value in zip(names, values, strict=True):
        if not is_value(value):
            raise ParseError(f"{recorder.name} returns a {type(value).__name__}: return numbers and arrays")
        value = recorder.adopt(value) if is_recorded(value) else value
        if isinstance(value, (Array, np.ndarray)):
            array = as_array(recorder, value)
            _check_size(recorder, array, given)
            tensor = recorder.declare(name, array.tensor.shape, array.dtype, argument=True)
            fill(Array(recorder, Storage(name, None, recorder.blocks[0], None), tensor), array)
        else:
            dtype = value.dtype if isinstance(value, (Number, np.generic)) else np.asarray(value).dtype
            tensor = recorder.declare(name, (), dtype, argument=True)
            recorder.write(tensor, (), value)
    return {n: getattr(v, "ndim", 0) for n, v in zip(names, values, strict=True)}, form
