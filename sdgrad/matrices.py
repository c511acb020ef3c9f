"""Whole derivatives of functions: ``jacobian`` and ``hessian``."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdgrad.api import GradFunction, checked, grad
from sdgrad.errors import NotScalarError
from sdgrad.forward import tangent_name
from sdgrad.frontend.parse import bind_arguments, python_function
from sdgrad.gradients import gradient_name, seed_name
from sdgrad.pipeline import differentiate_program, push_tangents
from sdgrad.program.directions import in_every_direction
from sdgrad.program.naming import RETURN, own_arguments
from sdgrad.program.tree import Program
from sdgrad.request import Request
from sdgrad.runtime.arrays import as_array, like
from sdgrad.signature import Signature, identity
from sdgrad.wrt import Wrt, key, names_of, several


def jacobian(f: Callable, wrt: Wrt = 0, *, mode: str = "auto") -> Callable:
    """A function that returns the Jacobian of ``f``: one compiled program that goes through all directions.

    :param f: a NumPy-style function, a ``@dace.program``, or a derivative, that returns one array.
    :param wrt: as for :func:`~sdgrad.grad`.
    :param mode: ``"forward"`` (one pass for each element of the argument), ``"reverse"`` (one for each element of the
        result), or ``"auto"``: whichever has fewer.
    :returns: a callable with ``f``'s arguments. For one ``wrt`` it returns an array of the result's shape followed by
        the argument's, for several a tuple of such arrays.
    :raises NotScalarError: ``f`` returns several arrays, or none.
    """
    if mode not in ("auto", "forward", "reverse"):
        raise ValueError(f"mode is 'auto', 'forward' or 'reverse', not {mode!r}")
    return JacobianFunction(checked(f), wrt, mode)


def hessian(f: Callable, wrt: Wrt = 0) -> Callable:
    """A function that returns the Hessian of a scalar function, forward over reverse; see :func:`jacobian`.

    For several ``wrt`` it returns a tuple of tuples of blocks.
    """
    rows = [jacobian(grad(f, w), wrt, mode="forward") for w in (wrt if several(wrt) else [wrt])]

    def blocks(*args: Any, **kwargs: Any) -> tuple:
        return tuple(row(*args, **kwargs) for row in rows)

    return blocks if several(wrt) else rows[0]


@dataclass
class JacobianFunction:
    """``jacobian(f)``: compiled on demand, once for each signature and argument."""

    f: Callable
    wrt: Wrt
    mode: str

    def __post_init__(self) -> None:
        self.__name__ = f"jacobian_{python_function(self.f).__name__}"

    def identity(self) -> Hashable:
        return ("jacobian", identity(self.f), key(self.wrt), self.mode)

    def derive(self, arguments: Mapping[str, Any]) -> tuple[Program, Mapping[str, Any]]:
        """The Jacobian by one argument as a program."""
        names = names_of(self.wrt, self.f, arguments)
        if len(names) != 1:
            raise NotScalarError(f"{self.__name__} returns {len(names)} arrays; differentiate it for one wrt at a time")
        return Columns(self.f, names[0], self.mode).derive(arguments)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arguments = bind_arguments(self.f, args, kwargs)
        names = names_of(self.wrt, self.f, arguments)
        found = tuple(self.one(name, arguments) for name in names)
        return found if several(self.wrt) else found[0]

    def one(self, name: str, arguments: Mapping[str, Any]) -> Any:
        column = Columns(self.f, name, self.mode)
        signature = Signature.of(self.f, arguments)
        argument, result = np.shape(as_array(arguments[name])), column.result_shape(signature, arguments)
        if name not in signature.program.containers:
            return like(np.zeros((*result, *argument)), arguments[name])
        own = Signature.of(column, arguments)
        matrix = own.primal()(own.arguments(arguments))[RETURN]
        return like(matrix.reshape((*result, *argument)), arguments[name])


@dataclass
class Columns:
    """The Jacobian by one argument, as a function."""

    f: Callable
    name: str
    mode: str

    def identity(self) -> Hashable:
        return ("jacobian", identity(self.f), self.name, self.mode)

    def output(self, signature: Signature) -> str:
        if len(signature.outputs) != 1:
            found = len(signature.outputs)
            raise NotScalarError(f"{python_function(self.f).__name__} has {found} outputs; a Jacobian is of one")
        return signature.outputs[0]

    def result_shape(self, signature: Signature, arguments: Mapping[str, Any]) -> tuple[int, ...]:
        """The result's shape as Python has it: the graph's own has one element where Python has none."""
        shape = tuple(int(n) for n in signature.program.containers[self.output(signature)].shape)
        if isinstance(self.f, GradFunction):
            (argument,) = names_of(self.f.wrt, self.f.f, arguments)
            return np.shape(as_array(arguments[argument]))
        if isinstance(self.f, JacobianFunction):
            (argument,) = names_of(self.f.wrt, self.f.f, arguments)
            inner = Columns(self.f.f, argument, self.f.mode)
            shape = inner.result_shape(Signature.of(inner.f, arguments), arguments)
            return (*shape, *np.shape(as_array(arguments[argument])))
        return () if shape == (1,) else shape

    def derive(self, arguments: Mapping[str, Any]) -> tuple[Program, Mapping[str, Any]]:
        """Forward or reverse, whichever has fewer directions."""
        signature = Signature.of(self.f, arguments)
        program, output = signature.program, self.output(signature)
        request = Request((self.name,), (output,), accumulate=False)
        sizes = [int(np.prod([int(n) for n in program.containers[n].shape])) for n in (self.name, output)]
        own = own_arguments(program)
        if self.mode == "forward" or self.mode == "auto" and sizes[0] <= sizes[1]:
            pushed = push_tangents(program, request)
            seed, result = tangent_name(self.name, program), tangent_name(output, program)
            return in_every_direction(pushed, own, seed, [result], True), signature.closure
        pulled = differentiate_program(program, request).program
        seed, result = seed_name(output, program, request), gradient_name(self.name, program)
        return in_every_direction(pulled, own, seed, [result], False), signature.closure
