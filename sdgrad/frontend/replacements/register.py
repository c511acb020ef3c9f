"""Registration in DaCe's table of replacements."""

import inspect

# Its own replacements must be registered before ours, which replace some of them
import dace.frontend.python.replacements  # noqa: F401
from dace.frontend.common import op_repository

from sdgrad.frontend.replacements.emit import Emitter

CONTAINERS = ("Array", "View", "Scalar")


def _as_replacement(function, label: str):
    signature = inspect.signature(function)

    def replacement(visitor, sdfg, state, *args, **kwargs):
        try:
            signature.bind(None, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{label}: {error}") from None
        emitter = Emitter(visitor, label, state)
        result = function(emitter, *args, **kwargs)
        emitter.finish()
        return result

    return replacement


def numpy_function(*names: str, method: str | None = None, attribute: str | None = None):
    """Registers ``function(emitter, ...)`` for calls of ``names`` and for a method or an attribute of arrays.

    A bare name is one of NumPy's; a dotted one is complete.
    """

    def decorate(function):
        for name in names:
            full = name if "." in name and not name.startswith("linalg.") else f"numpy.{name}"
            op_repository.replaces(full)(_as_replacement(function, full))
        for container in CONTAINERS:
            if method:
                op_repository.replaces_method(container, method)(_as_replacement(function, f"ndarray.{method}"))
            if attribute:
                op_repository.replaces_attribute(container, attribute)(
                    _as_replacement(function, f"ndarray.{attribute}")
                )
        return function

    return decorate
