"""Carry values through control flow: nests of numbers and arrays get memory that arms and trips write."""

from __future__ import annotations

import copy
import dataclasses
import enum
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdgrad.record.elementwise import common
from sdgrad.record.functions.table import own
from sdgrad.record.indexing import as_array
from sdgrad.record.recorder import WEAK, Recorder
from sdgrad.record.stores import fill
from sdgrad.record.values import Array, Number, Origin, Storage, is_recorded


def is_number(value: Any) -> bool:
    """True of what fits into memory for one number; a member of an enumeration is more than its number."""
    numeric = isinstance(value, (bool, int, float, complex, np.generic, Number))
    return numeric and not isinstance(value, (str, bytes, enum.Enum))


def is_array(value: Any) -> bool:
    return isinstance(value, (Array, np.ndarray))


def is_value(value: Any) -> bool:
    """True of a number or an array."""
    return is_number(value) or is_array(value)


def fields_of(value: Any) -> dict[str, Any] | None:
    """Return the fields of an object of a frozen dataclass, which is a nest; None of others, and of what keeps more."""
    params = getattr(type(value), "__dataclass_params__", None)
    if params is None or not params.frozen:
        return None
    names = [f.name for f in dataclasses.fields(value)]
    if vars(value).keys() - set(names) if hasattr(value, "__dict__") else ():
        return None  # a cached property, say
    return {n: getattr(value, n) for n in names if hasattr(value, n)}


def leaves(value: Any) -> Iterator[Any]:
    """Yield what a nest of lists, tuples, dicts and frozen dataclasses holds, in order."""
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from leaves(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from leaves(part)
    elif (fields := fields_of(value)) is not None:
        yield from leaves(fields)
    else:
        yield value


def rebuilt(value: Any, parts: Iterator[Any]) -> Any:
    """Return a nest like another one, with other parts."""
    if isinstance(value, (list, tuple)):
        inner = [rebuilt(v, parts) for v in value]
        return type(value)(*inner) if hasattr(value, "_fields") else type(value)(inner)
    if isinstance(value, dict):
        return type(value)((k, rebuilt(v, parts)) for k, v in value.items())
    if (fields := fields_of(value)) is not None:
        found = copy.copy(value)
        for name, part in rebuilt(fields, parts).items():
            object.__setattr__(found, name, part)
        return found
    return next(parts)


def structure(value: Any) -> Any:
    """Return a value that is equal for nests of the same form."""
    if isinstance(value, (list, tuple)):
        return (type(value), *map(structure, value))
    if (fields := fields_of(value)) is not None:
        return (type(value), structure(fields))
    return (type(value), *((k, structure(v)) for k, v in value.items())) if isinstance(value, dict) else None


@dataclass
class Cell:
    """Hold memory for one number or array that arms or trips write.

    :param value: what a reader of the memory gets.
    """

    recorder: Recorder
    value: Number | Array

    @staticmethod
    def of(recorder: Recorder, examples: Sequence[Any], origin: Origin, name: str, dtype: Any = None) -> Cell:
        """Declare memory for a value like each of some examples.

        :param name: of the variable.
        :raises ValueError: arrays have different shapes.
        """
        examples = [own(x) for x in examples]
        wide = np.dtype(dtype) if dtype is not None else common(examples)
        if not any(is_array(x) for x in examples):
            tensor = recorder.declare("carried", (), wide)
            recorder.labels[tensor.container] = _stem(name)
            weak = wide in WEAK.values() and all(_is_weak(x) for x in examples)
            return Cell(recorder, Number(recorder, wide, weak, origin, tensor=tensor))
        shapes = {x.tensor.shape if isinstance(x, Array) else np.shape(x) for x in examples}
        if len(shapes) > 1:
            raise ValueError(f"shapes {' and '.join(map(str, shapes))}")
        tensor = recorder.declare("carried", shapes.pop(), wide)
        recorder.labels[tensor.container] = _stem(name)
        return Cell(recorder, Array(recorder, Storage(tensor.container, None, recorder.blocks[-1], None), tensor))

    def put(self, value: Any) -> None:
        """Write a value to the memory, which may be the same array in Python from now on."""
        self.fill(value)
        if isinstance(self.value, Array) and isinstance(value, Array):
            self.value.storage.share(value.storage)

    def fill(self, value: Any) -> None:
        """Write a value to the memory."""
        value = own(value)
        if isinstance(self.value, Number):
            assert self.value.tensor is not None
            self.recorder.write(self.value.tensor, (), value)
            return
        fill(self.value, value if is_recorded(value) or np.ndim(value) == 0 else as_array(self.recorder, value))
        self.value.storage.stale = ""


def shape_of(array: Any) -> tuple:
    """Return the shape of an array, recorded or NumPy's."""
    return array.tensor.shape if isinstance(array, Array) else np.shape(array)


def sample_of(value: Any) -> Any:
    """Return a number of the type of a value's elements."""
    return value if isinstance(value, Number) else np.zeros((), value.dtype)[()]


def _stem(name: str) -> str:
    """Return a variable's name, or the way to an attribute or an entry, as a name in a program."""
    return re.sub(r"\W+", "_", name).strip("_") or "carried"


def _is_weak(value: Any) -> bool:
    """True of numbers that take the type of their partner."""
    return value.weak if isinstance(value, Number) else type(value) in WEAK


def same(a: Any, b: Any) -> bool:
    """True if two values are one, or constants that are equal."""
    if a is b:
        return True
    if is_recorded(a) or is_recorded(b) or is_array(a) or is_array(b) or type(a) is not type(b):
        return isinstance(a, Number) and isinstance(b, Number) and a.expr is not None and a.expr == b.expr
    if isinstance(a, (list, tuple, dict)) or fields_of(a) is not None:
        return structure(a) == structure(b) and all(map(same, leaves(a), leaves(b)))
    try:
        return bool(a == b)
    except Exception:
        return False
