"""Call programs with arrays in device memory: CuPy arrays and PyTorch's CUDA tensors.

Only arguments that a program writes are copied. Programs run in the default stream, as both libraries do by default.
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
from sdgrad.runtime.call import checks
from sdgrad.runtime.call import marshalling as host
from sdgrad.runtime.call.compiled_program import CompiledProgram, Slot
from sdgrad.runtime.call.marshalling import as_array, check, is_cupy, is_tensor


def is_resident(value: Any) -> bool:
    """True for an array in device memory."""
    return is_cupy(value) or is_tensor(value) and value.device.type == "cuda"


class Memory(Protocol):
    """The library that allocates arrays in device memory."""

    def array(self, value: Any, dtype: np.dtype) -> Any:
        """Convert a value to a contiguous array in device memory; unchanged if it is one."""

    def full(self, shape: Sequence[int], dtype: np.dtype, value: float | None) -> Any:
        """Allocate an array, filled with a number (None leaves it undefined)."""

    def copy(self, array: Any) -> Any:
        """Copy an array."""

    def address(self, array: Any) -> int:
        """Return the address of an array's elements."""


@dataclass(frozen=True)
class CupyMemory:
    """Arrays of CuPy."""

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
    """Tensors of PyTorch on one device."""

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
    """Return the memory of the first value that is in device memory; None if there is none."""
    first = next((v for v in values if is_resident(v)), None)
    if first is None:
        return None
    if is_cupy(first):
        return CupyMemory(importlib.import_module("cupy"))
    return TorchMemory(importlib.import_module("torch"), first.device)


def placed(arguments: Mapping[str, Any]) -> tuple[Memory | None, Mapping[str, Any]]:
    """Return the device memory of arguments, and stand-ins on the host to compile the program for.

    Without arrays in device memory, or for programs on a CPU, they are None and the arguments themselves. A program on
    a CPU takes device arrays through host memory.
    """
    memory = memory_of(arguments.values()) if device() == "gpu" else None
    return memory, arguments if memory is None else {n: stand_in(v) for n, v in arguments.items()}


def matching(value: Any, model: Any, what: str, memory: Memory | None) -> Any:
    """Convert a cotangent or tangent to the dtype of its primal value, in the memory that a program runs in.

    :param model: the primal value.
    :param what: its description in the error message.
    :raises ArgumentError: its shape is another one.
    """
    if memory is None:
        return host.matching(value, model, what)
    wanted, shape, dtype = tuple(np.shape(model)), tuple(np.shape(value)), dtype_of(model)
    if shape != wanted:
        raise ArgumentError(f"{what}: expected shape {wanted}, found {shape}")
    return memory.array(value if is_resident(value) else np.asarray(as_array(value), dtype), dtype)


def dtype_of(value: Any) -> np.dtype:
    """Return the dtype of an array in any memory, or of a number.

    Other objects may be arrays for NumPy, such as sequences. For a recording they are objects, without a derivative.
    """
    if isinstance(value, dict):  # of a class that may look for any attribute among its entries
        return np.dtype(object)
    if hasattr(value, "dtype"):
        dtype = value.dtype
    elif hasattr(value, "__array__") or isinstance(value, (int, float, complex, str, bytes)):
        dtype = np.asarray(value).dtype
    else:
        return np.dtype(object)
    return dtype if isinstance(dtype, np.dtype) else np.dtype(str(dtype).removeprefix("torch."))


def saved(value: Any) -> Any:
    """Copy an array in its own memory; numbers are unchanged."""
    memory = memory_of([value]) if device() == "gpu" else None
    if memory is not None:
        return memory.copy(value)
    return np.array(as_array(value)) if isinstance(as_array(value), np.ndarray) else value


def stand_in(value: Any) -> Any:
    """Return a host array of the same shape and dtype for an array in device memory; other values are unchanged.

    Its content is undefined. An array without dimensions becomes its number.
    """
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
    """Call a program in the memory of its arguments, and return all its arrays by name.

    :param memory: the device memory; None for host memory.
    :param sizes: values of symbols that no shape determines.
    :raises ArgumentError: an array has another dtype or shape than the program's.
    """
    return program(given, inplace, sizes) if memory is None else _run_there(program, given, memory, inplace)


def _run_there(program: CompiledProgram, given: Mapping[str, Any], memory: Memory, inplace: bool) -> dict[str, Any]:
    """Call a program with arrays in device memory; its sizes must be constant."""
    slots = {program.spelled.get(s.name, s.name): s for s in program.slots}
    arrays: dict[str, Any] = {}
    values: list[Any] = []
    for argument, desc in program.library.arguments.items():
        slot = slots.get(argument)
        if slot is None or slot.shape is None or program.library.initial:
            raise ArgumentError(f"'{argument}': programs of arrays on a GPU have sizes that are known")
        if isinstance(desc, dt.Scalar):
            values.append(desc.dtype.as_ctypes()(_number(slot, given[slot.name])))
            continue
        arrays[slot.name] = _array(slot, slot.shape, given, memory, inplace)
        values.append(memory.address(arrays[slot.name]))
    program.library.at(values)
    checks.first(given, arrays)
    return arrays


def _number(slot: Slot, value: Any) -> Any:
    """Return the number of a scalar argument."""
    return value.item() if is_resident(value) else check(slot.name, value, slot.desc)


def _array(slot: Slot, shape: tuple[int, ...], given: Mapping[str, Any], memory: Memory, inplace: bool) -> Any:
    """Return the array of an argument: the caller's, a copy of it, or a new one."""
    if slot.name not in given:
        return memory.full(shape, slot.dtype, None if slot.defined else 0)
    if isinstance(given[slot.name], checks.Checks):
        return memory.full(shape, slot.dtype, 0)
    array = memory.array(given[slot.name], slot.dtype)
    _check(slot.name, array, shape, slot.dtype)
    return memory.copy(array) if slot.copied and not inplace else array


def _check(name: str, array: Any, shape: tuple[int, ...], dtype: np.dtype) -> None:
    """Check the dtype and the shape of an array.

    :raises ArgumentError: one of them is another one.
    """
    found = str(array.dtype).removeprefix("torch.")
    if found != dtype.name or tuple(array.shape) not in (shape, () if shape == (1,) else shape):
        raise ArgumentError(
            f"argument '{name}': expected a {dtype} array of shape {shape}, found a {found} array of shape "
            f"{tuple(array.shape)}"
        )
