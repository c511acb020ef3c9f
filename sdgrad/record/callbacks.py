"""Call Python functions at run time from recorded functions: ``pure_callback``."""

from __future__ import annotations

import itertools
import json
import linecache
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, ClassVar, TypeVar, cast

import dace
import dace.library
import numpy as np
from dace import nodes as nd
from dace import properties
from dace.transformation.transformation import ExpandTransformation

from sdgrad.convert.callables import name_of
from sdgrad.errors import ArgumentError, ParseError
from sdgrad.program.custom_rule import custom_vjp
from sdgrad.record.functions.on_demand import offer
from sdgrad.record.functions.table import array, rule
from sdgrad.record.nests import Form, flatten, matched, unflatten
from sdgrad.record.recorder import Recorder
from sdgrad.record.special_methods import RecordingOperators
from sdgrad.record.stores import in_memory
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import Array, Number, is_recorded
from sdgrad.runtime.compile.python_call import CallsPython, array_at, calling, failed

NO_RULE = "Python is called here, which has no derivative: give pure_callback a vjp, or detach its arguments"
_numbers = itertools.count()
F = TypeVar("F", bound=Callable[..., Any])
_called: dict[str, Called | Backwards] = {}


def pure_callback(f: F, result_like: Any, vjp: Callable[..., Any] | None = None) -> F:
    """Return a function that calls ``f`` at run time: for what cannot be recorded, like tables, solvers in C, SciPy.

    ``f`` gets NumPy arrays and numbers in nests like the arguments, and returns what ``result_like`` is like. Python's
    lock is held while it runs; its exceptions are raised from the call of the compiled program. It must be pure: it is
    called as often as the program likes, and not at all where nobody needs its result. Compare ``jax.pure_callback``.

    :param f: the function.
    :param result_like: an array or a number of the result's shape and dtype, or a nest of such; only these matter.
    :param vjp: ``vjp(cotangent, *args)`` returns the cotangents of the arguments: one for each, in a tuple if there are
        several, of their shapes; None is zero. ``cotangent`` is like the result. Without it, nothing that depends on
        the result can be differentiated.
    :returns: a function with the arguments of ``f``; outside of a recorded function it calls ``f``.
    """
    if not callable(f) or vjp is not None and not callable(vjp):
        raise ArgumentError("pure_callback takes a function, what its result is like, and vjp=a function")
    leaves, form = flatten(result_like)
    if not leaves:
        raise ArgumentError("pure_callback needs arrays or numbers that its results are like")
    return cast(F, PureCallback(f, form, tuple(kind_of(x) for x in leaves), vjp))


rule(pure_callback)(pure_callback)
offer("scipy.linalg", "sdgrad.record.python_values")

Kind = tuple[tuple[int, ...], str]  # shape and dtype


def kind_of(value: Any) -> Kind:
    """Return shape and dtype of an array, a number, or anything that has both."""
    shape = value.tensor.shape if isinstance(value, Array) else () if isinstance(value, Number) else np.shape(value)
    if not all(isinstance(n, int) for n in shape):
        raise ParseError(f"the result of a pure_callback has the shape {shape}: it needs sizes that are numbers")
    dtype = np.dtype(value.dtype if hasattr(value, "dtype") else type(value))
    if dtype.kind not in "biufc":
        raise ArgumentError(f"a pure_callback returns arrays and numbers, not {dtype}")
    return tuple(shape), str(dtype)


@dataclass(frozen=True)
class PureCallback:
    """A function that is called at run time."""

    f: Callable
    form: Form
    kinds: tuple[Kind, ...]
    vjp: Callable | None

    @property
    def __name__(self) -> str:
        return name_of(self.f)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        found = results_of(self.f(*args, **kwargs), self.form, self.kinds, name_of(self.f))
        return unflatten(self.form, [a if a.ndim else a[()] for a in found])

    def record_call(self, recorder: Recorder, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Record a call in a function that is recorded."""
        leaves, form = flatten((args, dict(kwargs)))
        moved = [k for k, v in enumerate(leaves) if is_recorded(v)]
        given = [leaves[k] for k in moved]
        call = Called(self.f, form, tuple(leaves), tuple(moved), self.form, self.kinds)
        found = call(*given) if self.vjp is None or not given else self._with_rule(call, self.vjp, given)
        return unflatten(self.form, found if isinstance(found, tuple) else (found,))

    def _with_rule(self, call: Called, vjp: Callable, given: Sequence[Any]) -> Any:
        """Record a call that has a derivative: by another call."""
        floats = [k for k, v in enumerate(given) if v.dtype.kind in "fc"]
        back = Backwards(call, vjp, tuple(floats))
        names = [f"a{k}" for k in range(len(given))]
        outs = ["grad_out"] if len(self.kinds) == 1 else [f"grad_out_{k}" for k in range(len(self.kinds))]
        function = custom_vjp(_written(call.__name__, names, call))
        function.defvjp(_written(f"vjp_of_{call.__name__}", [*names, *outs], back))
        return RecordingOperators().call(function, *given)


def _written(name: str, names: Sequence[str], called: Called | Backwards) -> Any:
    """Return a function with these parameters that hands them on: rules go by the names of parameters."""
    source = f"def {name}({', '.join(names)}):\n    return called({', '.join(names)})\n"
    file = f"<{name} {next(_numbers)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space: dict[str, Any] = {"called": called, "__name__": "__main__"}
    exec(compile(source, file, "exec"), space)
    found = space[name]
    assert isinstance(found, FunctionType)
    return found


@dataclass(frozen=True, eq=False)
class Called:
    """One call of a function, as it is written in a program.

    :param leaves: of its arguments, with what was recorded in some places.
    :param moved: these places.
    :param told: why it has no derivative.
    """

    f: Callable
    given: Form
    leaves: tuple[Any, ...]
    moved: tuple[int, ...]
    form: Form
    kinds: tuple[Kind, ...]
    told: str = NO_RULE

    @property
    def __name__(self) -> str:
        name = name_of(self.f)
        return name if name.isidentifier() else "function"

    def arguments(self, values: Sequence[Any]) -> tuple[tuple, dict[str, Any]]:
        """Return the arguments of the function with values for what was recorded."""
        leaves = list(self.leaves)
        for place, value in zip(self.moved, values, strict=True):
            leaves[place] = value
        return unflatten(self.given, leaves)

    def run(self, values: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Call the function, and return its results."""
        args, kwargs = self.arguments([v if v.ndim else v[()] for v in values])
        return results_of(self.f(*args, **kwargs), self.form, self.kinds, name_of(self.f))

    def __call__(self, *values: Any) -> Any:
        return called(self, self.kinds, values)

    def record_call(self, recorder: Recorder, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        return called(self, self.kinds, args)


@dataclass(frozen=True, eq=False)
class Backwards:
    """The call of a function's derivative: it takes what the function takes, and the cotangents of its results.

    :param floats: the positions of arguments that have cotangents.
    """

    forward: Called
    vjp: Callable
    floats: tuple[int, ...]
    told: str = NO_RULE

    @property
    def __name__(self) -> str:
        return f"vjp of {self.forward.__name__}"

    def run(self, values: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Call the derivative, and return one cotangent for each floating-point argument."""
        count = len(self.forward.moved)
        plain = [v if v.ndim else v[()] for v in values]
        args, kwargs = self.forward.arguments(plain[:count])
        found = self.vjp(unflatten(self.forward.form, plain[count:]), *args, **kwargs)
        leaves = self._leaves(found, len(args))
        wanted = [values[k] for k in self.floats]
        parts = [leaves[self.forward.moved[k]] for k in self.floats]
        return [
            np.zeros_like(w) if p is None else _checked(p, (w.shape, str(w.dtype)), self.__name__)
            for p, w in zip(parts, wanted, strict=True)
        ]

    def _leaves(self, found: Any, count: int) -> list[Any]:
        """Return cotangents by the leaves of the arguments, None where there is none."""
        args = found if isinstance(found, tuple) and (count != 1 or len(found) == 1) else (found,)
        if len(args) != count:
            raise ArgumentError(f"{self.__name__} returns {len(args)} cotangents for {count} arguments")
        places = unflatten(self.forward.given, list(range(len(self.forward.leaves))))[0]
        leaves: list[Any] = [None] * len(self.forward.leaves)
        for part, place in zip(args, places, strict=True):
            if part is not None:
                own, form = flatten(place)
                for k, value in zip(own, matched(form, part), strict=True):
                    leaves[k] = value
        return leaves

    def record_call(self, recorder: Recorder, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        given = args[: len(self.forward.moved)]
        return called(self, [kind_of(given[k]) for k in self.floats], args)


def results_of(found: Any, form: Form, kinds: Sequence[Kind], name: str) -> list[np.ndarray]:
    """Return results as arrays of the kinds that were promised.

    :raises ArgumentError: they are others.
    """
    try:
        leaves = matched(form, found)
    except (ValueError, TypeError) as error:
        raise ArgumentError(f"{name} returns something else than result_like: {error}") from None
    return [_checked(v, k, name) for v, k in zip(leaves, kinds, strict=True)]


def _checked(value: Any, kind: Kind, name: str) -> np.ndarray:
    own = np.asarray(value)
    if own.shape != kind[0] or not np.can_cast(own.dtype, kind[1], "same_kind"):
        raise ArgumentError(f"{name} returns {own.dtype} of shape {own.shape}, not {kind[1]} of shape {kind[0]}")
    return own.astype(kind[1], copy=False)


# --- in programs -----------------------------------------------------------------------------------------------
@dace.library.expansion
class ExpandPythonCall(ExpandTransformation):
    """Expand to the tasklet that calls."""

    environments: ClassVar[list] = []

    @staticmethod
    def expansion(node: PythonCall, state: dace.SDFGState, sdfg: dace.SDFG, **kwargs: Any) -> dace.SDFG:
        inputs = {e.dst_conn: sdfg.arrays[e.data.data] for e in state.in_edges(node)}
        outputs = {e.src_conn: sdfg.arrays[e.data.data] for e in state.out_edges(node)}
        takes, gives = ([f"_{c}{k}" for k in range(len(at))] for c, at in (("in", inputs), ("out", outputs)))
        own = ({n: inputs[n] for n in takes}, {n: outputs[n] for n in gives})
        return calling(node.label, __name__, node.text.replace('"', r"\""), *own)


@dace.library.node
class PythonCall(CallsPython, nd.LibraryNode):
    """A call of a Python function of this process, by its number."""

    implementations: ClassVar[dict[str, type]] = {"python": ExpandPythonCall}
    default_implementation: ClassVar[str] = "python"

    text = properties.Property(dtype=str, default="", desc="Number, shapes and dtypes, as JSON")

    def __init__(self, name: str = "python_call", text: str = "", takes: int = 0, gives: int = 0) -> None:
        connectors = ({f"_{c}{k}" for k in range(n)} for c, n in (("in", takes), ("out", gives)))
        super().__init__(name, **dict(zip(("inputs", "outputs"), connectors, strict=True)))
        self.text = text


def called(call: Called | Backwards, kinds: Sequence[Kind], values: Sequence[Any]) -> Any:
    """Record a call of Python, and return its results: one, or a tuple."""
    recorder = next(v.recorder for v in values if is_recorded(v))
    operands = {f"_in{k}": _operand(recorder, v, call.__name__) for k, v in enumerate(values)}
    results = {f"_out{k}": recorder.declare("t", s, np.dtype(d)) for k, (s, d) in enumerate(kinds)}
    number = str(next(_numbers))
    _called[number] = call
    takes = [(x.shape, str(x.dtype)) for x in operands.values()]
    text = json.dumps([number, takes, list(kinds)])
    recorder.call_into(PythonCall(call.__name__, text, len(operands), len(results)), operands, results, call.told)
    found = tuple(recorder.array(t) if t.shape else recorder.read(t, ()) for t in results.values())
    return found if len(found) > 1 else found[0]


def _operand(recorder: Recorder, value: Any, name: str) -> Tensor:
    """Return a value as all of a container."""
    if isinstance(value, Number):
        return recorder.stored(value, value.dtype)
    tensor = in_memory(array(value), value.dtype)
    if not all(isinstance(n, int) for n in tensor.shape):
        raise ParseError(f"{name} is called at run time with an array of shape {tensor.shape}: sizes must be numbers")
    return tensor


def run(text: str, inputs: Sequence[int], outputs: Sequence[int]) -> bool:
    """Call a function on arrays at these addresses: generated code does so."""
    number, takes, gives = json.loads(text)
    targets = [array_at(a, s, d) for a, (s, d) in zip(outputs, gives, strict=True)]
    try:
        values = [array_at(a, s, d).copy() for a, (s, d) in zip(inputs, takes, strict=True)]
        for target, value in zip(targets, _called[number].run(values), strict=True):
            target[...] = value
    except BaseException as error:  # noqa: BLE001 (it must not pass through C)
        failed(error, targets)
    return True
