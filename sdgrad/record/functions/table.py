"""Collect the rules of functions: ``FUNCTIONS`` by the function that a program calls, ``METHODS`` by name."""

from __future__ import annotations

import functools
import inspect
import itertools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from sdgrad.errors import ParseError
from sdgrad.record.compound import Compound
from sdgrad.record.elementwise import kind, owner_of
from sdgrad.record.reads import is_numeric
from sdgrad.record.sparse.dense import NumpyMatrix
from sdgrad.record.sparse.known import wrapped_sparse
from sdgrad.record.stores import store
from sdgrad.record.unusable import Unusable
from sdgrad.record.values import RULES, Array, Number, holds_recorded, is_known, is_recorded

FUNCTIONS: dict[Any, Callable[..., Any]] = {}
METHODS: dict[str, Callable[..., Any]] = {}
MAKERS: set[Any] = set()
"""Functions that make arrays out of nothing recorded: while a function is recorded, these are recorded as well."""
ALIASING: set[Any] = set()
"""Functions that write an argument, or return a view of it: their rules are for arrays of known content as well."""
WITHOUT_EFFECT = frozenset({"subok", "like", "device", "order", "optimize"})
"""Arguments that choose how NumPy computes or stores a result, and not which result."""

OBJECTS: dict[type, Callable[[Any, Callable[[str], Any]], Any]] = {}
"""By its class, what stands for an object of a library's; the second argument gives an array of it by its name."""

_active = threading.local()


def active() -> Any:
    """Return the recorder of the function that this thread records; None if there is none."""
    stack = getattr(_active, "stack", ())
    return stack[-1] if stack else None


RULES.active = active


def activate(recorder: Any) -> list[Any]:
    """Return the stack of recorders of this thread with one more on it."""
    if not hasattr(_active, "stack"):
        _active.stack = []
    _active.stack.append(recorder)
    return _active.stack


def rule(
    *functions: Any, method: str = "", makes: bool = False, aliases: bool = False
) -> Callable[[Callable], Callable]:
    """Register a rule for functions, and for a method of arrays; ``out=`` is written to what the rule returns."""

    def register(f: Callable) -> Callable:
        FUNCTIONS.update((function, _checked(f, function, full_name(function))) for function in functions)
        if makes:
            MAKERS.update(functions)
        if aliases:
            ALIASING.update(functions)
        if method and hasattr(np.ndarray, method):  # NumPy 2 has no x.ptp(), which programs may look for
            METHODS[method] = _checked(f, getattr(np.ndarray, method, None), f"ndarray.{method}")
        return f

    return register


def full_name(function: Any) -> str:
    """Return the name of a function as a program writes it."""
    name = getattr(function, "__qualname__", getattr(function, "__name__", repr(function)))
    if isinstance(function, np.ufunc):
        return f"{owner_of(name)}.{name}"
    module = getattr(function, "__module__", None) or ""
    public = itertools.takewhile(lambda part: not part.startswith("_"), module.split("."))  # scipy.stats._stats_py, say
    return f"{'.'.join(public)}.{name}".removeprefix("builtins.").replace("_VariableFunctionsClass.", "")  # of PyTorch


def _checked(f: Callable, original: Any, name: str) -> Callable:
    """Return a rule that names the function in its errors, and knows what an ``out=`` of NumPy's means."""
    signature = inspect.signature(f)
    ignored = WITHOUT_EFFECT - set(signature.parameters)

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        kwargs = {k: v for k, v in kwargs.items() if k not in ignored}
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise _unfit(original, name, args, kwargs, error) from None
        out = bound.arguments.pop("out", out)
        found = f(*bound.args, **bound.kwargs)
        return found if out is None else into(out, found, exact=True)

    return call


def _unfit(original: Any, name: str, args: tuple, kwargs: dict[str, Any], error: TypeError) -> Exception:
    """Return the error for arguments that a rule does not take."""
    try:
        inspect.signature(original).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return TypeError(f"{name}: {error}")
    return ParseError(f"{name}: {error} while a function is recorded; write it with other functions")


def into(out: Any, found: Any, exact: bool = False) -> Any:
    """Write a result into an array that exists, and return that.

    :param exact: the shapes must be the same.
    """
    (out,) = out if isinstance(out, tuple) else (out,)
    if not isinstance(out, Array):
        raise ParseError("an array that the function did not make is written: pass it as an argument")
    dtype = np.dtype(kind(found))
    if not np.can_cast(dtype, out.dtype, "same_kind"):
        raise TypeError(f"cannot cast a result of type {dtype} into an array of type {out.dtype}")
    if exact and tuple(out.shape) != tuple(getattr(found, "shape", np.shape(found))):
        raise ValueError(f"out has the shape {out.shape}, and the result {found.shape}")
    store(out, Ellipsis, found)
    return out


def own(value: Any) -> Any:
    """Return a recorded value, or a nest of such, as one of the recording that goes on."""
    if is_recorded(value):
        return value if value.recorder is active() else active().adopt(value)
    if isinstance(value, Compound):
        return value.with_parts(map(own, value.parts))
    if isinstance(value, (list, tuple)) and holds_recorded(value):
        parts = list(map(own, value))
        if all(a is b for a, b in zip(parts, value, strict=True)):
            return value
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, slice):
        return slice(own(value.start), own(value.stop), own(value.step))
    return value.as_number() if isinstance(value, Unusable) and value.numeric else value


def array(value: Any) -> Array:
    """Return any operand as an array: recorded ones as they are, nests of numbers stacked, NumPy's as known."""
    if isinstance(value, Array):
        return value
    if is_recorded(value) and not isinstance(value, Number):
        raise ParseError("the elements that a mask selects are as many as only a run knows: use np.where instead")
    if isinstance(value, Compound):
        raise ParseError(f"{value!r} is used as an array: write .toarray(), or use its methods and operators")
    if holds_recorded(value):
        return FUNCTIONS[np.array](value)
    if is_numeric(value):
        return active().outside(value)
    if value is None or isinstance(value, (str, bytes)):
        raise TypeError(f"a number or an array is needed here, not {value!r}")
    found = np.asarray(value)
    if found.dtype == object and not isinstance(value, (np.ndarray, list, tuple)):
        more = "give its class '__array_ufunc__ = None', so that its own operators are asked"
        raise ParseError(f"a number or an array is needed here, not an object ({type(value).__name__}): {more}")
    return active().known(found)


def known(value: Any) -> Any:
    """Return content that a rule computed beforehand as an array."""
    return active().known(np.asarray(value))


def operand(value: Any) -> Any:
    """Return an operand of an element-wise function: numbers stay numbers."""
    if is_recorded(value) or isinstance(value, (bool, np.generic)):
        return value
    base = next((k for k in (int, float, complex) if isinstance(value, k)), None)
    return array(value) if base is None else base(value)  # the number of a class of numbers, as IntEnum is


def content(value: Any) -> Any:
    """Return a nest of values with known content as NumPy has it."""
    if isinstance(value, Array):
        return _content_now(value)
    if isinstance(value, Compound):
        return value.plain(map(content, value.parts))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(content, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(content, value))
    if isinstance(value, dict):
        return {k: content(v) for k, v in value.items()}
    if isinstance(value, slice):
        return slice(*map(content, (value.start, value.stop, value.step)))
    return value


def _content_now(a: Array) -> np.ndarray | None:
    """Return the content of an array, if it is known; what NumPy may not write here cannot be written."""
    if a.storage.stale:
        raise ParseError(a.storage.stale)
    if a.storage.block is a.recorder.blocks[-1] or a.known is None:
        return a.known
    found = a.read_known().view()
    found.flags.writeable = False  # the block that is recorded may run often, or never
    return found


def fixed(value: Any) -> Any:
    """Return the content of an argument that decides shapes; None if only a run knows it.

    The content of an array from outside of the function is read beforehand: the recording starts again with it.
    """
    if isinstance(value, Array) and value.storage.outside is not None:
        raise value.recorder.hints.fix(value.storage.origin)
    return content(value)


def all_known(value: Any) -> bool:
    """True if the content of everything in a nest is known, and nothing of it is there to be written."""
    if isinstance(value, (list, tuple)):
        return all(map(all_known, value))
    if isinstance(value, dict):
        return all(map(all_known, value.values())) and not holds_recorded(value.get("out"))
    return is_known(value)


def wrapped(value: Any) -> Any:
    """Return what NumPy computed as known arrays."""
    if isinstance(value, np.matrix):
        return NumpyMatrix(known(value))
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return active().known(value if value.flags.owndata and value.flags.writeable else value.copy())
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(wrapped, value))
    if (stands_for := OBJECTS.get(type(value))) is not None:
        return stands_for(value, lambda name: known(getattr(value, name).copy()))
    if sp.issparse(value) and not isinstance(value, Compound):
        return wrapped_sparse(value, known)
    return type(value)(map(wrapped, value)) if type(value) in (list, tuple) else value
