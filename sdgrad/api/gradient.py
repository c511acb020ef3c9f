"""Gradients of functions: ``grad``, ``value_and_grad``, ``vjp``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Concatenate, Literal, cast, overload

import numpy as np

from sdgrad.api.less_memory import limit_of_what_is_free
from sdgrad.api.typed import ByFirst, DiskLimit, First, MemoryLimit, Options, P, R
from sdgrad.autodiff.differentiate import differentiate_program
from sdgrad.autodiff.request import Request
from sdgrad.autodiff.seeds import gradient_name, seed_name
from sdgrad.config import DeviceKind, config, in_memory_of, memory_limit, on_device
from sdgrad.convert.callables import hashable, name_of, python_function
from sdgrad.convert.keywords import own_keywords
from sdgrad.errors import ArgumentError, MemoryLimitError, NameNotFound, NotScalarError, OutOfMemory
from sdgrad.machine.limits import Limit
from sdgrad.program.functions import returning
from sdgrad.program.kinds import kind_of
from sdgrad.program.naming import own_arguments
from sdgrad.program.tree import Program
from sdgrad.record.nests import Form, flatten
from sdgrad.record.shown import short
from sdgrad.runtime.call.device_arrays import placed
from sdgrad.runtime.call.marshalling import as_array, like
from sdgrad.specialize.argnums import Wrt, key, names_of, several
from sdgrad.specialize.arguments import Call
from sdgrad.specialize.compiled_gradient import CompiledGradient
from sdgrad.specialize.compiled_halves import Tapes
from sdgrad.specialize.forward_backward import Attached, Backward, Forward
from sdgrad.specialize.nested_calls import CalledInPrograms
from sdgrad.specialize.prepared_calls import MISSING, PreparedCalls
from sdgrad.specialize.protocols import Derived
from sdgrad.specialize.signature import Signature, identity
from sdgrad.specialize.verification import verified

if TYPE_CHECKING:
    from typing_extensions import Unpack


@overload
def value_and_grad(  # type: ignore[overload-overlap]
    f: Callable[Concatenate[First, P], R], wrt: Literal[0] = 0, **options: Unpack[Options]
) -> ByFirst[First, P, tuple[R, First]]: ...


@overload
def value_and_grad(f: Callable[P, R], wrt: int | str, **options: Unpack[Options]) -> Callable[P, tuple[R, Any]]: ...


@overload
def value_and_grad(
    f: Callable[P, R], wrt: Sequence[int | str], **options: Unpack[Options]
) -> Callable[P, tuple[R, tuple[Any, ...]]]: ...


@own_keywords
def value_and_grad(
    f: Callable[..., Any],
    wrt: Wrt = 0,
    *,
    inplace: bool = False,
    strong_zero: bool = True,
    unused: str = "zero",
    device: DeviceKind | None = None,
    memory_limit: MemoryLimit = None,
    disk_limit: DiskLimit = None,
) -> Any:
    """Return a function that computes ``f``'s value and its gradient by one compiled program.

    :param f: a NumPy-style function or a ``@dace.program`` that returns one scalar. Shapes and dtypes are those of the
        arguments of a call; there is one compiled program for each signature.
    :param wrt: what to differentiate by: a position (which counts the elements of ``*args``), a name, or a sequence of
        either. The gradient is an array for one, a tuple in the same order for a sequence; each has the shape and dtype
        of its argument.
    :param inplace: let a program that writes its arguments write the caller's arrays instead of copies.
    :param strong_zero: a cotangent of exactly zero passes nothing on, even through an infinite derivative.
    :param unused: what an argument that does not influence the value has for a gradient: ``"zero"``: zeros; ``"none"``:
        None; ``"error"``: it raises :class:`~sdgrad.errors.UnusedInputError`.
    :param device: where it runs: ``"cpu"`` or ``"gpu"``; what :data:`sdgrad.config` says unless given.
    :param memory_limit: the most memory that a call may take beside its arguments: for results, temporaries, tapes and
        adjoints. Bytes, ``"2GiB"``, a share of what it takes without a limit, ``"25%"``, or ``"min"``. Loops keep some
        of their states then and run again from these; the fastest plan within the limit is taken.
    :param disk_limit: how many bytes of the states of loops may lie in files, beside ``memory_limit``: a number, or a
        text as ``"100GiB"``. The files are in the folder that ``SDGRAD_DISK_FOLDER`` names, or ``TMPDIR``, or
        ``/var/tmp``, without names: nothing of them is left after the call, or after the process.
    :returns: a callable with ``f``'s arguments that returns ``(value, gradient)``.
    :raises NotScalarError: ``f`` returns several values or an array (use :func:`vjp`).
    :raises DifferentiationError: with every reason why ``f`` cannot be differentiated.
    :raises MemoryLimitError: it takes more memory than it may, at the first call with arguments of these sizes.
    """
    return GradFunction(checked(f), wrt, True, inplace, strong_zero, unused, device, Limit.of(memory_limit, disk_limit))


def checked(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function if it can be differentiated: plain, a ``@dace.program``, or a derivative."""
    if isinstance(f, Derived):
        return f
    if not callable(f):
        raise ArgumentError(f"expected a function, got {type(f).__name__}")
    return f


@overload
def grad(  # type: ignore[overload-overlap]
    f: Callable[Concatenate[First, P], Any], wrt: Literal[0] = 0, **options: Unpack[Options]
) -> ByFirst[First, P, First]: ...


@overload
def grad(f: Callable[P, Any], wrt: int | str, **options: Unpack[Options]) -> Callable[P, Any]: ...


@overload
def grad(f: Callable[P, Any], wrt: Sequence[int | str], **options: Unpack[Options]) -> Callable[P, tuple[Any, ...]]: ...


@overload
def grad(
    f: Callable,
    *,
    requires: Sequence[str],
    provides: Sequence[str] | None = None,
    attach_backward: Literal[False] = False,
    tapes: Tapes = "least",
    strong_zero: bool = True,
    memory_limit: MemoryLimit = None,
    disk_limit: DiskLimit = None,
) -> tuple[Forward, Backward]: ...


@overload
def grad(
    f: Callable,
    *,
    requires: Sequence[str],
    provides: Sequence[str] | None = None,
    attach_backward: Literal[True],
    tapes: Tapes = "least",
    strong_zero: bool = True,
    memory_limit: MemoryLimit = None,
    disk_limit: DiskLimit = None,
) -> Attached: ...


@own_keywords
def grad(
    f,
    wrt=0,
    *,
    inplace=False,
    strong_zero=True,
    unused="zero",
    device=None,
    requires=None,
    provides=None,
    attach_backward=False,
    tapes="least",
    memory_limit=None,
    disk_limit=None,
):
    """Return a function that computes the gradient of ``f``, as :func:`value_and_grad` does. It can be differentiated.

    With ``requires``, forward and backward are two functions instead (FreeTensor's ``grad``)::

        forward, backward = sdgrad.grad(f, requires=["x"])
        value, tape = forward(x)
        gradients = backward(tape, out=cotangent)  # {"x": ...}, any number of times

    :param requires: the arguments whose gradients are asked for, by name.
    :param provides: the outputs that have cotangents: ``"out"`` is what ``f`` returns, ``"out_0"``, ``"out_1"``, .. if
        that is several arrays, and names of arguments those that it writes, if it returns nothing. None: all of them.
    :param attach_backward: return one function ``g`` with ``g.backward(out=..)``, of the last call in the same thread.
    :param tapes: what forward keeps: ``"least"``: what cannot be computed again, or put back, on the way; ``"all"``:
        every value that is needed and not there any more; ``"none"``: nothing but the arguments, forward runs again in
        backward; or names of variables: these, and all else is computed again. Loops that end when they do keep none.
    :param memory_limit: as :func:`value_and_grad` has it, with ``disk_limit``; with ``requires`` as :func:`vjp` has it.
    """
    limit = Limit.of(memory_limit, disk_limit)
    if requires is not None:
        if device is not None:
            raise ArgumentError("forward and backward apart run where sdgrad.config.device says")
        return _halves(f, requires, provides, attach_backward, tapes, strong_zero, limit)
    if provides is not None or attach_backward or tapes != "least":
        raise ArgumentError("provides, attach_backward and tapes go with requires: the names of arguments")
    return GradFunction(checked(f), wrt, False, inplace, strong_zero, unused, device, limit)


def _halves(f, requires, provides, attach_backward, tapes, strong_zero, limit) -> tuple[Forward, Backward] | Attached:
    """Return forward and backward as two functions, or as one with the other attached."""
    names = tuple([requires] if isinstance(requires, str) else requires)
    known = list(inspect.signature(python_function(checked(f))).parameters)
    if unknown := [n for n in names if n not in known]:
        raise NameNotFound("argument", unknown[0], known)
    if isinstance(tapes, str) and tapes not in ("least", "all", "none"):
        raise ArgumentError(f"tapes is 'least', 'all', 'none' or a list of names, not {tapes!r}")
    outputs = None if provides is None else tuple([provides] if isinstance(provides, str) else provides)
    if limit is not None and tapes != "least":
        raise ArgumentError("tapes says what is kept, and memory_limit how much: give one of them")
    halves = Forward(f, names, outputs, tapes, strong_zero, limit), Backward(f, names)
    return Attached(*halves) if attach_backward else halves


@dataclass
class GradFunction(CalledInPrograms):
    """``grad(f)`` or ``value_and_grad(f)``: compiled on demand, once for each signature."""

    f: Callable
    wrt: Wrt
    with_value: bool
    inplace: bool
    strong_zero: bool
    unused: str
    device: DeviceKind | None = None
    memory_limit: Limit | None = None
    prepared: PreparedCalls = field(default_factory=PreparedCalls, init=False, repr=False, compare=False)
    flat: dict[Hashable, GradFunction] = field(default_factory=dict, init=False, repr=False, compare=False)
    smaller: GradFunction | None = field(default=None, init=False, repr=False, compare=False)  # where memory is short

    def __post_init__(self) -> None:
        if self.unused not in ("zero", "none", "error"):
            raise ArgumentError(f"unused is 'zero', 'none' or 'error', not {self.unused!r}")
        name = name_of(self.f)
        self.__name__ = f"{'value_and_' if self.with_value else ''}grad_{name}"
        self.__signature__ = inspect.signature(python_function(self.f))
        self.__doc__ = f"The {'value and ' if self.with_value else ''}gradient of {name}."

    def identity(self) -> Hashable:
        own = (self.with_value, self.strong_zero, self.unused, self.device, self.memory_limit)
        return ("grad", identity(self.f), key(self.wrt), *own)

    def derive(self, arguments: Mapping[str, Any]) -> tuple[Program, Mapping[str, Any]]:
        """Return the differentiated program as a function of its value, if wanted, and its gradients.

        :raises ArgumentError: it has a limit of memory of its own.
        """
        if self.memory_limit is not None:
            raise ArgumentError("memory_limit holds for a whole program: give it to the outermost derivative")
        signature, names, output, request = self.question(arguments)
        program = differentiate_program(signature.program, replace(request, part=True)).program
        gradients = {n: gradient_name(n, signature.program) for n in names}
        zeros = {gradients[n]: np.asarray(as_array(arguments[n])) for n in names if n not in request.inputs}
        results = [output] * self.with_value + [gradients[n] for n in names]
        seeds = [seed_name(output, signature.program, request)]
        return returning(program, own_arguments(signature.program), results, seeds, zeros), signature.closure

    def question(
        self, arguments: Mapping[str, Any], resident: bool = False
    ) -> tuple[Signature, list[str], str, Request]:
        """Return signature, names to differentiate by, output, and the request to the engine."""
        names = names_of(self.wrt, self.f, arguments)
        signature = Signature.of(self.f, arguments, resident)
        output = self.scalar_output(signature)
        present = tuple(n for n in names if n in signature.program.containers)
        request = Request(present, (output,), False, self.strong_zero, self.unused, memory_limit=memory_limit())
        return signature, names, output, request

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            found = self.prepared(args, kwargs)
            if found is not MISSING:
                return found
            with on_device(self.device), in_memory_of(self.memory_limit):
                return self.general(args, kwargs)
        except OutOfMemory as lack:
            return self.in_less_memory(lack, args, kwargs)

    def in_less_memory(self, lack: OutOfMemory, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Compute a call within a share of the free memory, with a warning the first time.

        :param lack: what there is no memory for.
        :raises OutOfMemory: there are no checkpoints, or they do not help; or arguments may have been written already.
        """
        if self.inplace or self.memory_limit is not None or "checkpoints" in config.without:
            raise lack
        if self.smaller is None:
            self.smaller = replace(self, memory_limit=limit_of_what_is_free(lack, 3))
        try:
            return self.smaller(*args, **kwargs)
        except (MemoryLimitError, ArgumentError) as reason:
            raise lack from reason

    @short
    def general(self, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Compute a call of which nothing is known beforehand."""
        call = Call.of(self.f, args, kwargs)
        if call.is_of_another:
            own = self.of_leaves(call)
            found, build = own(*call.arguments.values()), self._nesting(call, own)
            if not call.symbols and not call.has_places:  # these are no part of what calls are looked up by
                self.prepared.nest(self.f, args, kwargs, own.prepared, call, build)
            return build(found)
        arguments = call.arguments
        memory, models = placed(arguments)
        signature, names, output, request = self.question(models, memory is not None)
        present = request.inputs
        program = signature.gradient(request)
        result = signature.program.containers[output]
        one = np.ones([1] * len(result.shape), result.dtype.type)
        seed = {seed_name(output, program.normalized, request): one}
        given = {**signature.arguments(arguments), **seed}
        found = verified(signature, arguments, lambda: program(given, self.inplace, memory), self.inplace)
        simple = not self.inplace and self.unused != "none" and list(present) == names
        if simple and memory is None:
            shapes = dict(zip(signature.outputs, signature.result_shapes(), strict=True))
            results = {output: shapes[output]} if self.with_value else {}
            results |= {gradient_name(n, program.normalized): np.shape(arguments[n]) for n in names}
            self.prepared.prepare(self.f, signature, program.program, args, kwargs, list(seed), results, self._results)
        gradients = tuple(self.gradient(n, program, n in present, found, arguments[n]) for n in names)
        answer = gradients if several(self.wrt) else gradients[0]
        return (signature.output_value(output, found, arguments), answer) if self.with_value else answer

    def _results(self, found: list[Any]) -> Any:
        """Return the results of a prepared call as the function does."""
        gradients = tuple(found[self.with_value :]) if several(self.wrt) else found[-1]
        return (found[0], gradients) if self.with_value else gradients

    def of_leaves(self, call: Call) -> GradFunction:
        """Return the gradient by the leaves of a call's arguments."""
        names = tuple(call.leaves(self.wrt))
        if not call.is_of_another and names == self.wrt:
            return self
        key = (hashable(call.f), names)
        if key not in self.flat:
            self.flat[key] = replace(self, f=call.f, wrt=names)
        return self.flat[key]

    def whole(self, call: Call, own: GradFunction, results: Sequence[Any]) -> Any:
        """Return results for leaves as this function returns them."""
        return self._nesting(call, own)((results[0], results[1:]) if self.with_value else results)

    def _nesting(self, call: Call, own: GradFunction) -> Callable[[Any], Any]:
        """Return the function that puts results for leaves in the nests of a call's arguments."""
        nested = call.builder(self.wrt, cast(Sequence[str], own.wrt))
        return lambda results: (results[0], nested(results[1])) if self.with_value else nested(results)

    def shapes(self, arguments: Mapping[str, Any]) -> list[tuple[int, ...]]:
        """Return the shapes of the results, () for numbers."""
        names = names_of(self.wrt, self.f, arguments)
        return [()] * self.with_value + [np.shape(as_array(arguments[n])) for n in names]

    def form(self, arguments: Mapping[str, Any]) -> Form | None:
        """Return the nest of value and gradients."""
        if not several(self.wrt):
            return None
        gradients = tuple(0 for _ in names_of(self.wrt, self.f, arguments))
        return flatten((0, gradients) if self.with_value else gradients)[1]

    def gradient(
        self, name: str, program: CompiledGradient, present: bool, found: Mapping[str, Any], original: Any
    ) -> Any:
        """Return the gradient by one argument; zero or None, by ``unused``, if the output does not depend on it.

        :param present: the argument is a container of the program.
        """
        if self.unused == "none" and not (present and program.depends_on(name)):
            return None
        return program.gradient(name, found, original) if present else _zero(original)

    def scalar_output(self, signature: Signature) -> str:
        """Return the name of the only output; raise an error unless it is a scalar."""
        outputs = signature.outputs
        name = name_of(self.f)
        if not outputs:
            raise NotScalarError(f"{name} returns nothing; grad needs one scalar: 'return' it")
        if len(outputs) != 1:
            raise NotScalarError(
                f"{name} has {len(outputs)} outputs; grad needs one scalar. Use sdgrad.vjp, which takes a "
                "cotangent for each output"
            )
        shape = signature.program.containers[outputs[0]].shape
        if any(n != 1 for n in shape):
            raise NotScalarError(
                f"{name} returns an array of shape ({', '.join(map(str, shape))}); grad needs a scalar. Use "
                "sdgrad.vjp with a cotangent of that shape, or sum the result"
            )
        if kind_of(signature.program.containers[outputs[0]].dtype) == "complex":
            raise NotScalarError(
                f"{name} returns a complex number; grad needs a real one: return np.real(..) or np.abs(..) ** 2. "
                "Or use sdgrad.vjp with a complex cotangent, or sdgrad.jacobian(f, holomorphic=True)"
            )
        return outputs[0]


def _zero(value: Any) -> Any:
    return like(np.zeros_like(np.asarray(as_array(value))), value)
