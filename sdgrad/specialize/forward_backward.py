"""Run forward and backward as two functions, with the tape as a value between them."""

from __future__ import annotations

import inspect
import threading
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sdgrad.autodiff.request import Request
from sdgrad.autodiff.seeds import gradient_name, seed_name
from sdgrad.config import config, in_memory_of, memory_limit
from sdgrad.convert.callables import name_of, python_function
from sdgrad.errors import ArgumentError, NameNotFound, NotScalarError, TapeError
from sdgrad.machine.limits import Limit
from sdgrad.program.naming import is_returned
from sdgrad.runtime.call.device_arrays import Memory, is_resident, matching, placed, run
from sdgrad.runtime.call.marshalling import as_array, like
from sdgrad.specialize.arguments import Call
from sdgrad.specialize.compiled_halves import Compiled, Tapes, compile_halves
from sdgrad.specialize.signature import Signature
from sdgrad.specialize.verification import verified


@dataclass
class Tape:
    """Hold what a forward call leaves for any number of backward calls.

    It refers to the arguments of the call, and must not outlive changes of them; with ``config.checked``, a change is
    found (:class:`~sdgrad.errors.TapeError`).
    """

    programs: Compiled
    signature: Signature
    request: Request
    given: Mapping[str, Any]  # arguments as the caller gave them
    initial: Mapping[str, Any]  # the graph's arguments before the forward call
    arrays: Mapping[str, np.ndarray]  # what is kept, and the arguments after it
    outputs: Mapping[str, Any]  # by the names users have for them
    stamps: Mapping[str, int] = field(default_factory=dict)
    memory: Memory | None = None  # of a GPU, where arguments and tape are
    call: Call | None = None  # with the nests that arguments are

    @property
    def nbytes(self) -> int:
        """Return the size of what is kept apart from the arguments, in bytes."""
        kept = self.programs.between.kept if self.programs.between is not None else ()
        return sum(self.arrays[n].nbytes for n in kept if n in self.arrays)

    @property
    def differentiable(self) -> tuple[str, ...]:
        """Return the outputs that have a cotangent, by the names users have for them."""
        return tuple(u for u, c in output_names(self.signature).items() if c in self.request.outputs)

    def check(self) -> None:
        """Raise an error if an argument has been changed since."""
        for name, stamp in self.stamps.items():
            if _stamp(self.given[name]) != stamp:
                raise TapeError(
                    f"argument '{name}' has been changed since the forward call whose tape refers to it; "
                    "call forward again, or give it a copy"
                )


def _stamp(value: Any) -> int:
    return zlib.crc32(np.ascontiguousarray(as_array(value)).tobytes())


def output_names(signature: Signature) -> dict[str, str]:
    """Return outputs by the users' names: ``out``, or ``out_0``, ``out_1``; else the arguments written."""
    names = signature.outputs
    returned = [n for n in names if is_returned(n)]
    if len(returned) == 1:
        return {"out": returned[0]}
    return {f"out_{k}": n for k, n in enumerate(returned)} if returned else {n: n for n in names}


@dataclass
class Forward:
    """Call the first half, which returns the outputs and a :class:`Tape`.

    :param copied: the arguments are copies, which stay for the second half: a limit of memory counts them.
    """

    f: Callable
    requires: tuple[str, ...]
    provides: tuple[str, ...] | None
    tapes: Tapes = "least"
    strong_zero: bool = True
    memory_limit: Limit | None = None
    copied: bool = False

    def __post_init__(self) -> None:
        self.__name__ = f"forward_{name_of(self.f)}"
        self.__signature__ = inspect.signature(python_function(self.f))

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Any, Tape]:
        call = Call.of(self.f, args, kwargs)
        requires = tuple(n for r in self.requires for n in call.leaves(r)) if call.is_of_another else self.requires
        own = replace(self, f=call.f, requires=requires) if call.is_of_another else self
        tape = replace(own.run(call.arguments), call=call)
        return tape.signature.nested(tuple(tape.outputs.values())), tape

    def compiled(self, signature: Signature) -> tuple[dict[str, str], Request, Compiled]:
        """Return outputs by the users' names, the request, and the programs of both halves."""
        known = output_names(signature)
        if not known:
            raise NotScalarError(f"{name_of(self.f)} returns nothing and writes no argument")
        provides = tuple(n for n in known if signature.is_float(known[n])) if self.provides is None else self.provides
        if missing := [n for n in provides if n not in known]:
            raise NameNotFound("output", missing[0], list(known))
        present = tuple(n for n in self.requires if n in signature.program.containers)
        outputs = tuple(known[n] for n in provides)
        request = Request(
            present, outputs, False, self.strong_zero, rerun=self.tapes != "all", memory_limit=memory_limit()
        )
        return known, request, compile_halves(signature, request, self.tapes)

    def run(self, arguments: Mapping[str, Any]) -> Tape:
        """Run the forward half on arguments by name, and return the tape."""
        limit = self.memory_limit
        if limit is not None and self.copied:
            limit = replace(limit, beside=sum(v.nbytes for v in arguments.values() if isinstance(v, np.ndarray)))
        with in_memory_of(limit):
            return self._run(arguments)

    def _run(self, arguments: Mapping[str, Any]) -> Tape:
        memory, models = placed(arguments)
        signature = Signature.of(self.f, models, memory is not None)
        known, request, programs = self.compiled(signature)
        if memory is not None and not programs.fixed:  # arrays go through the memory of the host
            memory, signature = None, Signature.of(self.f, arguments)
            known, request, programs = self.compiled(signature)
        initial, kept = signature.arguments(arguments), programs.backward.descs
        if self.copied:  # and so is what the function reads outside
            initial |= {n: initial[n].copy() for n in kept if n in signature.closure and _is_array(initial.get(n))}
        found = verified(
            signature, arguments, lambda: run(programs.forward, initial, memory, sizes=programs.sizes(initial))
        )
        taken = kept if programs.between is not None else ()  # else backward starts with the arguments
        apart = {c: found[c].copy() for c in known.values() if c in taken and _is_array(found.get(c))}
        results = {n: signature.output_value(c, {**found, **apart}, arguments) for n, c in known.items()}
        stamped = arguments.items() if config.checked else ()
        stamps = {n: _stamp(v) for n, v in stamped if isinstance(as_array(v), np.ndarray)}
        return Tape(programs, signature, request, arguments, initial, found, results, stamps, memory)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or is_resident(value)


@dataclass
class Backward:
    """Call the second half with a tape and cotangents, any number of times; it returns gradients by name."""

    f: Callable
    requires: tuple[str, ...]

    def __post_init__(self) -> None:
        self.__name__ = f"backward_{name_of(self.f)}"

    def __call__(
        self, tape: Tape, *, into: Mapping[str, np.ndarray] | None = None, **cotangents: Any
    ) -> dict[str, Any]:
        """Return the gradients of one forward call.

        :param tape: what the forward call returned.
        :param into: arrays that gradients are added to, by argument; these arrays are what is returned for them.
        :param cotangents: one for each output, by its name (``out``, ``out_0``, ...) or that of its gradient
            (``grad_out``); an output without one has the cotangent zero. A single scalar needs none.
        :raises ArgumentError: a cotangent has another name or shape.
        :raises TapeError: in checked mode: an argument of the forward call has been changed since.
        """
        tape.check()
        if tape.call is not None and tape.call.nests:
            return self.of_nests(tape, tape.call, into, cotangents)
        gradients = self.run(tape, self.seeds(tape, cotangents))
        for name, array in (into or {}).items():
            if name not in gradients:
                raise NameNotFound("gradient", name, list(gradients))
            own = gradients[name] if is_resident(array) else as_array(gradients[name])
            array += own.reshape(np.shape(array))
            gradients[name] = array
        return gradients

    def of_nests(
        self, tape: Tape, call: Call, into: Mapping[str, Any] | None, cotangents: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return gradients of arguments that are nests, in nests like these."""
        if into is not None:
            raise ArgumentError("gradients of nests are not added to others: leave out into=")
        own = Backward(call.f, tuple(n for r in self.requires for n in call.leaves(r)))
        found = own(replace(tape, call=None), **cotangents)
        return {r: call.nest(r, found) for r in self.requires}

    def seeds(self, tape: Tape, cotangents: Mapping[str, Any]) -> dict[str, Any]:
        """Return the backward program's seeds: the given cotangents, and zeros for all other outputs."""
        signature, request = tape.signature, tape.request
        program = signature.program
        known = {u: c for u, c in output_names(signature).items() if c in request.outputs}
        given = _cotangents(tape, known, cotangents)
        return {
            seed_name(c, program, request): matching(given[u], tape.outputs[u], f"cotangent of {u}", tape.memory)
            if u in given
            else _zeros(np.shape(tape.outputs[u]) or (1,), program.containers[c].dtype.type, tape.memory)
            for u, c in known.items()
        }

    def run(self, tape: Tape, seeds: Mapping[str, Any]) -> dict[str, Any]:
        """Run the backward program on a tape, and return the gradients."""
        program, taken = tape.signature.program, tape.programs.between
        start = tape.initial if taken is None else {n: tape.initial[n] for n in taken.restarted if n in tape.initial}
        symbols = {n: v for n, v in tape.initial.items() if n not in program.containers}
        arrays = {} if taken is None else tape.arrays
        given, sizes = {**symbols, **arrays, **start, **seeds}, tape.programs.sizes(tape.initial)
        found = run(tape.programs.backward, given, tape.memory, sizes=sizes)
        return {n: self.gradient(n, tape, found) for n in self.requires}

    def gradient(self, name: str, tape: Tape, found: Mapping[str, np.ndarray]) -> Any:
        """Return the gradient of an argument, in its kind and shape."""
        original, program = tape.given[name], tape.signature.program
        if name not in program.containers:
            return like(np.zeros_like(np.asarray(as_array(original))), original)
        gradient = found[gradient_name(name, program)].reshape(np.shape(original))
        return gradient if is_resident(gradient) else like(gradient, original)


def _cotangents(tape: Tape, known: Mapping[str, str], cotangents: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cotangents by the outputs' names; that of a single scalar is one unless given."""
    given = {n.removeprefix("grad_") if n not in known else n: v for n, v in cotangents.items()}
    if unknown := [n for n in given if n not in known]:
        raise NameNotFound("cotangent", unknown[0], list(known))
    if not given and len(known) == 1 and np.ndim(next(iter(tape.outputs.values()))) == 0:
        given = dict.fromkeys(known, 1.0)
    if not given:
        raise ArgumentError(f"backward needs a cotangent: {', '.join(known)}")
    return given


def _zeros(shape: tuple[int, ...], dtype: Any, memory: Memory | None) -> Any:
    return np.zeros(shape, dtype) if memory is None else memory.full(shape, np.dtype(dtype), 0)


@dataclass
class Attached:
    """Call a function with its gradient attached: ``g(x)``, then ``g.backward(..)`` for the thread's last call."""

    forward: Forward
    pull: Backward
    _last: threading.local = field(default_factory=threading.local)

    def __post_init__(self) -> None:
        self.__name__ = name_of(self.forward.f)
        self.__signature__ = inspect.signature(python_function(self.forward.f))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        outputs, self._last.tape = self.forward(*args, **kwargs)
        return outputs

    def backward(self, *, into: Mapping[str, np.ndarray] | None = None, **cotangents: Any) -> dict[str, Any]:
        """Return the gradients of the last call in this thread, as :class:`Backward` does."""
        return self.pull(self.tape, into=into, **cotangents)

    @property
    def tape(self) -> Tape:
        """Return the tape of the last call in this thread."""
        if not hasattr(self._last, "tape"):
            raise TapeError(f"{self.__name__} has not been called in this thread: there is nothing to go back through")
        return self._last.tape

    @property
    def input_name_to_gradient_name(self) -> dict[str, str]:
        """Return the names of the arguments' gradients, among others as keywords."""
        return {n: f"grad_{n}" for n in self.pull.requires}

    @property
    def output_name_to_gradient_name(self) -> dict[str, str]:
        """Return the names of the outputs' cotangents; they are known after the first call."""
        return {n: f"grad_{n}" for n in self.tape.outputs}


def zero_grad(*arrays: np.ndarray) -> None:
    """Set gradients to zero, before others are accumulated."""
    for array in arrays:
        (array if is_resident(array) else as_array(array))[...] = 0
