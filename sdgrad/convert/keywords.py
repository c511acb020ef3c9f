"""Say what keywords of other libraries are called here."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from sdgrad.errors import ArgumentError

F = TypeVar("F", bound=Callable)

_WRT = "say by which argument with wrt=, as in sdgrad.grad(f, wrt=0); vjp and jvp take none, they have all arguments"
_AXES = "say which arguments have the axis with in_axes=, as in sdgrad.vmap(f, in_axes=(0, None))"
_FIRST = "results have the axis in front: move it with np.moveaxis"
_STATIC = "leave it out: texts, booleans, None and functions are part of the kind of a call"
_AGAIN = "leave it out: the result can be differentiated again, and called any number of times"
FOREIGN = {
    "argnums": _WRT,
    "argnum": _WRT,
    "has_aux": (
        "return the rest as further results, write value, pullback = sdgrad.vjp(f, x), and give None as the cotangent "
        "of each of them: pullback(1.0, None)"
    ),
    "allow_int": "leave it out: integers in a nest have the gradient None",
    "holomorphic": "write sdgrad.vjp(f, z) for the derivative of a holomorphic function, or sdgrad.jacobian",
    "in_dims": _AXES,
    "out_axes": _FIRST,
    "out_dims": _FIRST,
    "static_argnums": _STATIC,
    "static_argnames": _STATIC,
    "donate_argnums": "write inplace=True to let the function write the arrays of the caller",
    "create_graph": _AGAIN,
    "retain_graph": _AGAIN,
    "allow_unused": "say what an argument without an influence has with unused=: 'zero', 'none' or 'error'",
}
"""What to write here in place of keywords of JAX, autograd and PyTorch."""


def foreign(names: Iterable[str]) -> str:
    """Return what to write in place of the first keyword that another library has, after a semicolon; or nothing."""
    return next((f"; {FOREIGN[n]}" for n in names if n in FOREIGN), "")


def own_keywords(f: F) -> F:
    """Decorate a function that users call: keywords that other libraries have are refused with what they are here."""
    known = frozenset(inspect.signature(f).parameters)

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        for name in kwargs:
            if name in FOREIGN and name not in known:
                raise ArgumentError(f"{f.__name__} has no argument '{name}': {FOREIGN[name]}")
        return f(*args, **kwargs)

    return call  # type: ignore[return-value]
