"""Call compiled halves by the addresses of tensors, prepared once for all calls of a kind."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from dace import data as dt

from sdgrad.autodiff.request import Request
from sdgrad.autodiff.seeds import gradient_name, seed_name
from sdgrad.program.tree import Program
from sdgrad.runtime.call.checks import Checks
from sdgrad.runtime.call.compiled_program import CompiledProgram
from sdgrad.runtime.call.marshalling import evaluate_shape
from sdgrad.runtime.call.result_pool import Spare
from sdgrad.specialize.forward_backward import Forward, output_names
from sdgrad.specialize.signature import Signature
from sdgrad.torch.graph import TENSOR_TYPES

Tensors = dict[str, torch.Tensor]
CPU = torch.device("cpu")


@dataclass(frozen=True)
class Entry:
    """An argument of a compiled program."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    copied: bool
    number: Any  # the ctypes type of a scalar; None for an array

    def address(self, tensor: torch.Tensor) -> Any:
        if self.number is None:
            return tensor.data_ptr()
        is_half = tensor.dtype is torch.float16  # it goes as its bits
        return self.number((tensor.view(torch.int16) if is_half else tensor).item())

    def empty(self, device: torch.device) -> torch.Tensor:
        return torch.empty(self.shape, dtype=self.dtype, device=device)


@dataclass(frozen=True)
class Size:
    """An argument that is the same in all calls of a kind, as ctypes has it."""

    value: Any


def _known_sizes(program: CompiledProgram, slots: Container[str], sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return the program's arguments that are sizes, as ctypes has them."""
    own = {s: n for n, s in program.spelled.items()}
    return {
        a: d.dtype.as_ctypes()(sizes[own.get(a, a)])
        for a, d in program.library.arguments.items()
        if a not in slots and own.get(a, a) in sizes
    }


def _left_by(first: Half, second: Half, arguments: Container[str], restarted: Container[str]) -> tuple[str, ...]:
    """Return what the second half takes of what the first one makes, or changes in copies of the arguments."""
    left = {e.name for e in first.arrays if e.name not in arguments or e.copied and e.name not in restarted}
    return tuple(e.name for e in second.arrays if e.name in left)


@dataclass(frozen=True)
class Half:
    """Run a compiled program on tensors by name; those that nobody gives are made, and returned.

    :param initial: the sizes that the program's state is made for.
    """

    program: CompiledProgram
    entries: tuple[Entry | Size, ...]
    constants: Mapping[str, torch.Tensor]
    initial: tuple[Any, ...]
    checks: Mapping[str, Checks] = field(default_factory=dict)

    @staticmethod
    def of(
        program: CompiledProgram, closure: Mapping[str, Any], sizes: Mapping[str, int], device: torch.device
    ) -> Half | None:
        """Return a half for one call after another; None if a call needs more than tensors."""
        slots = {program.spelled.get(s.name, s.name): s for s in program.slots}
        known = _known_sizes(program, slots, sizes)
        entries: list[Entry | Size] = []
        for argument, desc in program.library.arguments.items():
            slot = slots.get(argument)
            if argument in known:
                entries.append(Size(known[argument]))
                continue
            if slot is None or slot.dtype not in TENSOR_TYPES:
                return None
            shape = slot.shape if slot.shape is not None else evaluate_shape(slot.desc, dict(sizes))
            number = desc.dtype.as_ctypes() if isinstance(desc, dt.Scalar) else None
            entries.append(Entry(slot.name, shape, TENSOR_TYPES[slot.dtype], slot.copied, number))
        if any(n not in known for n in program.library.initial):
            return None
        checks = {n: v for n, v in closure.items() if isinstance(v, Checks)}
        arrays = {n: np.ascontiguousarray(v) for n, v in closure.items() if n not in checks}
        constants = {n: torch.from_numpy(v).to(device) for n, v in arrays.items()}
        return Half(program, tuple(entries), constants, tuple(known[n] for n in program.library.initial), checks)

    @property
    def arrays(self) -> list[Entry]:
        """Return the entries that are arrays or numbers of a call."""
        return [e for e in self.entries if isinstance(e, Entry)]

    def __call__(self, given: Mapping[str, torch.Tensor], memory: Mapping[str, torch.Tensor]) -> Tensors:
        """Run; every array of the program, by name.

        :param memory: tensors for what is not given, whose content does not matter.
        """
        arrays: Tensors = {}
        addresses = []
        device = next((t.device for t in given.values()), CPU)
        for entry in self.entries:
            if isinstance(entry, Size):
                addresses.append(entry.value)
                continue
            tensor = given.get(entry.name)
            if entry.name in self.checks:
                tensor = torch.zeros(entry.shape, dtype=entry.dtype, device=device)
            elif tensor is None:
                tensor = self.constants.get(entry.name)
            if tensor is None:
                tensor = memory.get(entry.name)
                if tensor is None:
                    tensor = entry.empty(device)
            elif entry.copied:
                tensor = tensor.clone(memory_format=torch.contiguous_format)
            elif not tensor.is_contiguous() or tensor.is_neg():  # its memory has the other sign
                tensor = tensor.resolve_neg().contiguous()
            arrays[entry.name] = tensor
            addresses.append(entry.address(tensor))
        self.program.library.at(addresses, self.initial)
        for name, check in self.checks.items():
            if name in arrays:
                check.done(arrays[name])
        return arrays


@dataclass(frozen=True)
class Seed:
    """The cotangent of an output."""

    output: str
    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype

    @staticmethod
    def of(output: str, program: Program, request: Request, sizes: Mapping[str, int]) -> Seed:
        container = program.containers[output]
        shape = evaluate_shape(container.desc, dict(sizes))
        return Seed(output, seed_name(output, program, request), shape, TENSOR_TYPES[np.dtype(container.dtype.type)])

    def tensor(self, cotangent: torch.Tensor | None, device: torch.device) -> torch.Tensor:
        """Return the given cotangent, or zeros."""
        return cotangent if cotangent is not None else torch.zeros(self.shape, dtype=self.dtype, device=device)


@dataclass
class Kept:
    """What backward takes from a forward call; its memory is used again when nobody can ask for it any more.

    :param results: outputs of the call that backward reads as well.
    """

    tensors: Tensors
    results: Sequence[str]
    owner: Prepared

    def __del__(self) -> None:
        made = {n: t for n, t in self.tensors.items() if n not in self.owner.order}
        if made:
            self.owner.spare.leave(made)


@dataclass(frozen=True)
class Prepared:
    """Forward and backward of a function for arguments of one kind.

    :param order: the function's arguments.
    :param wanted: those whose gradients are asked for.
    :param reaches: for each of the arguments: the results, by number, that have a derivative by it.
    """

    function: Any
    order: tuple[str, ...]
    wanted: tuple[str, ...]
    signature: Signature
    outputs: tuple[str, ...]  # of the program, in the order of the function's results
    request: Request | None = None
    forward: Half | None = None
    backward: Half | None = None
    kept: tuple[str, ...] = ()  # what backward takes from forward besides arguments
    seeds: tuple[Seed, ...] = ()
    gradients: Mapping[str, str] = field(default_factory=dict)
    reaches: Mapping[str, frozenset[int]] = field(default_factory=dict)
    spare: Spare = field(default_factory=Spare, compare=False)  # memory of tapes that are gone

    @staticmethod
    def of(
        function: Any,
        arguments: Mapping[str, torch.Tensor],
        wanted: tuple[str, ...],
        provides: tuple[str, ...],
        reaches: Mapping[str, frozenset[int]],
        sizes: Mapping[str, int],
    ) -> Prepared | None:
        """Return the prepared calls; None if they need more than tensors: these go the general way.

        :param sizes: of the program's open dimensions.
        """
        signature = Signature.of(function, arguments, any(t.device.type == "cuda" for t in arguments.values()))
        device = next((t.device for t in arguments.values()), CPU)
        outputs = tuple(output_names(signature).values())
        order = tuple(arguments)
        if not wanted or not provides:
            half = Half.of(signature.primal(), signature.now(), sizes, device)
            return None if half is None else Prepared(function, order, (), signature, outputs, forward=half)
        _, request, programs = Forward(function, wanted, provides).compiled(signature)
        first = Half.of(programs.forward, signature.now(), sizes, device)
        second = Half.of(programs.backward, signature.now(), sizes, device)
        if first is None or second is None:
            return None
        return Prepared(
            function,
            order,
            wanted,
            signature,
            outputs,
            request,
            first,
            second,
            _left_by(first, second, arguments, programs.between.restarted) if programs.between is not None else (),
            tuple(Seed.of(o, signature.program, request, sizes) for o in request.outputs),
            {n: gradient_name(n, signature.program) for n in request.inputs},
            reaches,
        )

    def depending(self) -> set[int]:
        """Return the numbers of results that have a derivative by what is wanted."""
        return {k for n in self.wanted for k in self.reaches[n]}

    def __call__(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        """Return results for arguments in the order of ``order``; nothing is recorded."""
        with torch.no_grad():
            return self.run(tensors)[0]

    def run(self, tensors: Sequence[torch.Tensor]) -> tuple[list[torch.Tensor], Kept]:
        """Return results, and what backward takes."""
        assert self.forward is not None
        memory = self.spare.take() or {}
        given = dict(zip(self.order, tensors, strict=True))
        arrays = self.forward(given, memory)
        results = {n: arrays[n] for n in self.outputs}
        kept = {n: arrays[n] for n in self.kept if n not in results}
        return list(results.values()), Kept(kept, [n for n in self.kept if n in results], self)

    def pull(
        self, tensors: Sequence[torch.Tensor], kept: Tensors, cotangents: Mapping[str, torch.Tensor | None]
    ) -> Tensors:
        """Return gradients by argument."""
        assert self.backward is not None
        given: Tensors = {**dict(zip(self.order, tensors, strict=True)), **kept}
        device = next((t.device for t in tensors), CPU)
        given |= {s.name: s.tensor(cotangents[s.output], device) for s in self.seeds}
        arrays = self.backward(given, {})
        return {n: arrays[g] for n, g in self.gradients.items()}
