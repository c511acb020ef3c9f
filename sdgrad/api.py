"""Gradients of functions: ``grad``, ``value_and_grad``, ``vjp``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dace
import numpy as np

from sdgrad.errors import ArgumentError, NameNotFound, NotScalarError
from sdgrad.frontend.parse import as_program, bind_arguments, parse, python_function, sizes
from sdgrad.gradients import gradient_name, seed_name
from sdgrad.optimize import optimize
from sdgrad.pipeline import Differentiated, differentiate_program, normalize
from sdgrad.program.emit import emit
from sdgrad.program.tree import Program, writes
from sdgrad.request import Request
from sdgrad.runtime.arrays import as_array, as_value, is_tensor, like
from sdgrad.runtime.compile import compile_sdfg
from sdgrad.runtime.program import CompiledProgram, Slot
from sdgrad.symbolic.kinds import kind_of

Wrt = int | str | Sequence[int | str]


def value_and_grad(
    f: Callable, wrt: Wrt = 0, *, inplace: bool = False, strong_zero: bool = True, unused: str = "zero"
) -> Callable:
    """A function that returns ``f``'s value and its gradient, computed by one compiled program.

    :param f: a NumPy-style function or a ``@dace.program`` that returns one scalar. Shapes and dtypes are those of the
        arguments of a call; there is one compiled program for each signature.
    :param wrt: what to differentiate by: a position, a name, or a sequence of either. The gradient is an array for one,
        a tuple in the same order for a sequence; each has the shape and dtype of its argument.
    :param inplace: let a program that writes its arguments write the caller's arrays instead of copies.
    :param strong_zero: a cotangent of exactly zero passes nothing on, even through an infinite derivative.
    :param unused: ``"zero"``: an argument that does not influence the value has gradient zero; ``"error"``: it raises
        :class:`~sdgrad.errors.UnusedInputError`.
    :returns: a callable with ``f``'s arguments that returns ``(value, gradient)``.
    :raises NotScalarError: ``f`` returns several values or an array (use :func:`vjp`).
    :raises DifferentiationError: with every reason why ``f`` cannot be differentiated.
    """
    return GradFunction(_differentiable(f), wrt, inplace, strong_zero, unused)


def _differentiable(f: Callable) -> Callable:
    if isinstance(f, GradFunction) or hasattr(f, "gradient_of"):
        raise ArgumentError("a gradient is not differentiated again yet; differentiate a function or a @dace.program")
    as_program(f)
    return f


def grad(
    f: Callable, wrt: Wrt = 0, *, inplace: bool = False, strong_zero: bool = True, unused: str = "zero"
) -> Callable:
    """A function that returns the gradient of ``f``; see :func:`value_and_grad`."""
    both = GradFunction(_differentiable(f), wrt, inplace, strong_zero, unused)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        return both(*args, **kwargs)[1]

    gradient.__name__ = f"grad_{python_function(f).__name__}"
    gradient.__doc__ = f"The gradient of {python_function(f).__name__}."
    gradient.gradient_of = f  # type: ignore[attr-defined]
    return gradient


def vjp(f: Callable, *args: Any, strong_zero: bool = True, **kwargs: Any) -> tuple[Any, Callable]:
    """``f``'s outputs, and the function that pulls cotangents of them back to the arguments.

    :returns: ``(outputs, pullback)``. ``pullback(*cotangents)`` takes one cotangent for each output, of its shape, and
        returns a tuple with one gradient for each positional argument (None where it is not floating point). The
        arguments are those of this call, even if the caller changes the arrays afterwards.
    """
    arguments = bind_arguments(f, args, kwargs)
    saved = {k: np.array(as_array(v)) if isinstance(as_array(v), np.ndarray) else v for k, v in arguments.items()}
    signature = Signature.of(f, saved)
    names = [n for n in list(arguments)[: len(args)]]
    wanted = tuple(n for n in names if signature.is_float(n))
    outputs = signature.outputs
    if not outputs:
        raise NotScalarError(f"{python_function(f).__name__} returns nothing and writes no argument")
    primal = signature.primal()
    values = primal(signature.arguments(saved))
    results = [signature.output_value(o, values, arguments) for o in outputs]

    def pullback(*cotangents: Any) -> tuple:
        if len(cotangents) != len(outputs):
            raise ArgumentError(f"expected {len(outputs)} cotangents, one for each output, found {len(cotangents)}")
        request = Request(wanted, outputs, accumulate=False, strong_zero=strong_zero)
        program = signature.gradient(request)
        seeds = {
            seed_name(o, program.normalized, request): _cotangent(c, r, o)
            for o, c, r in zip(outputs, cotangents, results, strict=False)
        }
        found = program({**signature.arguments(saved), **seeds})
        return tuple(program.gradient(n, found, arguments[n]) if n in wanted else None for n in names)

    return (results[0] if len(results) == 1 else tuple(results)), pullback


def compile_forward(f: Callable, *, inplace: bool = False) -> Callable:
    """``f`` itself as generated code, from the same pipeline without a gradient: what a gradient's time is measured by.

    :returns: a callable with ``f``'s arguments that returns its outputs in fresh arrays.
    """

    def forward(*args: Any, **kwargs: Any) -> Any:
        arguments = bind_arguments(f, args, kwargs)
        signature = Signature.of(f, arguments)
        found = signature.primal()(signature.arguments(arguments), inplace)
        results = tuple(signature.output_value(o, found, arguments) for o in signature.outputs)
        return results[0] if len(results) == 1 else results

    forward.__name__ = python_function(f).__name__
    return forward


def _cotangent(value: Any, result: Any, output: str) -> np.ndarray:
    array, wanted = np.asarray(as_array(value)), np.asarray(as_array(result))
    if array.shape != wanted.shape:
        raise ArgumentError(f"cotangent of {output}: expected shape {wanted.shape}, found {array.shape}")
    return np.ascontiguousarray(array, dtype=wanted.dtype).reshape(wanted.shape or (1,))


@dataclass
class CompiledGradient:
    """A differentiated program, compiled."""

    result: Differentiated
    program: CompiledProgram

    @property
    def normalized(self) -> Program:
        return self.result.normalized

    def __call__(self, arguments: Mapping[str, Any], inplace: bool = False) -> dict[str, np.ndarray]:
        return self.program(arguments, inplace)

    def gradient(self, name: str, found: Mapping[str, np.ndarray], original: Any) -> Any:
        """The gradient of an argument, in its kind and shape."""
        array = found[gradient_name(name, self.normalized)]
        return like(array.reshape(np.shape(as_array(original))), original)


@dataclass
class Signature:
    """A function for arguments of certain shapes and dtypes: its normal form, and the programs compiled from it."""

    function: Callable
    program: Program
    closure: Mapping[str, Any]
    shapes: Mapping[str, tuple[int, ...]]
    returns_tuple: bool
    gradients: dict[Request, CompiledGradient] = field(default_factory=dict)
    _primal: CompiledProgram | None = None

    @staticmethod
    def of(f: Callable, arguments: Mapping[str, Any]) -> Signature:
        """The signature of a call, from the cache where it was seen before."""
        fixed = sizes(f, arguments)
        key = tuple((name, fixed.get(name, _key(value))) for name, value in arguments.items())
        cache = _signatures.setdefault(python_function(f), {})
        if key not in cache:
            cache[key] = Signature.parse(f, arguments)
        return cache[key]

    @staticmethod
    def parse(f: Callable, arguments: Mapping[str, Any]) -> Signature:
        program = as_program(f)
        sdfg = parse(program, {k: as_value(v) for k, v in arguments.items()})
        sdfg.name = python_function(f).__name__
        closure = {k: v for k, v in _closure(program, sdfg).items()}
        tree = normalize(sdfg, own=True)
        return Signature(f, tree, closure, {}, any(n.startswith("__return_") for n in tree.arguments))

    @property
    def outputs(self) -> tuple[str, ...]:
        """What the function returns; where it returns nothing, the float arguments it writes."""
        returned = tuple(n for n in self.program.arguments if n.startswith("__return"))
        if returned:
            return tuple(sorted(returned, key=lambda n: int(n[9:] or 0) if n != "__return" else 0))
        written = {self.program.root(w) for node in self.program.body for w in writes(node)}
        return tuple(n for n in self.program.arguments if n in written and self.is_float(n))

    def is_float(self, name: str) -> bool:
        return name in self.program.containers and kind_of(self.program.containers[name].dtype) in ("float", "complex")

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments the graph has: unused ones and constants drop out."""
        known = set(self.program.arguments) | set(self.program.symbols)
        return {n: v for n, v in given.items() if n in known} | dict(self.closure)

    def output_value(self, name: str, values: Mapping[str, np.ndarray], arguments: Mapping[str, Any]) -> Any:
        like_what = next((v for v in arguments.values() if is_tensor(v)), None)
        array = values[name]
        if name.startswith("__return") and self.program.containers[name].shape == (1,):
            array = array.reshape(())  # DaCe returns scalars as arrays of one element
        return like(array, like_what) if like_what is not None else array[()] if array.shape == () else array

    def primal(self) -> CompiledProgram:
        """The function itself, compiled."""
        if self._primal is None:
            self._primal = _compile(self.program)
        return self._primal

    def gradient(self, request: Request) -> CompiledGradient:
        if request not in self.gradients:
            result = differentiate_program(self.program, request)
            self.gradients[request] = CompiledGradient(result, _compile(result.program))
        return self.gradients[request]


_signatures: dict[Callable, dict[tuple, Signature]] = {}


def _compile(program: Program) -> CompiledProgram:
    ready = optimize(program)
    sdfg = emit(ready)
    written = frozenset(ready.root(w) for node in ready.body for w in writes(node))
    compiled = compile_sdfg(sdfg)
    slots = tuple(Slot.of(n, d, n in written) for n, d in compiled.arguments.items() if n in sdfg.arrays)
    return CompiledProgram(sdfg, compiled, slots)


def _key(value: Any) -> Any:
    array = as_array(value)
    if isinstance(array, (np.ndarray, np.generic)):
        return (str(array.dtype), array.shape)
    if isinstance(array, (bool, int, float, complex)):
        return type(array).__name__
    return array if isinstance(array, (str, type(None), tuple)) else id(array)


def _closure(program: Any, sdfg: dace.SDFG) -> dict[str, Any]:
    """Global and closure arrays that the graph takes as arguments."""
    found = {}
    for name, resolve in getattr(program, "closure_arg_mapping", {}).items():
        if name in sdfg.arrays:
            found[name] = resolve() if callable(resolve) else resolve
    return found


@dataclass
class GradFunction:
    """``value_and_grad(f)``: compiled on demand, once for each signature."""

    f: Callable
    wrt: Wrt
    inplace: bool
    strong_zero: bool
    unused: str

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        arguments = bind_arguments(self.f, args, kwargs)
        signature = Signature.of(self.f, arguments)
        names = self.names(list(arguments))
        output = self.scalar_output(signature)
        present = tuple(n for n in names if n in signature.program.containers)
        request = Request(present, (output,), False, self.strong_zero, self.unused)
        self.check_floats(names, arguments)
        program = signature.gradient(request)
        seed = {
            seed_name(output, program.normalized, request): np.ones(1, signature.program.containers[output].dtype.type)
        }
        found = program({**signature.arguments(arguments), **seed}, self.inplace)
        gradients = tuple(
            program.gradient(n, found, arguments[n]) if n in present else _zero(arguments[n]) for n in names
        )
        value = signature.output_value(output, found, arguments)
        return value, gradients if isinstance(self.wrt, (tuple, list)) else gradients[0]

    def names(self, known: list[str]) -> list[str]:
        """``wrt`` as argument names."""
        wanted = self.wrt if isinstance(self.wrt, (tuple, list)) else (self.wrt,)
        found = []
        for w in wanted:
            if isinstance(w, int) and -len(known) <= w < len(known):
                found.append(known[w])
            elif isinstance(w, str) and w in known:
                found.append(w)
            elif isinstance(w, int):
                raise ArgumentError(f"wrt={w}, but {python_function(self.f).__name__} has {len(known)} arguments")
            else:
                raise NameNotFound("argument", str(w), known)
        return found

    def check_floats(self, names: Sequence[str], arguments: Mapping[str, Any]) -> None:
        for name in names:
            dtype = np.asarray(as_array(arguments[name])).dtype
            if dtype.kind not in "fc":
                raise ArgumentError(
                    f"argument '{name}' is {dtype}; gradients exist for floating-point arguments only. "
                    "Convert it to float64, or leave it out of wrt"
                )

    def scalar_output(self, signature: Signature) -> str:
        outputs = signature.outputs
        name = python_function(self.f).__name__
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
        return outputs[0]


def _zero(value: Any) -> Any:
    return like(np.zeros_like(np.asarray(as_array(value))), value)
