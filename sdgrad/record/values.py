"""Recorded arrays and numbers: what a function meets in place of its arguments while it is recorded.

An :class:`Array` is memory and a view of it, so that what is written through one view is seen in all others. A
:class:`Number` never changes. NumPy hands every function that it is called with to us (``__array_ufunc__``, NEP 13, and
``__array_function__``, NEP 18).
"""

from __future__ import annotations

import ast
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeGuard

import numpy as np
import sympy

from sdgrad.record.compound import Compound
from sdgrad.record.elements import Dim
from sdgrad.record.tensors import Tensor
from sdgrad.record.unusable import Unusable

DATA = "data"
"""The origin of what depends on the content of arrays, and so has no value while it is recorded."""

KNOWN = "known"
"""The origin of what depends on the content of arrays that is known, where only a run knows the position."""

Origin = frozenset[Any]


@dataclass(eq=False)
class Storage:
    """Memory of an array: a container of the program, or content that is known so far.

    :param known: the content, as long as nothing recorded was written.
    :param block: the block that was being recorded when the array was made.
    :param site: where in the user's code, the same in every recording.
    :param partners: memory that Python may share with this one, and that a copy separated.
    :param stale: why it must not be read any more.
    :param outside: the array outside of the function whose memory this is.
    """

    name: str
    known: np.ndarray | None
    block: list
    site: Any
    readonly: str = ""  # why it must not be written
    read_inside: bool = False  # its known content was read in a loop or an arm that began after it was made
    partners: weakref.WeakSet[Storage] = field(default_factory=weakref.WeakSet)
    stale: str = ""
    version: int = 0  # how often it was written
    recipe: Any = None  # how a mask was computed: equal for masks that are equal
    outside: np.ndarray | None = None
    constant: bool = False  # its content was known when it was made
    indexes: int = 0  # what its elements lie below, none being negative; 0 where that is not known

    def share(self, other: Storage) -> None:
        """Note that Python may have one array where this is a copy of another one, or the other way round."""
        for partner in (other, *other.partners):
            self.meet(partner)

    def meet(self, other: Storage) -> None:
        """Note that Python may have one array where there are these two."""
        if other is not self:
            self.partners.add(other)
            other.partners.add(self)

    def part(self, other: Storage) -> None:
        """Note that Python has two arrays after all."""
        self.partners.discard(other)
        other.partners.discard(self)

    def may_be(self, other: Storage) -> bool:
        """True if Python may have one array where there are two."""
        return self is other or other in self.partners

    @property
    def origin(self) -> Origin:
        """Return what decides the content: an array from outside can be read beforehand."""
        if self.outside is not None:
            return frozenset({("outside", id(self.outside))})
        return frozenset({KNOWN if self.constant else DATA})


class Rules:
    """What values need of the modules above: set when these are imported."""

    active: Callable[[], Any]
    ufunc: Callable[..., Any]
    function: Callable[..., Any]
    method: Callable[..., Any]
    unreadable: Callable[..., Exception]
    truth: Callable[[Any], bool]
    content: Callable[[Any, str], Any]
    text: Callable[[Any, str], str]
    shown: Callable[[Any], str]
    item: Callable[..., Any]
    store: Callable[..., None]
    select: Callable[..., Any]
    under_the_mask: Callable[..., Any]
    masks: Callable[..., Any]
    at_selected: Callable[..., Any]
    places: Callable[..., Any]
    part: Callable[..., Any]
    agree: Callable[..., None]
    within: Callable[..., None]
    require: Callable[..., None]
    keep_short: Callable[..., bool]


RULES = Rules()


class Recorded:
    """Hand NumPy's functions and Python's operators on to the rules for recorded values."""

    __slots__ = ()
    __array_priority__ = 1000

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return RULES.ufunc(ufunc, method, inputs, kwargs)

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()

    def __copy__(self) -> Any:
        return RULES.function(np.copy, (self,), {}) if isinstance(self, Array) else self

    def __array_function__(self, function: Callable, types: Any, args: tuple, kwargs: dict) -> Any:
        return RULES.function(function, args, kwargs)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise RULES.unreadable(self, "an array of NumPy's own")

    def __bool__(self) -> bool:
        return RULES.truth(self)

    def __float__(self) -> float:
        return float(RULES.content(self, "float()"))

    def __int__(self) -> int:
        return int(RULES.content(self, "int()"))

    def __complex__(self) -> complex:
        return complex(RULES.content(self, "complex()"))

    def __index__(self) -> int:
        return RULES.content(self, "an index of Python's").__index__()

    def __hash__(self) -> int:
        return hash(RULES.content(self, "a key"))

    def __format__(self, how: str) -> str:
        return RULES.text(self, how)

    def __str__(self) -> str:
        return RULES.text(self, "")

    def __repr__(self) -> str:
        return str(RULES.shown(self))


class Number(Recorded):
    """A number: an expression over integer symbols, a value of the open scalar leaf, or the content of a scalar.

    :param weak: it takes the type of its partner, as Python's numbers do (NEP 50).
    :param origin: what its value depends on: arguments, loops, or :data:`DATA`.
    """

    __slots__ = (
        "__weakref__",
        "assigned",
        "condition",
        "dtype",
        "expr",
        "grows",
        "is_array",
        "label",
        "loaded",
        "moved",
        "name",
        "origin",
        "recorder",
        "tensor",
        "weak",
    )

    shape: tuple[Dim, ...] = ()
    ndim = 0
    size = 1

    def __init__(
        self,
        recorder: Any,
        dtype: Any,
        weak: bool,
        origin: Origin,
        expr: sympy.Expr | None = None,
        name: str | None = None,
        tensor: Tensor | None = None,
    ) -> None:
        self.recorder, self.dtype, self.weak, self.origin = recorder, np.dtype(dtype), weak, origin
        self.expr, self.name, self.tensor = expr, name, tensor
        self.loaded: Any = None  # the element of an array that it is as it stands
        self.label: str | None = None  # the variable that it is bound to
        self.assigned: tuple[str, list] | None = None  # the symbol it was assigned to, and the block that has that
        self.condition: ast.expr | None = None  # what it tests of symbols
        self.moved: tuple[Number, int] | None = None  # the integer that it is the sum of, with a known one
        self.grows = False  # it may outgrow 64 bits where a loop hands it on
        self.is_array = False  # without axes: names of it see what changes it in place

    def __getattr__(self, name: str) -> Any:
        return RULES.method(self, name)

    def __getitem__(self, index: Any) -> Any:
        return RULES.item(self, index)


class Array(Recorded):
    """An array: memory, and a view of it.

    :param tensor: how elements are addressed.
    :param shown: the same view of the content, while that is known.
    :param placed: what decides which part of the memory it is a view of.
    """

    __slots__ = ("__weakref__", "placed", "recorder", "shown", "storage", "tensor")

    def __init__(
        self,
        recorder: Any,
        storage: Storage,
        tensor: Tensor,
        shown: np.ndarray | None = None,
        placed: Origin = frozenset(),
    ) -> None:
        self.recorder, self.storage, self.tensor, self.shown, self.placed = recorder, storage, tensor, shown, placed

    @property
    def known(self) -> np.ndarray | None:
        """Return the content, if it is known."""
        return self.shown if self.storage.known is not None else None

    def read_known(self) -> Any:
        """Return the content, if it is known, for what is recorded here: it is no constant if the block writes it."""
        if self.known is not None and self.storage.block is not self.recorder.blocks[-1]:
            self.storage.read_inside = True
        return self.known

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(self.recorder.size(n) for n in self.tensor.shape)

    @property
    def ndim(self) -> int:
        return self.tensor.rank

    @property
    def dtype(self) -> np.dtype:
        return self.tensor.dtype

    @property
    def size(self) -> Any:
        return self.recorder.size(self.tensor.size)

    @property
    def T(self) -> Array:
        return self.transpose()

    @property
    def mT(self) -> Array:  # noqa: N802 (NumPy's name)
        if self.ndim < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return self.swapaxes(-1, -2)

    def __getattr__(self, name: str) -> Any:
        return RULES.method(self, name)

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (RULES.item(self, k) for k in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        return RULES.item(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        RULES.store(self, index, value)


def is_recorded(value: Any) -> TypeGuard[Number | Array]:
    """True of recorded arrays and numbers."""
    return isinstance(value, Recorded)


def holds_recorded(value: Any) -> bool:
    """True if a value, or a part of a nest, is recorded, or stands for something that may be."""
    if is_recorded(value) or isinstance(value, Unusable) and value.numeric:
        return True
    if isinstance(value, (list, tuple)):
        return any(map(holds_recorded, value))
    if isinstance(value, Compound):
        return any(map(holds_recorded, value.parts))
    return isinstance(value, dict) and any(map(holds_recorded, value.values()))


def can_be_fixed(origin: Origin) -> bool:
    """True if what a number came from can be known beforehand: arguments and trips of loops, and no data."""
    return bool(origin) and not origin & {DATA, KNOWN}


def is_known(value: Any) -> bool:
    """True if a value's content is at hand: everything but recorded numbers, and arrays that were written."""
    if isinstance(value, Compound):
        return all(map(is_known, value.parts))
    return not isinstance(value, Number) and (not isinstance(value, Array) or value.known is not None)


def _compared(ufunc: np.ufunc) -> Callable:
    """Return a comparison that leaves texts, None and functions to Python: they are equal to no number."""

    def compare(a: Any, b: Any) -> Any:
        if b is None or isinstance(b, (str, bytes)) or callable(b):
            return NotImplemented
        return RULES.ufunc(ufunc, "__call__", (a, b), {})

    return compare


def declines(value: Any) -> bool:
    """True of objects whose own operators count (NEP 13): polynomials, say."""
    return getattr(type(value), "__array_ufunc__", NotImplemented) is None


def _times(a: Any, b: Any) -> Any:
    """Return a product, of which either order is the same; an integer repeats a list, a tuple or a text."""
    if isinstance(b, (list, tuple, str)) and isinstance(a, Number) and a.dtype.kind in "iu":
        return b * a.__index__()
    if declines(b):
        return NotImplemented
    return RULES.ufunc(np.multiply, "__call__", (a, b), {})


def _forward(ufunc: np.ufunc) -> Callable:
    return lambda a, b: NotImplemented if declines(b) else RULES.ufunc(ufunc, "__call__", (a, b), {})


def _whole(a: Any, ufunc: np.ufunc) -> Any:
    """Return a truth value of Python's as the integer whose bits ``~`` inverts; anything else unchanged."""
    is_truth = ufunc is np.invert and isinstance(a, Number) and a.weak and a.dtype.kind == "b"
    return a + 0 if is_truth else a


def _operators() -> None:
    """Define Python's operators by NumPy's universal functions."""
    two = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "matmul": np.matmul,
        "floordiv": np.floor_divide, "mod": np.remainder, "pow": np.power, "and": np.bitwise_and,
        "or": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift,
    }  # fmt: skip
    compared = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}
    one = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}

    def backward(ufunc: np.ufunc) -> Callable:
        return lambda a, b: RULES.ufunc(ufunc, "__call__", (b, a), {})

    def inplace(ufunc: np.ufunc) -> Callable:
        def update(a: Any, b: Any) -> Any:
            if not isinstance(a, Array):
                return _forward(ufunc)(a, b)
            return RULES.ufunc(ufunc, "__call__", (a, b), {"out": (a,)})

        return update

    for name, ufunc in two.items():
        setattr(Recorded, f"__{name}__", _forward(ufunc))
        setattr(Recorded, f"__r{name}__", backward(ufunc))
        setattr(Recorded, f"__i{name}__", inplace(ufunc))
    Recorded.__mul__ = Recorded.__rmul__ = _times  # type: ignore[attr-defined,operator]
    for name, ufunc in compared.items():
        setattr(Recorded, f"__{name}__", _forward(ufunc))
    for name, ufunc in (("eq", np.equal), ("ne", np.not_equal)):
        setattr(Recorded, f"__{name}__", _compared(ufunc))
    for name, ufunc in one.items():
        setattr(Recorded, f"__{name}__", lambda a, ufunc=ufunc: RULES.ufunc(ufunc, "__call__", (_whole(a, ufunc),), {}))
    for kind in (Number, Array):
        kind.__hash__ = Recorded.__hash__  # type: ignore[method-assign]


_operators()


def is_positive(number: Number) -> bool:
    """True if an integer is certainly not negative, by the least values of loop indices."""
    return number.expr is not None and number.recorder.ranges.is_never_negative(number.expr)
