"""Runs NumPy source on jax.numpy, in-place writes included.

``mutable(function)`` gives a function with the same body whose ``np`` is a stand-in: arrays
are ``Array`` objects that hold an immutable JAX array and replace it when written. Basic
indexing, ``reshape``, ``.T`` and ``.ravel()`` make views that write through to their base, as in
NumPy.
"""

import inspect
import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special as jsp
import numpy as np

from ._rebind import rebind


class Array:
    """A mutable array with NumPy's view semantics on top of immutable JAX arrays."""

    __array_ufunc__ = None

    def __init__(self, value=None, base: "Array | None" = None, get=None, put=None):
        self._value, self._base, self._get, self._put = value, base, get, put

    @property
    def value(self):
        """The content, as a JAX array."""
        return self._value if self._base is None else self._get(self._base.value)

    @value.setter
    def value(self, new):
        if self._base is None:
            self._value = new
        else:
            self._base.value = self._put(self._base.value, new)

    def _view(self, get, put):
        return Array(base=self, get=get, put=put)

    def __getitem__(self, index):
        index = unwrap(index)
        if _is_element(index, self.ndim):
            return Array(self.value[index])
        if _is_basic(index):
            return self._view(lambda v: v[index], lambda v, new: v.at[index].set(new))
        return Array(self.value[_concrete_masks(index)])

    def __setitem__(self, index, new):
        index, new = unwrap(index), unwrap(new)
        old = self.value
        if hasattr(new, "astype"):
            new = new.astype(old.dtype)
        if _is_mask(index, old) and jnp.ndim(new) == 0:
            self.value = jnp.where(index, new, old)
        else:
            self.value = old.at[_concrete_masks(index)].set(new)

    def reshape(self, *shape):
        """A view of another shape."""
        old = self.value.shape
        return self._view(lambda v: v.reshape(*shape), lambda v, new: new.reshape(old))

    def ravel(self):
        """A one-dimensional view."""
        return self.reshape(-1)

    def flatten(self):
        """A one-dimensional copy."""
        return Array(self.value.reshape(-1))

    @property
    def T(self):
        """The transposed view."""
        return self._view(lambda v: v.T, lambda v, new: new.T)

    @property
    def shape(self):
        """Sizes by dimension."""
        return self.value.shape

    @property
    def dtype(self):
        """Element type."""
        return self.value.dtype

    def __len__(self):
        return len(self.value)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __index__(self):
        return int(self.value)

    def __int__(self):
        return int(self.value)

    def __bool__(self):
        return bool(self.value)

    def __getattr__(self, name):
        attribute = getattr(self.value, name)
        return _wrapped(attribute) if callable(attribute) else wrap(attribute)


def _operator(name: str) -> Callable:
    def apply(self, *others):
        return wrap(getattr(self.value, name)(*(jnp.asarray(unwrap(o)) if _is_big(o) else unwrap(o) for o in others)))

    return apply


def _in_place(name: str) -> Callable:
    def apply(self, other):
        new = getattr(self.value, name)(unwrap(other))
        self.value = jnp.broadcast_to(new, self.shape).astype(self.dtype)
        return self

    return apply


def _is_big(value: Any) -> bool:
    return isinstance(value, (Array, np.ndarray))


for _name in ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor"]:
    setattr(Array, f"__{_name}__", _operator(f"__{_name}__"))
    setattr(Array, f"__r{_name}__", _operator(f"__r{_name}__"))
    setattr(Array, f"__i{_name}__", _in_place(f"__{_name}__"))
for _name in ["neg", "pos", "abs", "invert", "lt", "le", "gt", "ge", "eq", "ne"]:
    setattr(Array, f"__{_name}__", _operator(f"__{_name}__"))


def _is_basic(index: Any) -> bool:
    parts = index if isinstance(index, tuple) else (index,)
    return all(p is None or p is Ellipsis or isinstance(p, slice) or _is_integer(p) for p in parts)


def _is_element(index: Any, ndim: int) -> bool:
    parts = index if isinstance(index, tuple) else (index,)
    return len(parts) == ndim and all(p is not None and p is not Ellipsis and _is_integer(p) for p in parts)


def _is_integer(part: Any) -> bool:
    if isinstance(part, slice):
        return False
    return isinstance(part, (int, np.integer)) or (
        jnp.ndim(part) == 0 and jnp.issubdtype(jnp.result_type(part), jnp.integer)
    )


def _is_mask(index: Any, array: Any) -> bool:
    return _is_boolean(index) and jnp.shape(index) == array.shape


def _concrete_masks(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple(_concrete_masks(i) for i in index)
    return np.asarray(index) if _is_boolean(index) else index


def _is_boolean(index: Any) -> bool:
    return hasattr(index, "dtype") and jnp.issubdtype(index.dtype, np.bool_)


def wrap(value: Any) -> Any:
    """JAX arrays as ``Array``, inside tuples and lists too."""
    if isinstance(value, jax.Array):
        return Array(value)
    if isinstance(value, (tuple, list)):
        return type(value)(wrap(v) for v in value) if type(value) in (tuple, list) else tuple(wrap(v) for v in value)
    return value


def unwrap(value: Any) -> Any:
    """The reverse of ``wrap``."""
    if isinstance(value, Array):
        return value.value
    if isinstance(value, slice):
        return slice(*(None if v is None else int(unwrap(v)) for v in (value.start, value.stop, value.step)))
    if isinstance(value, (tuple, list)):
        return type(value)(unwrap(v) for v in value)
    return value


def _wrapped(function: Callable) -> Callable:
    @wraps(function)
    def call(*args, **kwargs):
        out = kwargs.pop("out", None)
        where = unwrap(kwargs.pop("where")) if "where" in kwargs and out is not None else None
        kwargs = {k: unwrap(v) for k, v in kwargs.items()}
        result = function(*(unwrap(a) for a in args), **kwargs)
        if out is None:
            return wrap(result)
        target = out[0] if isinstance(out, tuple) else out
        target.value = result if where is None else jnp.where(where, result, target.value)
        return target

    return call


class Namespace:
    """Stands for the module ``np``: functions of jax.numpy on ``Array`` objects."""

    def __getattr__(self, name):
        if name == "linalg":
            return _Linalg()
        if name == "float_power":
            return _wrapped(jnp.power)
        if name == "ndarray":
            return Array
        if isinstance(getattr(np, name), (type, float)) or getattr(np, name) is None:
            return getattr(np, name)  # element types and constants
        return _Function(getattr(jnp, name))

    def reshape(self, value, shape):
        """numpy.reshape: a view."""
        return value.reshape(shape)

    def transpose(self, value, axes=None):
        """numpy.transpose: a view where it only reverses the axes."""
        return value.T if axes is None else Array(jnp.transpose(value.value, axes))

    def copyto(self, target, source, where=None):
        """numpy.copyto."""
        new = jnp.broadcast_to(unwrap(source), target.shape)
        target.value = new if where is None else jnp.where(unwrap(where), new, target.value)

    def array(self, value, dtype=None):
        """numpy.array: a copy."""
        return Array(jnp.asarray(unwrap(value), dtype))

    def copy(self, value):
        """numpy.copy."""
        return Array(jnp.asarray(unwrap(value)))


class _Function:
    """A function of jax.numpy, with the methods of a ufunc."""

    def __init__(self, function):
        self._function = function
        self._call = _wrapped(function)

    def __call__(self, *args, **kwargs):
        return self._call(*args, **kwargs)

    def __getattr__(self, name):
        return _wrapped(getattr(self._function, name))


class _Linalg:
    def __getattr__(self, name):
        return _wrapped(getattr(jnp.linalg, name))


class Math:
    """Stands for the module ``math``."""

    pi, e = math.pi, math.e

    def __getattr__(self, name):
        special = {
            "erf": jsp.erf,
            "erfc": jsp.erfc,
            "lgamma": jsp.gammaln,
            "gamma": jsp.gamma,
            "fabs": jnp.abs,
        }
        renamed = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "pow": "power"}
        renamed |= {"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}
        function = special.get(name) or getattr(jnp, renamed.get(name, name))
        return _wrapped(function)


def mutable(function: Callable, mutates: tuple[str, ...] = ()) -> Callable:
    """The same function on JAX arrays.

    It returns what ``function`` returns, followed by the final content of the arguments in
    ``mutates``: one value alone if there is one, else a tuple.
    """

    @wraps(function)
    def call(*args):
        inner = rebind(function, _stand_in)
        names = tuple(inspect.signature(function).parameters)
        held = [wrap(jnp.asarray(a)) if not isinstance(a, (int, float, complex)) else a for a in args]
        returned = inner(*held)
        results = returned if isinstance(returned, (tuple, list)) else () if returned is None else (returned,)
        results = tuple(results) + tuple(held[names.index(m)] for m in mutates)
        results = tuple(unwrap(r) for r in results)
        return results[0] if len(results) == 1 else results

    return call


def _stand_in(value: Any) -> Any:
    if value is np:
        return Namespace()
    if value is math:
        return Math()
    return Array(jnp.asarray(value)) if isinstance(value, np.ndarray) else value
