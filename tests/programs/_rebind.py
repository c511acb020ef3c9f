"""Copies of functions that see other globals."""

import types
from collections.abc import Callable
from typing import Any


def rebind(function: Callable, replace: Callable[[Any], Any], _done: dict | None = None) -> Callable:
    """A copy of ``function`` in which every global ``v`` it names is ``replace(v)``.

    Plain functions of the same module and ``@dace.program`` objects are copied likewise, the
    latter as the Python functions they were made from.
    """
    done = {} if _done is None else _done
    plain = getattr(function, "f", function)
    if plain in done:
        return done[plain]
    scope = dict(plain.__globals__)
    copy = types.FunctionType(plain.__code__, scope, plain.__name__, plain.__defaults__, plain.__closure__)
    done[plain] = copy
    for name in plain.__code__.co_names:
        value = scope.get(name)
        is_sibling = isinstance(value, types.FunctionType) and value.__module__ == plain.__module__
        if is_sibling or hasattr(value, "to_sdfg"):
            scope[name] = rebind(value, replace, done)
        elif name in scope:
            scope[name] = replace(value)
    return copy
