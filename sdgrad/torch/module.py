"""Modules of PyTorch that run on generated code, forward and backward."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from torch import nn
from torch.utils import _pytree as pytree

from sdgrad.errors import ArgumentError, CaptureError, Problem
from sdgrad.torch.capture import Captured, capture, capturing
from sdgrad.torch.function import apply
from sdgrad.torch.watch import STATE, has_backward_hooks, stamp

C = TypeVar("C", bound=type)
TOLERANCE = {torch.float16: 5e-2, torch.float32: 1e-2, torch.float64: 1e-6}


@dataclass(frozen=True)
class Options:
    """How a module is compiled."""

    backward: bool = True
    verify: bool = True


@dataclass
class Dispatcher:
    """Calls of one module's function: captured anew for each kind of arguments, and after each change of the module."""

    forward: Callable
    options: Options
    captures: dict[Hashable, Captured] = field(default_factory=dict)

    def __deepcopy__(self, memo: Any) -> Dispatcher:
        return Dispatcher(self.forward, self.options)

    def __reduce__(self) -> tuple:
        return (Dispatcher, (self.forward, self.options))

    def __call__(self, module: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if capturing():
            return self.forward(module, *args, **kwargs)
        call = Call.of(module, args, kwargs)
        captured = self.captures.get(call.key)
        if captured is None:
            captured = self.captures[call.key] = self.captured(module, call)
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.options.backward):
            return call.run(captured)

    def captured(self, module: nn.Module, call: Call) -> Captured:
        """What the module computes, compared with the module itself."""
        refuse(module, call)
        found = capture(module, self.forward, call.parameters, call.buffers, call.inputs, call.rebuild)
        if stamp(module) != call.stamp:
            problem = Problem("a call that changes an attribute", "what it assigns would stay as it is in this call")
            raise CaptureError(type(module).__name__, [problem])
        return found


@dataclass(frozen=True)
class Call:
    """The tensors of one call, and what decides which program it needs."""

    parameters: Mapping[str, torch.Tensor]
    buffers: Mapping[str, torch.Tensor]
    leaves: Sequence[Any]
    structure: pytree.TreeSpec
    stamp: Hashable

    @staticmethod
    def of(module: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call:
        leaves, structure = pytree.tree_flatten((tuple(args), dict(kwargs)))
        return Call(dict(module.named_parameters()), dict(module.named_buffers()), leaves, structure, stamp(module))

    @property
    def inputs(self) -> list[torch.Tensor]:
        return [x for x in self.leaves if isinstance(x, torch.Tensor)]

    @functools.cached_property
    def key(self) -> Hashable:
        own = tuple((n, t.dtype, t.shape) for n, t in (*self.parameters.items(), *self.buffers.items()))
        return (self.structure, tuple(map(_kind, self.leaves)), own, self.stamp)

    def rebuild(self, tensors: Sequence[torch.Tensor]) -> tuple[tuple, dict]:
        """The arguments with other tensors in place."""
        remaining = iter(tensors)
        leaves = [next(remaining) if isinstance(x, torch.Tensor) else x for x in self.leaves]
        return pytree.tree_unflatten(leaves, self.structure)

    def run(self, captured: Captured) -> Any:
        """The module's results; its buffers are updated."""
        drawn = [d.make() for d in captured.draws]
        buffers = (
            t.clone() if n in captured.updated else t for n, t in self.buffers.items()
        )  # a tape may refer to them
        tensors = (*self.parameters.values(), *buffers, *self.inputs, *drawn)
        function = captured.function
        results = apply(function, dict(zip(function.arguments, tensors, strict=True)), captured.provides)
        with torch.no_grad():
            for name, value in zip(captured.updated, results[len(results) - len(captured.updated) :], strict=True):
                self.buffers[name].copy_(value)
        flat = [results[x].reshape(captured.shapes[x]) if is_tensor else x for is_tensor, x in captured.outputs]
        return pytree.tree_unflatten(flat, captured.structure)


def _kind(leaf: Any) -> Hashable:
    if isinstance(leaf, torch.Tensor):
        return (leaf.dtype, leaf.shape)
    try:
        hash(leaf)
    except TypeError:
        return id(leaf)
    return (type(leaf), leaf)


def refuse(module: nn.Module, call: Call) -> None:
    """Raise where generated code would not do what the module does."""
    problems = []
    for name, tensor in (*call.parameters.items(), *call.buffers.items(), *(("input", x) for x in call.inputs)):
        if tensor.device.type != "cpu":
            problems.append(Problem(f"'{name}' on {tensor.device}", "code is generated for the CPU; move it there"))
    hooked = has_backward_hooks(module)
    if hooked is not None and hooked is not module:
        problems.append(
            Problem(f"backward hooks of {type(hooked).__name__}", "its backward pass is not a step of its own here")
        )
    if torch.is_autocast_enabled("cpu"):
        problems.append(Problem("torch.autocast", "types are those of the tensors; convert the module instead"))
    if problems:
        raise CaptureError(type(module).__name__, problems)


class Module(nn.Module):
    """A module that runs on generated code.

    ``sdgrad.Module(net)`` computes what ``net`` computes, and its backward pass, as compiled programs that are made at
    the first call (for each kind of arguments, and again when the module was changed). Parameters stay where they are:
    gradients land in ``net``'s own. ``wrapped.model`` is ``net``, and its attributes are found on the wrapper as well.

    :param module: the module; it is not copied.
    :param backward: False for inference: results have no gradient.
    :param example_inputs: arguments of a first call, made at once.
    """

    def __init__(
        self, module: nn.Module, *, backward: bool = True, example_inputs: Sequence[Any] | None = None
    ) -> None:
        if not isinstance(module, nn.Module):
            raise ArgumentError(f"expected a torch.nn.Module, got {type(module).__name__}")
        super().__init__()
        self.model = module
        self.__dict__[STATE] = Dispatcher(_call, Options(backward))
        if example_inputs is not None:
            with torch.no_grad():
                self(*example_inputs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.__dict__[STATE](self.model, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("model"), name)


def _call(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
    return module(*args, **kwargs)


def module(cls: C | None = None, *, backward: bool = True) -> Any:
    """Decorator for a class of modules: its instances run on generated code. See :class:`Module`.

    The class stays what it is: instances can be pickled, copied and derived from. ``instance.model`` is the instance.
    """

    def wrap(cls: C) -> C:
        if not (isinstance(cls, type) and issubclass(cls, nn.Module)):
            raise ArgumentError(f"@sdgrad.module decorates a class derived from torch.nn.Module, not {cls!r}")
        original = cls.forward

        @functools.wraps(original)
        def forward(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
            own = self.__dict__.setdefault(STATE, Dispatchers())
            return own.of(original, Options(backward))(self, args, kwargs)

        cls.forward = forward
        inherited = cls.__getattr__

        def lookup(self: nn.Module, name: str) -> Any:
            try:
                return inherited(self, name)
            except AttributeError:
                if name == "model":
                    return self
                raise

        cls.__getattr__ = lookup  # type: ignore[method-assign]
        return cls

    return wrap if cls is None else wrap(cls)


class Dispatchers:
    """What was made for an instance, by the function that a class defines; copies and pickles start empty."""

    def __init__(self) -> None:
        self.known: dict[Callable, Dispatcher] = {}

    def of(self, forward: Callable, options: Options) -> Dispatcher:
        if forward not in self.known:
            self.known[forward] = Dispatcher(forward, options)
        return self.known[forward]

    def __deepcopy__(self, memo: Any) -> Dispatchers:
        return Dispatchers()

    def __reduce__(self) -> tuple:
        return (Dispatchers, ())
