"""Tell what belongs to the user, whose code is converted, from what belongs to libraries and to Python."""

from __future__ import annotations

import functools
import itertools
import sys
from collections import deque
from collections.abc import Sequence
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from sdgrad.errors import ParseError, UnknownContent
from sdgrad.record.elementwise import origin
from sdgrad.record.functions.on_demand import load_imported
from sdgrad.record.functions.table import FUNCTIONS, active, full_name
from sdgrad.record.other_libraries import here
from sdgrad.record.outside import shown_line
from sdgrad.record.reads import PLAIN
from sdgrad.record.restart import Restart
from sdgrad.record.settling import settle
from sdgrad.record.surroundings import asked, files_noted
from sdgrad.record.values import Number

RECORDED = ("sdgrad.solvers.algorithms", "sdgrad.onnx_ops.functions", "sdgrad.cli.plate")
"""Code of ours that is converted as a user's is."""
LIBRARIES = {"numpy", "scipy", "sdgrad", "dace", "sympy", "torch", "jax", "onnx", "mpi4py"}


def is_of_library(owner: Any) -> bool:
    """True of modules of libraries, and of what has no attributes of a user's."""
    if isinstance(owner, ModuleType):
        return owner.__name__.partition(".")[0] in LIBRARIES or owner.__name__ in sys.stdlib_module_names
    return isinstance(owner, PLAIN) and not is_users(type(owner)) or type(owner) in (list, tuple, dict, set)


def method_of(kind: type, name: str) -> Any:
    """Return what a class has under a name, as it stands in the class."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)


def special(owner: Any, name: str) -> FunctionType | None:
    """Return the method of a user's class that Python would call; None of what is no user's."""
    found = method_of(type(owner), name) if is_users(type(owner)) else None
    if not isinstance(found, FunctionType) or is_known(found):
        return None
    note_class(type(owner), name, found)
    return found


def note_class(kind: type, name: str, held: Any) -> None:
    """Note what a class has under a name: at a later call it may have something else there."""
    if (recorder := active()) is not None:
        recorder.reads.add(kind, name, "attribute", held)


def is_hashable(function: Any) -> bool:
    """True of what may be looked up in tables of functions: no object whose hash is that of what a user put in it."""
    if type(function).__hash__ is not object.__hash__ and is_users(type(function)):
        return False
    try:
        hash(function)
    except TypeError:
        return False
    return True


def is_users(kind: type) -> bool:
    """True of classes whose code is converted: not those of libraries, nor of Python itself."""
    return is_users_module(getattr(kind, "__module__", ""))


@functools.cache
def is_users_module(name: str) -> bool:
    top = (name or "").partition(".")[0]
    if (name or "").startswith(RECORDED):
        return True
    if top in LIBRARIES or top in sys.stdlib_module_names and top != "__main__":
        return False
    return bool(name)


def is_known(function: FunctionType) -> bool:
    """True of functions that have a rule, or belong to a library."""
    if function in FUNCTIONS:
        return True
    return not is_users_module(function.__module__ or "__main__")


def is_library_function(function: Any) -> bool:
    module = getattr(function, "__module__", None) or ""
    owner = getattr(function, "__self__", None)
    return module.partition(".")[0] in LIBRARIES or isinstance(function, np.ufunc) or isinstance(owner, np.ufunc)


def with_owner(function: Any, args: tuple) -> tuple[Any, tuple]:
    """Return what calls an object of a class whose calls have a rule, and the object among its arguments."""
    load_imported()  # the function that is recorded may have imported what it belongs to
    called = None if isinstance(function, type) else method_of(type(function), "__call__")
    return (called, (function, *args)) if is_hashable(called) and called in FUNCTIONS else (function, args)


def is_plain_library_function(function: Any) -> bool:
    """True of a library's functions in Python that have no rule and do not record themselves."""
    records = not isinstance(function, FunctionType) or function in FUNCTIONS or hasattr(function, "record_call")
    return not records and is_library_function(function)


def refused(recorder: Any, function: Any, given: Sequence[Any]) -> ParseError:
    """Return the error for a function of a library without a rule.

    :param given: recorded operands. Integers may be made known instead.
    """
    if all(x.dtype.kind in "biu" for x in given):
        settle(recorder, origin(*given))
    told = "it is not among the functions that are recorded"
    return ParseError(f"{full_name(function)} has no derivative here: {told}{_in_place(function)}")


INSTEAD = {
    "ode": "sdgrad.solve_ivp",
    "tanhsinh": "scipy.integrate.quad",
    **dict.fromkeys(("LinearOperator", "aslinearoperator"), "sdgrad.linear_solve, which takes functions"),
    **dict.fromkeys(
        ("find_peaks", "find_peaks_cwt", "argrelextrema", "argrelmax", "argrelmin", "peak_prominences"),
        "it outside of the function, whose argument the places are, for data decide how many there are",
    ),
    "solve_bvp": "sdgrad.root of the conditions at the ends, or of the equations at all points",
    "approx_fprime": "sdgrad.grad",
    "eigs": "np.linalg.eig of a dense matrix, or sdgrad.root of the equations of a pair",
    "SDFG": "sdgrad.from_sdfg(sdfg), which makes a graph a function",
    "trimcoef": "a slice in place of polytrim, chebtrim and their kin: only a run knows which coefficients are small",
    "lobpcg": "scipy.sparse.linalg.eigsh",
    **dict.fromkeys(
        ("SmoothBivariateSpline", "LSQBivariateSpline", "bisplrep"),
        "RectBivariateSpline of values on a grid, or RBFInterpolator",
    ),
}
"""What to write in place of a function without a rule, by its name."""
INDEXED = (itertools.islice, itertools.permutations, itertools.combinations, deque)
"""What takes integers of Python's alone."""
MASKED = "an array of booleans beside the data: np.where(mask, 0.0, x), np.sum(x, where=~mask), x[~mask]"


def _in_place(function: Any) -> str:
    module = getattr(function, "__module__", None) or type(function).__module__
    if module.startswith("numpy.ma"):
        return f": use {MASKED}"
    found = INSTEAD.get(getattr(function, "__name__", type(function).__name__)) or here(function)
    return f": use {found}" if found else ""


def called_as_it_is(recorder: Any, function: Any, args: tuple, kwargs: dict) -> Any:
    """Call a function with what it is given; one of a library may call functions that return recorded values.

    :raises ParseError: it needs their content, or switches PyTorch's gradients off.
    """
    if switch := _without_gradients(function, args, kwargs):
        what = f"torch.{switch}, a decorator of what is called here," if _is_clone(function) else f"torch.{switch}"
        raise ParseError(
            f"{what} would change nothing in a recorded function: for a value through which no derivative passes, "
            "write sdgrad.stop_gradient(value)"
        )
    if (answer := asked(recorder, function, args, kwargs)) is not NotImplemented:
        return answer
    if function in INDEXED:
        args, kwargs = tuple(map(_indexed, args)), {n: _indexed(v) for n, v in kwargs.items()}
    if not (is_library_function(function) and any(map(_is_users_function, (*args, *kwargs.values())))):
        with files_noted(recorder.reads):
            found = function(*args, **kwargs)
        for owner in (getattr(function, "__self__", None), *args) if found is not None else ():
            if not is_users(type(owner)):  # of these it is known what is read
                recorder.reads.of_state(owner)
        return found
    told = (
        f"{full_name(function)} has no derivative here, and needs the values of a function that only a run knows"
        f"{_in_place(function) or ': see sdgrad.pure_callback'}"
    )
    try:
        return function(*args, **kwargs)
    except (UnknownContent, TypeError) as error:
        if not isinstance(error, UnknownContent) and not here(function):  # JAX has types for what it cannot trace
            raise
        raise ParseError(told) from error
    except Restart:  # it may ask for content again and again
        recorder.hints.caller = ParseError(f"{shown_line(recorder.where())}{told}")
        raise


def _indexed(value: Any) -> Any:
    return value.__index__() if isinstance(value, Number) and value.dtype.kind in "iu" else value


def _without_gradients(function: Any, args: tuple, kwargs: dict) -> str:
    """Return the name of what switches PyTorch's gradients off, as a context or a decorator; "" if nothing does."""
    kind = type(args[0]) if _is_clone(function) and args else function
    if getattr(kind, "__module__", None) != "torch.autograd.grad_mode":
        return ""
    off = kind.__name__ in ("no_grad", "inference_mode")
    off = off or kind.__name__ == "set_grad_enabled" and False in (*args, *kwargs.values())
    return kind.__name__ if off else ""


def _is_clone(function: Any) -> bool:
    """True of the copy of a context that its decorator makes in each call."""
    return getattr(function, "__name__", "") == "clone"


def _is_users_function(value: Any) -> bool:
    return isinstance(value, FunctionType | MethodType) and not (isinstance(value, FunctionType) and is_known(value))
