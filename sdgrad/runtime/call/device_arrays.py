"""Programs whose arguments and results are in the memory of a GPU: CuPy's arrays and PyTorch's CUDA tensors.

Nothing is copied but what a program writes of its arguments. Programs run in the default stream, as both libraries do
unless they are told otherwise.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from dace import data as dt

from sdgrad.config import device
from sdgrad.errors import ArgumentError
from sdgrad.runtime.call import marshalling as host
from sdgrad.runtime.call.compiled_program import CompiledProgram
from sdgrad.runtime.call.marshalling import as_array, check, is_cupy, is_tensor


def is_resident(value: Any) -> bool:
    """Whether a value is an array in the memory of a GPU."""
    return is_cupy(value) or is_tensor(value) and value.device.type == "cuda"


class Memory(Protocol):
    """What makes such arrays."""

    def array(self, value: Any, dtype: np.dtype) -> Any:
        """A contiguous array: what is given, if that is one, and else a copy."""

    def full(self, shape: Sequence[int], dtype: np.dtype, value: float | None) -> Any:
        """A new array of a number, or of anything."""

    def copy(self, array: Any) -> Any: ...

    def address(self, array: Any) -> int: ...


@dataclass(frozen=True)
class CupyMemory:
    cupy: Any

    def array(self, value: Any, dtype: np.dtype) -> Any:
        return self.cupy.ascontiguousarray(self.cupy.asarray(value))

    def full(self, shape: Sequence[int], dtype: np.dtype, value: float | None) -> Any:
        return self.cupy.empty(shape, dtype) if value is None else self.cupy.full(shape, value, dtype)

    def copy(self, array: Any) -> Any:
        return array.copy()

    def address(self, array: Any) -> int:
        return array.data.ptr


@dataclass(frozen=True)
class TorchMemory:
    torch: Any
    device: Any

    def array(self, value: Any, dtype: np.dtype) -> Any:
        return self.torch.as_tensor(value, device=self.device).detach().contiguous()

    def full(self, shape: Sequence[int], dtype: np.dtype, value: float | None) -> Any:
        made = self.torch.empty(tuple(shape), dtype=getattr(self.torch, dtype.name), device=self.device)
        return made if value is None else made.fill_(value)

    def copy(self, array: Any) -> Any:
        return array.clone()

    def address(self, array: Any) -> int:
        return array.data_ptr()


def memory_of(values: Iterable[Any]) -> Memory | None:
    """The memory that arguments are in, by the first that is in the memory of a GPU; None where none is."""
    first = next((v for v in values if is_resident(v)), None)
    if first is None:
        return None
    if is_cupy(first):
        return CupyMemory(importlib.import_module("cupy"))
    return TorchMemory(importlib.import_module("torch"), first.device)


def placed(arguments: Mapping[str, Any]) -> tuple[Memory | None, Mapping[str, Any]]:
    """The memory of a GPU that arguments are used in, and what a program is made for: None, and themselves, elsewhere.

    A program for a CPU takes arrays on a GPU through the memory of the host.
    """
    memory = memory_of(arguments.values()) if device() == "gpu" else None
    return memory, arguments if memory is None else {n: stand_in(v) for n, v in arguments.items()}


def matching(value: Any, model: Any, what: str, memory: Memory | None) -> Any:
    """A cotangent or tangent of a model, as programs take it that run in a memory.

    :raises ArgumentError: its shape is another one.
    """
    if memory is None:
        return host.matching(value, model, what)
    wanted, shape, dtype = tuple(np.shape(model)), tuple(np.shape(value)), dtype_of(model)
    if shape != wanted:
        raise ArgumentError(f"{what}: expected shape {wanted}, found {shape}")
    return memory.array(value if is_resident(value) else np.asarray(as_array(value), dtype), dtype)


def dtype_of(value: Any) -> np.dtype:
    """The dtype of an array, wherever it is, or of a number."""
    return np.dtype(str(value.dtype).removeprefix("torch.")) if hasattr(value, "dtype") else np.asarray(value).dtype


def saved(value: Any) -> Any:
    """A value that stays as it is, whatever becomes of the array that is given; on a GPU it stays there."""
    memory = memory_of([value]) if device() == "gpu" else None
    if memory is not None:
        return memory.copy(value)
    return np.array(as_array(value)) if isinstance(as_array(value), np.ndarray) else value


def stand_in(value: Any) -> Any:
    """A value of the host that a program of a resident one is made for: its shape and dtype matter, or its number."""
    if not is_resident(value):
        return value
    return np.empty(tuple(value.shape), dtype_of(value)) if value.ndim else value.item()


def run(
    program: CompiledProgram,
    given: Mapping[str, Any],
    memory: Memory | None,
    inplace: bool = False,
    sizes: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Call a program where its arguments are; returns every array it was called with, those that were not given new.

    :param memory: of a GPU; None where they are in the memory of the host.
    :param sizes: values of symbols that the arguments' shapes do not tell.
    :raises ArgumentError: an array has another dtype or shape than the program's.
    """
    return program(given, inplace, sizes) if memory is None else _run_there(program, given, memory, inplace)


def _run_there(program: CompiledProgram, given: Mapping[str, Any], memory: Memory, inplace: bool) -> dict[str, Any]:
    slots = {program.spelled.get(s.name, s.name): s for s in program.slots}
    arrays: dict[str, Any] = {}
    values: list[Any] = []
    for argument, desc in program.library.arguments.items():
        slot = slots.get(argument)
        if slot is None or slot.shape is None or program.library.initial:
            raise ArgumentError(f"'{argument}': programs of arrays on a GPU have sizes that are known")
        if isinstance(desc, dt.Scalar):
            number = given[slot.name]
            number = number.item() if is_resident(number) else check(slot.name, number, slot.desc)
            values.append(desc.dtype.as_ctypes()(number))
            continue
        if slot.name in given:
            array = memory.array(given[slot.name], slot.dtype)
            _check(slot.name, array, slot.shape, slot.dtype)
            array = memory.copy(array) if slot.copied and not inplace else array
        else:
            array = memory.full(slot.shape, slot.dtype, None if slot.defined else 0)
        arrays[slot.name] = array
        values.append(memory.address(array))
    program.library.at(values)
    return arrays


def _check(name: str, array: Any, shape: tuple[int, ...], dtype: np.dtype) -> None:
    found = str(array.dtype).removeprefix("torch.")
    if found != dtype.name or tuple(array.shape) not in (shape, () if shape == (1,) else shape):
        raise ArgumentError(
            f"argument '{name}': expected a {dtype} array of shape {shape}, found a {found} array of shape "
            f"{tuple(array.shape)}"
        )
