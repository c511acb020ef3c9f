"""Let NumPy-style programs call wrapped modules, by DaCe's protocol for objects that become a nested graph."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import dace
import numpy as np
import torch
from dace import data as dt
from dace.frontend.python.common import SDFGClosure
from torch import nn

from sdgrad.errors import CaptureError, Problem
from sdgrad.lift.dace_programs import STAMP
from sdgrad.onnx.importing import identifier
from sdgrad.torch.call import Call
from sdgrad.torch.capture import Captured, capture, refuse
from sdgrad.torch.graph import TENSOR_TYPES
from sdgrad.torch.steps import Segment
from sdgrad.torch.watch import stamp


@dataclass
class Embedded:
    """A module as a function that a program calls. Parameters and buffers are its closure, not copied."""

    module: nn.Module
    forward: Callable

    def __post_init__(self) -> None:
        self.stamp: Hashable = (
            stamp(self.module),
            tuple((n, id(t), t.data_ptr(), t.shape, t.dtype) for n, t in self.weights()),
        )
        """Changes with the module: its attributes, hooks, mode and submodules, and which tensors are its weights."""

    def weights(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Parameters and buffers, in the order in which a captured module takes them."""
        yield from self.module.named_parameters()
        yield from self.module.named_buffers()

    @property
    def parameters(self) -> list[str]:
        """The names of the arguments."""
        own = inspect.signature(type(self.module).forward).parameters
        return [n for n in list(own)[1:] if own[n].kind in (own[n].POSITIONAL_ONLY, own[n].POSITIONAL_OR_KEYWORD)]

    def signature(self) -> tuple[list[str], list[str]]:
        """Arguments, and which of them are constants."""
        return self.parameters, []

    def sdfg(self, *args: Any, **kwargs: Any) -> dace.SDFG:
        """The graph for arguments like these: DaCe's descriptors, arrays, or plain values.

        :raises CaptureError: the module cannot be captured, or is not one graph of its arguments alone.
        """
        given = dict(zip(self.parameters, map(self.example, args), strict=False))
        given |= {n: self.example(a) for n, a in kwargs.items()}
        call = Call.of(self.module, (), given)
        refuse(self.module, call)
        captured = capture(self.module, self.forward, call)
        segment = self.only(captured)
        tensors = [n for n, a in given.items() if isinstance(a, torch.Tensor)]
        entering = captured.inputs[len(captured.inputs) - len(tensors) :]
        names = dict(zip(segment.inputs, segment.function.arguments, strict=True))  # in the graph
        values = {n: t.detach() for n, t in captured.values(call, ()).items()}
        imported = segment.function.graph({names[n]: values[n] for n in segment.inputs})
        own = dict(zip(captured.inputs, self.closure, strict=False))  # weights come first, in the order of the closure
        weights = {names[n]: own[n] for n in segment.inputs if n in own}
        shown = {names[n]: t for n, t in zip(entering, tensors, strict=True) if n in names}
        unknown = [*imported.closure, *(n for n in segment.inputs if n in captured.constants)]
        if unknown:
            problem = Problem(
                f"constants of the module: {', '.join(unknown)}", "programs take weights and buffers only"
            )
            raise CaptureError(type(self.module).__name__, [problem])
        graph = copy.deepcopy(imported.sdfg)
        graph.replace_dict({**weights, **shown})
        graph.arg_names = list(shown.values())
        return graph

    @functools.cached_property
    def closure(self) -> dict[str, torch.Tensor]:
        """Parameters and buffers, as objects that stay the same: by these DaCe knows them."""
        label = type(self.module).__name__
        return {identifier(f"{label}_{n}"): t.detach() for n, t in self.weights()}

    def resolver(self) -> SDFGClosure:
        """The same, as DaCe's frontend asks for it before it knows the arguments."""
        found = SDFGClosure()
        for name, array in self.closure.items():
            evaluate = functools.partial(self.closure.__getitem__, name)
            found.closure_arrays[name] = (name, dt.create_datadescriptor(array), evaluate, False)
        return found

    def example(self, argument: Any) -> Any:
        """A tensor like an argument; plain values are constants."""
        if isinstance(argument, dt.Data):
            shape = (1,) if isinstance(argument, dt.Scalar) else argument.shape
            if any(dace.symbolic.issymbolic(n) for n in shape):
                problem = Problem(
                    f"an argument of shape {tuple(map(str, shape))}",
                    "a module inside of a program is captured for sizes that are numbers",
                    "",
                    "call the program with arrays instead of annotating its arguments with symbols",
                )
                raise CaptureError(type(self.module).__name__, [problem])
            dtype = TENSOR_TYPES[np.dtype(argument.dtype.type)]
            return torch.zeros([int(n) for n in shape], dtype=dtype)
        return torch.from_numpy(argument) if isinstance(argument, np.ndarray) else argument

    def only(self, captured: Captured) -> Segment:
        """Return the only segment of the captured module; raise an error if programs cannot call it."""
        problems = []
        segments = captured.segments
        if len(segments) != 1 or len(captured.steps) != 1:
            problems.append(Problem("a module that is not one graph", f"it has {len(captured.steps)} steps"))
        elif segments[0].draws:
            problems.append(Problem("random numbers", "a program has none of PyTorch's", "", "call eval() first"))
        if captured.updated:
            names = ", ".join(captured.updated)
            problems.append(
                Problem(f"buffers that a call updates: {names}", "programs leave them", "", "call eval() first")
            )
        plain = captured.structure.is_leaf() or captured.structure.type is tuple
        flat = plain and captured.structure.num_nodes <= captured.structure.num_leaves + 1
        if segments and not (flat and [n for _, n in captured.outputs] == list(segments[0].outputs)):
            problems.append(
                Problem("results that are not one tensor, or a tuple of different new ones", "programs return arrays")
            )
        if problems:
            raise CaptureError(type(self.module).__name__, problems)
        return segments[0]


def embed(cls: type, embedded: Callable[[Any], Embedded]) -> None:
    """Give a class DaCe's protocol for objects that programs call; ``embedded`` is what an instance is to them."""
    protocol: dict[str, Callable] = {
        STAMP: lambda self: embedded(self).stamp,
        "__sdfg__": lambda self, *args, **kwargs: embedded(self).sdfg(*args, **kwargs),
        "__sdfg_signature__": lambda self: embedded(self).signature(),
        "__sdfg_closure__": lambda self, reevaluate=None: dict(embedded(self).closure),
        "closure_resolver": lambda self, constant_args, given_args, parent_closure=None: embedded(self).resolver(),
    }
    for name, method in protocol.items():
        setattr(cls, name, method)
