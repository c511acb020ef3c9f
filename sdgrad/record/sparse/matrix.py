"""Hold a sparse matrix in a recorded function: its recorded data, the places of these, and its class in SciPy.

The shape and the number of places are known while a function is recorded; which places they are may be known at run
time only. All of them lie inside of the matrix: what comes from SciPy is checked before each call, and what a program
computes is checked where it makes a matrix of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sdgrad.record.compound import Compound
from sdgrad.record.sparse.other_formats import restored

FORMATS = {
    "csr": (sp.csr_matrix, sp.csr_array),
    "csc": (sp.csc_matrix, sp.csc_array),
    "coo": (sp.coo_matrix, sp.coo_array),
}
CLASSES = tuple(c for pair in FORMATS.values() for c in pair)
NAMES = {"csr": ("indices", "indptr"), "csc": ("indices", "indptr"), "coo": ("row", "col")}
"""What SciPy calls the two arrays of places."""


@dataclass(frozen=True)
class _Kind:
    format: str
    is_array: bool
    shape: tuple[int, int]
    of: tuple


class Kind:
    """The format, class and shape of a matrix: equal for equal ones.

    :param of: what a matrix outside has that is of another format than those that are recorded.
    """

    __slots__ = ("own",)

    def __init__(self, format: str, is_array: bool, shape: Iterable[Any], of: tuple = ()) -> None:
        self.own = _Kind(format, is_array, tuple(int(n) for n in shape), of)  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kind) and other.own == self.own

    def __hash__(self) -> int:
        return hash(self.own)

    def __repr__(self) -> str:
        return f"{self.cls.__name__} of shape {self.shape}"

    @staticmethod
    def of(value: Any) -> Kind:
        """Return the kind of one of SciPy's matrices."""
        return Kind(value.format, isinstance(value, sp.sparray), value.shape)

    @property
    def format(self) -> str:
        return self.own.format

    @property
    def is_array(self) -> bool:
        return self.own.is_array

    @property
    def shape(self) -> tuple[int, int]:
        return self.own.shape

    @property
    def cls(self) -> Any:
        return FORMATS[self.format][self.is_array]

    @property
    def places(self) -> tuple[str, str]:
        return NAMES[self.format]

    def of_format(self, format: str, shape: Any = None) -> Kind:
        """Return a kind of the same class in another format, and perhaps of another shape."""
        return Kind(format, self.is_array, self.shape if shape is None else shape)

    def plain(self, data: Any, first: Any, second: Any) -> Any:
        """Return SciPy's matrix of these arrays."""
        if self.own.of:
            return restored(self.own.of, self.is_array, self.shape, (data, first, second))
        given = (data, (first, second)) if self.format == "coo" else (data, first, second)
        return self.cls(given, shape=self.shape)

    def stand_in(self, *parts: Any) -> Any:
        """Return what has SciPy's class and these parts, whatever they are."""
        found = object.__new__(self.cls)
        found.data, found._shape = parts[0], self.shape
        if self.format == "coo":
            found.coords = parts[1:]
        else:
            found.indices, found.indptr = parts[1:]
        return found


def parts_of(value: Any) -> tuple[Any, Any, Any]:
    """Return the data of one of SciPy's matrices, and its two arrays of places."""
    return (value.data, *(getattr(value, n) for n in NAMES[value.format]))


@dataclass(frozen=True, eq=False)
class Sparse(Compound):
    """A sparse matrix: ``first`` and ``second`` are the arrays of its places, as SciPy's class has them."""

    data: Any
    first: Any
    second: Any
    kind: Kind

    __array_priority__ = 2000

    @property
    def parts(self) -> tuple[Any, ...]:
        return (self.data, self.first, self.second)

    def with_parts(self, parts: Iterable[Any]) -> Sparse:
        data, first, second = parts
        return Sparse(data, first, second, self.kind)

    def plain(self, parts: Iterable[Any]) -> Any:
        return self.kind.plain(*parts)

    def with_data(self, data: Any) -> Sparse:
        """Return the matrix with the same places and other data."""
        return Sparse(data, self.first, self.second, self.kind)

    @property
    def shape(self) -> tuple[int, int]:
        return self.kind.shape

    @property
    def nnz(self) -> int:
        return int(self.data.shape[0])

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # what ``isinstance`` and ``issparse`` ask
        return self.kind.cls

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self.kind.places:
            return (self.first, self.second)[self.kind.places.index(name)]
        if name in OPERATIONS.properties:
            return OPERATIONS.properties[name](self)
        if name in OPERATIONS.methods and (hasattr(self.kind.cls, name) or name in OPERATIONS.of_filled(self)):
            return OPERATIONS.bound(OPERATIONS.methods[name], self)
        if not hasattr(self.kind.cls, name):
            raise AttributeError(f"'{self.kind.cls.__name__}' object has no attribute '{name}'")
        return OPERATIONS.other(self, name)

    def __getitem__(self, index: Any) -> Any:
        if not hasattr(self.kind.cls, "__getitem__"):
            raise TypeError(f"'{self.kind.cls.__name__}' object is not subscriptable")
        return OPERATIONS.item(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        if self.kind.format == "coo":
            raise TypeError(f"'{self.kind.cls.__name__}' object does not support item assignment")
        OPERATIONS.store(self, index, value)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return OPERATIONS.ufunc(ufunc, method, inputs, kwargs)

    def __len__(self) -> int:
        raise TypeError("sparse array length is ambiguous; use getnnz() or shape[0]")

    def __bool__(self) -> bool:
        raise ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all().")

    def __repr__(self) -> str:
        return f"<recorded {self.kind}, {self.nnz} stored elements>"


class Operations:
    """What matrices need of the modules that compute with them: set when these are imported.

    :param methods: by name; ``properties`` too.
    :param of_filled: gives the names of methods that only matrices have which are filled element by element.
    :param other: gives an attribute that has no rule.
    """

    methods: dict[str, Callable] = {}
    properties: dict[str, Callable] = {}
    bound: Callable[[Callable, Sparse], Any]
    item: Callable[[Sparse, Any], Any]
    store: Callable[[Sparse, Any, Any], None]
    of_filled: Callable[[Sparse], tuple[str, ...]]
    other: Callable[[Sparse, str], Any]
    ufunc: Callable[..., Any]


OPERATIONS = Operations()


def is_sparse(value: Any) -> bool:
    """True of recorded sparse matrices."""
    return type(value) is Sparse


def _operators() -> None:
    """Define Python's operators by the same universal functions as those of arrays."""
    two = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "matmul": np.matmul,
        "pow": np.power, "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
        "ge": np.greater_equal,
    }  # fmt: skip
    for name, ufunc in two.items():
        setattr(Sparse, f"__{name}__", lambda a, b, u=ufunc: OPERATIONS.ufunc(u, "operator", (a, b), {}))
        if name in ("add", "sub", "mul", "truediv", "matmul", "pow"):
            setattr(Sparse, f"__r{name}__", lambda a, b, u=ufunc: OPERATIONS.ufunc(u, "operator", (b, a), {}))
    for name, ufunc in {"neg": np.negative, "abs": np.absolute}.items():
        setattr(Sparse, f"__{name}__", lambda a, u=ufunc: OPERATIONS.ufunc(u, "operator", (a,), {}))
    for name, ufunc in {"imul": np.multiply, "itruediv": np.true_divide}.items():
        setattr(Sparse, f"__{name}__", lambda a, b, u=ufunc: _in_place(u, a, b))
    Sparse.__hash__ = object.__hash__  # type: ignore[method-assign]


def _in_place(ufunc: np.ufunc, a: Sparse, b: Any) -> Any:
    """Scale the data in place, as SciPy does with numbers."""
    if is_sparse(b) or np.ndim(b):
        return NotImplemented
    ufunc(a.data, b, out=a.data)
    return a


_operators()
