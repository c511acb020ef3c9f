"""Compute whole derivatives of functions: ``jacobian`` and ``hessian``."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, Literal, TypeVar, overload

import numpy as np
import numpy.typing as npt

from sdgrad.api.gradient import checked, grad
from sdgrad.api.typed import ByFirst, P
from sdgrad.convert.callables import name_of
from sdgrad.convert.keywords import own_keywords
from sdgrad.errors import ArgumentError, NotScalarError
from sdgrad.program.naming import RETURN
from sdgrad.program.tree import Program
from sdgrad.record.nests import Form, flatten
from sdgrad.record.recorder import Recorder
from sdgrad.record.shown import short
from sdgrad.runtime.call.marshalling import as_array, like
from sdgrad.specialize.argnums import Wrt, key, names_of, several
from sdgrad.specialize.arguments import Call
from sdgrad.specialize.directions import Columns
from sdgrad.specialize.nested_calls import CalledInPrograms, by_recording, spliced
from sdgrad.specialize.signature import Signature, identity

Number = TypeVar("Number", bound=np.generic)


@overload
def jacobian(
    f: Callable[Concatenate[npt.NDArray[Number], P], npt.NDArray[Number]],
    wrt: Literal[0] = 0,
    *,
    mode: str = "auto",
    holomorphic: bool = False,
) -> ByFirst[npt.NDArray[Number], P, npt.NDArray[Number]]: ...


@overload
def jacobian(
    f: Callable[P, Any], wrt: int | str = 0, *, mode: str = "auto", holomorphic: bool = False
) -> Callable[P, Any]: ...


@overload
def jacobian(
    f: Callable[P, Any], wrt: Sequence[int | str], *, mode: str = "auto", holomorphic: bool = False
) -> Callable[P, Any]: ...


@own_keywords
def jacobian(f: Callable[..., Any], wrt: Wrt = 0, *, mode: str = "auto", holomorphic: bool = False) -> Any:
    """Return a function that computes the Jacobian of ``f`` by one compiled program, through all directions.

    :param f: a NumPy-style function, a ``@dace.program``, or a derivative, that returns an array or a nest of them.
    :param wrt: as for :func:`~sdgrad.grad`.
    :param mode: ``"forward"`` (one pass for each element of the argument), ``"reverse"`` (one for each element of the
        result), or ``"auto"``: whichever has fewer.
    :param holomorphic: say that a complex function of a complex argument is holomorphic: its Jacobian is ``dy/dz``. A
        complex result by a real argument has a complex Jacobian; a real result by a complex argument has rows like the
        gradients that :func:`~sdgrad.grad` returns.
    :returns: a callable with ``f``'s arguments. For one ``wrt`` it returns an array of the result's shape followed by
        the argument's, for several a tuple of such arrays. Nests of results hold nests of arguments.
    :raises NotScalarError: ``f`` returns nothing.
    :raises ArgumentError: argument and result are complex, and ``f`` is not holomorphic or not said to be; or the mode
        does not give a complex Jacobian.
    """
    if mode not in ("auto", "forward", "reverse"):
        raise ValueError(f"mode is 'auto', 'forward' or 'reverse', not {mode!r}")
    return JacobianFunction(checked(f), wrt, mode, holomorphic)


@overload
def hessian(
    f: Callable[Concatenate[npt.NDArray[Number], P], Any], wrt: Literal[0] = 0
) -> ByFirst[npt.NDArray[Number], P, npt.NDArray[Number]]: ...


@overload
def hessian(f: Callable[P, Any], wrt: int | str = 0) -> Callable[P, Any]: ...


@overload
def hessian(f: Callable[P, Any], wrt: Sequence[int | str]) -> Callable[P, tuple[tuple[Any, ...], ...]]: ...


@own_keywords
def hessian(f: Callable[..., Any], wrt: Wrt = 0) -> Any:
    """Return a function that computes the Hessian of a scalar function, forward over reverse; see :func:`jacobian`.

    For several ``wrt`` it returns a tuple of tuples of blocks.
    """
    return HessianFunction(checked(f), wrt) if several(wrt) else jacobian(grad(f, wrt), wrt, mode="forward")


@dataclass
class HessianFunction(CalledInPrograms):
    """``hessian(f)`` by several arguments: a row of blocks for each."""

    f: Callable
    wrt: Sequence[str | int]

    def __post_init__(self) -> None:
        self.__name__ = f"hessian_{name_of(self.f)}"
        self.rows = [JacobianFunction(grad(self.f, w), self.wrt, "forward") for w in self.wrt]

    def identity(self) -> Hashable:
        return ("hessian", identity(self.f), key(self.wrt))

    def derive(self, arguments: Mapping[str, Any]) -> tuple[Program, Mapping[str, Any]]:
        """Return all blocks as a program."""
        return by_recording(self, arguments)

    def form(self, arguments: Mapping[str, Any]) -> Form:
        """Return the nest of the blocks."""
        count = len(names_of(self.wrt, self.f, arguments))
        return flatten(((0,) * count,) * count)[1]

    def shapes(self, arguments: Mapping[str, Any]) -> list[tuple[int, ...]]:
        """Return the shapes of the blocks."""
        own = [np.shape(as_array(arguments[n])) for n in names_of(self.wrt, self.f, arguments)]
        return [(*row, *column) for row in own for column in own]

    def record_call(self, recorder: Recorder, args: tuple, kwargs: Mapping[str, Any]) -> tuple:
        """Record a call in a function that is recorded."""
        return tuple(row.record_call(recorder, args, kwargs) for row in self.rows)

    def __call__(self, *args: Any, **kwargs: Any) -> tuple:
        return tuple(row(*args, **kwargs) for row in self.rows)


@dataclass
class JacobianFunction(CalledInPrograms):
    """``jacobian(f)``: compiled on demand, once for each signature and argument."""

    f: Callable
    wrt: Wrt
    mode: str
    holomorphic: bool = False

    def __post_init__(self) -> None:
        self.__name__ = f"jacobian_{name_of(self.f)}"

    def identity(self) -> Hashable:
        return ("jacobian", identity(self.f), key(self.wrt), self.mode, self.holomorphic)

    def column(self, f: Callable, name: str, place: int = 0) -> Columns:
        """Return the Jacobian of one output by one argument, as a function."""
        return Columns(f, name, self.mode, place, self.holomorphic)

    def derive(self, arguments: Mapping[str, Any]) -> tuple[Program, Mapping[str, Any]]:
        """Return the Jacobian by one argument as a program."""
        names = names_of(self.wrt, self.f, arguments)
        if len(names) != 1:
            return by_recording(self, arguments)
        column, signature = self.column(self.f, names[0]), Signature.of(self.f, arguments)
        if column.is_conjugated(signature):
            raise ArgumentError(f"{self.__name__} of complex numbers is differentiated in mode='forward' only")
        return column.derive(arguments)

    def shapes(self, arguments: Mapping[str, Any]) -> list[tuple[int, ...]]:
        """Return the shapes of the Jacobians, by its only argument or all of them."""
        names = names_of(self.wrt, self.f, arguments)
        outputs = range(len(Signature.of(self.f, arguments).outputs)) if len(names) != 1 else [0]
        return [self.column(self.f, n, k).shapes(arguments)[0] for k in outputs for n in names]

    def form(self, arguments: Mapping[str, Any]) -> Form | None:
        """Return the nest of the Jacobians by several arguments."""
        if not several(self.wrt):
            return None
        nest = tuple(0 for _ in names_of(self.wrt, self.f, arguments))
        signature = Signature.of(self.f, arguments)
        return flatten(signature.nested([nest] * len(signature.outputs)))[1]

    def record_call(self, recorder: Recorder, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Record a call in a function that is recorded."""
        call = Call.of(self.f, args, kwargs)

        signature = Signature.of(call.f, call.examples())

        def one(name: str, place: int) -> Any:
            column = self.column(call.f, name, place)
            return column.finished(signature, spliced(recorder, column, call.arguments)[0])

        return self.blocks(call, signature, one)

    @short
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = Call.of(self.f, args, kwargs)
        signature = Signature.of(call.f, call.arguments)
        return self.blocks(call, signature, lambda n, k: self.one(call, signature, n, k))

    def blocks(self, call: Call, signature: Signature, one: Callable[[str, int], Any]) -> Any:
        """Return a block for each output and each argument, in the nests of both."""
        if not signature.outputs:
            raise NotScalarError(f"{name_of(self.f)} returns nothing and writes no argument")
        names = call.leaves(self.wrt)
        places = range(len(signature.outputs))
        return signature.nested([call.nested(self.wrt, {n: one(n, k) for n in names}) for k in places])

    def one(self, call: Call, signature: Signature, name: str, place: int) -> Any:
        """Return the Jacobian of one output by one argument."""
        column = self.column(call.f, name, place)
        (shape,) = column.shapes(call.arguments)
        if name not in signature.program.containers:
            return like(np.zeros(shape), call.arguments[name])
        own = Signature.of(column, call.arguments)
        matrix = own.primal()(own.arguments(call.arguments))[RETURN]
        return like(column.finished(signature, matrix.reshape(shape)), call.arguments[name])
