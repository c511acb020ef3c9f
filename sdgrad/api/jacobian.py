"""Compute whole derivatives of functions: ``jacobian`` and ``hessian``."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdgrad.api.gradient import checked, grad
from sdgrad.convert.callables import bind_arguments, name_of
from sdgrad.errors import NotScalarError
from sdgrad.program.naming import RETURN
from sdgrad.program.tree import Program
from sdgrad.runtime.call.marshalling import as_array, like
from sdgrad.specialize.argnums import Wrt, key, names_of, several
from sdgrad.specialize.directions import Columns, result_shape
from sdgrad.specialize.nested_calls import CalledInPrograms
from sdgrad.specialize.signature import Signature, identity


def jacobian(f: Callable, wrt: Wrt = 0, *, mode: str = "auto") -> Callable:
    """Return a function that computes the Jacobian of ``f`` by one compiled program, through all directions.

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
    """Return a function that computes the Hessian of a scalar function, forward over reverse; see :func:`jacobian`.

    For several ``wrt`` it returns a tuple of tuples of blocks.
    """
    rows = [jacobian(grad(f, w), wrt, mode="forward") for w in (wrt if several(wrt) else [wrt])]

    def blocks(*args: Any, **kwargs: Any) -> tuple:
        return tuple(row(*args, **kwargs) for row in rows)

    return blocks if several(wrt) else rows[0]


@dataclass
class JacobianFunction(CalledInPrograms):
    """``jacobian(f)``: compiled on demand, once for each signature and argument."""

    f: Callable
    wrt: Wrt
    mode: str

    def __post_init__(self) -> None:
        self.__name__ = f"jacobian_{name_of(self.f)}"

    def identity(self) -> Hashable:
        return ("jacobian", identity(self.f), key(self.wrt), self.mode)

    def derive(self, arguments: Mapping[str, Any]) -> tuple[Program, Mapping[str, Any]]:
        """Return the Jacobian by one argument as a program."""
        names = names_of(self.wrt, self.f, arguments)
        if len(names) != 1:
            raise NotScalarError(f"{self.__name__} returns {len(names)} arrays; differentiate it for one wrt at a time")
        return Columns(self.f, names[0], self.mode).derive(arguments)

    def result_shape(self, arguments: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the shape of the Jacobian by its only argument."""
        (argument,) = names_of(self.wrt, self.f, arguments)
        shape = result_shape(self.f, Signature.of(self.f, arguments), arguments)
        return (*shape, *np.shape(as_array(arguments[argument])))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arguments = bind_arguments(self.f, args, kwargs)
        names = names_of(self.wrt, self.f, arguments)
        found = tuple(self.one(name, arguments) for name in names)
        return found if several(self.wrt) else found[0]

    def one(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Return the Jacobian by one argument."""
        column, signature = Columns(self.f, name, self.mode), Signature.of(self.f, arguments)
        argument, result = np.shape(as_array(arguments[name])), result_shape(self.f, signature, arguments)
        if name not in signature.program.containers:
            return like(np.zeros((*result, *argument)), arguments[name])
        own = Signature.of(column, arguments)
        matrix = own.primal()(own.arguments(arguments))[RETURN]
        return like(matrix.reshape((*result, *argument)), arguments[name])
