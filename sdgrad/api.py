"""Gradients of functions: ``grad``, ``value_and_grad``, ``vjp``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdgrad.errors import ArgumentError, NameNotFound, NotScalarError
from sdgrad.frontend.parse import as_program, bind_arguments, python_function
from sdgrad.gradients import seed_name
from sdgrad.request import Request
from sdgrad.runtime.arrays import as_array, like
from sdgrad.signature import Signature

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
