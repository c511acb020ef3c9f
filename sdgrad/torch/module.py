"""Run modules of PyTorch on generated code, forward and backward."""

from __future__ import annotations

import contextlib
import copy
import functools
import threading
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import torch
from torch import nn

from sdgrad.config import in_memory_of, on_device
from sdgrad.errors import ArgumentError, CaptureError
from sdgrad.machine.limits import Limit
from sdgrad.runtime.compile.progress import working
from sdgrad.torch.call import Call
from sdgrad.torch.capture import Captured, capture, refuse
from sdgrad.torch.embedded import Embedded, embed
from sdgrad.torch.function import refuse_tangents, refuse_transforms
from sdgrad.torch.hooks import Hooks
from sdgrad.torch.made import SURFACE, Made
from sdgrad.torch.sizes import LEAST, Sizes, open_dimensions
from sdgrad.torch.state_names import as_of_the_model, for_the_model
from sdgrad.torch.tracing import capturing, uncompiled
from sdgrad.torch.verify import compare, expected
from sdgrad.torch.watch import STATE, stamp

C = TypeVar("C", bound=type)
Dynamic = list[dict[int, Any]]
UNKNOWN = object()
ENOUGH = 2  # sizes with which the results of a program for all sizes are compared with the module's own
MANY = 16  # captures of one module, after which its user is told


@dataclass(frozen=True)
class Options:
    """Say how a module is compiled; see :class:`Module`."""

    backward: bool = True
    fallback: bool = False
    verify: bool = True
    dynamic_shapes: Any = None
    cuda: bool = False
    memory_limit: Limit | None = None


@dataclass
class Dispatcher:
    """Calls of one module's function: captured anew for each kind of arguments, and after each change of the module."""

    forward: Callable
    options: Options
    captures: dict[Hashable, Captured | None] = field(default_factory=dict)  # None: left to PyTorch as a whole
    making: Any = field(default_factory=threading.RLock)
    hooks: Hooks = field(default_factory=Hooks)
    latest: Captured | None = None  # what ran last
    checked: dict[Captured, set[Sizes]] = field(default_factory=dict)  # sizes with which results were compared
    told: dict[Hashable, Dynamic] = field(default_factory=dict)  # open dimensions, by kinds of arguments
    inside: Embedded | None = None  # what programs that call the module make of it
    asks_layout: bool = False  # it asks how tensors lie in memory

    def __deepcopy__(self, memo: Any) -> Dispatcher:
        return Dispatcher(self.forward, self.options, hooks=copy.deepcopy(self.hooks))

    def __reduce__(self) -> tuple:
        return (Dispatcher, (self.forward, self.options))

    def __call__(self, module: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if capturing():
            return self.forward(module, *args, **kwargs)
        refuse_transforms(type(module).__name__)
        with self.making:  # a trace in another thread puts other tensors in place of parameters meanwhile
            call = Call.of(module, args, kwargs, self.asks_layout)
        refuse_tangents(type(module).__name__, (*call.inputs, *call.parameters.values()))
        recorded = torch.is_grad_enabled() and self.options.backward
        with torch.set_grad_enabled(recorded), self.device(), in_memory_of(self.options.memory_limit), pytorch_errors():
            if self.options.dynamic_shapes is not None and self.options.memory_limit is None:
                dynamic = self.dynamic(module, call)
                key = open_key(call, dynamic)
                captured = self.captured(key) if key is not None else None
                if captured is UNKNOWN:
                    return self.first(module, call, args, kwargs, key, dynamic)
                sizes = captured.open.sizes(call.inputs) if isinstance(captured, Captured) else None
                if isinstance(captured, Captured) and sizes is not None:
                    return self.run(module, captured, call, sizes)
            captured = self.captured(call.key)
            if captured is UNKNOWN:
                return self.first(module, call, args, kwargs, call.key, None)
            if not isinstance(captured, Captured):
                return self.eagerly(module, args, kwargs)
            self.latest = captured
            return captured.run(call)

    def captured(self, key: Hashable) -> Any:
        """Return what was made for calls of a kind: None if it is left to PyTorch, UNKNOWN if nothing is there."""
        found = self.captures.get(key, UNKNOWN)
        if isinstance(found, Captured) and not found.is_current():
            self.captures.pop(key, None)
            return UNKNOWN
        return found

    def device(self) -> contextlib.AbstractContextManager:
        """Return where programs run that a call makes."""
        return on_device("gpu") if self.options.cuda else contextlib.nullcontext()

    def dynamic(self, module: nn.Module, call: Call) -> Dynamic:
        """Return the open dimensions of a call's inputs."""
        kind = (call.structure, tuple(x.ndim for x in call.inputs))
        if kind not in self.told:
            self.told[kind] = open_dimensions(self.options.dynamic_shapes, module.forward, call)
        return self.told[kind]

    def run(self, module: nn.Module, captured: Captured, call: Call, sizes: Sizes) -> Any:
        """Call a program for all sizes, and compare its first two sizes with the module."""
        self.latest = captured
        seen = self.checked.setdefault(captured, set())
        if not self.options.verify or sizes in seen or len(seen) >= ENOUGH:
            return captured.run(call, sizes)
        with uncompiled():
            wanted = expected(module, self.forward, call)
        found = captured.run(call, sizes)
        compare(type(module).__name__, wanted, found)
        seen.add(sizes)
        return found

    def eagerly(self, module: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Run the module as it is, on submodules that run on generated code."""
        with children_wrapped(module, replace(self.options, dynamic_shapes=None)):
            return self.forward(module, *args, **kwargs)

    def made(self) -> Made:
        """Return graphs and programs, and the hooks in their making."""
        return Made(self.hooks, lambda: self.latest, self.reset)

    def embedded(self, module: nn.Module) -> Embedded:
        """Return the module as programs call it: another object after a change of the module."""
        found = Embedded(module, self.forward)
        if self.inside is None or self.inside.stamp != found.stamp:
            self.inside = found
        return self.inside

    def reset(self) -> None:
        """Forget everything that was made; the next call starts anew."""
        with self.making:
            self.captures.clear()
            self.checked.clear()
            self.latest = self.inside = None

    def first(
        self,
        module: nn.Module,
        call: Call,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        key: Hashable,
        dynamic: Dynamic | None,
    ) -> Any:
        """Make the first call of its kind: capture the module, and compare it with itself."""
        with self.making:
            if key in self.captures:  # by another thread, meanwhile
                return self(module, args, kwargs)
            return self.capture(module, call, args, kwargs, key, dynamic)

    def capture(
        self,
        module: nn.Module,
        call: Call,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        key: Hashable,
        dynamic: Dynamic | None,
    ) -> Any:
        """Capture the module for the arguments of a call."""
        label = type(module).__name__
        try:
            refuse(module, call, self.options.cuda)
            with working(f"capturing {label}"), torch.inference_mode(False):
                with uncompiled():
                    wanted = expected(module, self.forward, call)
                self.asks_layout |= wanted.asks_layout
                call = replace(call, stamp=stamp(module), has_layouts=self.asks_layout)  # the call may fill objects
                key = call.key if dynamic is None else open_key(call, dynamic)
                captured = capture(module, self.forward, call, self.options.fallback, self.hooks, dynamic)
            captured = replace(captured, outside=tuple(wanted.outside))
        except CaptureError:
            if not self.options.fallback:
                raise
            self.captures[key] = None
            return self.eagerly(module, args, kwargs)
        sizes = captured.open.sizes(call.inputs) if dynamic is not None else ()
        assert sizes is not None, "a module is captured for the sizes of the call"
        found = captured.run(call, sizes)
        if self.options.verify:
            compare(label, wanted, found)
            self.checked[captured] = {sizes}
        self.captures[key] = self.latest = captured
        if len(self.captures) == MANY:
            warnings.warn(
                f"{label} has been captured {MANY} times: something that decides what it computes changes from call to "
                "call, such as a shape, a number among the arguments, or an attribute. Tensors may change freely",
                stacklevel=5,
            )
        return found


def open_key(call: Call, dynamic: Dynamic) -> Hashable | None:
    """Return the key of a call's program for all sizes; None if a size is too small for one."""
    shapes: dict[int, Hashable] = {}
    for k, (x, dims) in enumerate(zip(call.inputs, dynamic, strict=True)):
        if any(x.shape[d] < LEAST for d in dims):
            return None
        if dims:
            shapes[k] = tuple(None if d in dims else n for d, n in enumerate(x.shape))
    return ("open", call.keyed(shapes)) if shapes else None


@contextlib.contextmanager
def children_wrapped(module: nn.Module, options: Options) -> Iterator[None]:
    """The module's direct submodules run on generated code for a while, and what holds them does not."""
    held = [m for m in module.children() if "forward" not in m.__dict__ and not isinstance(m, Module)]
    for child in held:
        child.__dict__["forward"] = child.__dict__.setdefault(STATE, Dispatchers()).shown(child, options)
    try:
        yield
    finally:
        for child in held:
            del child.__dict__["forward"]


def _dispatched(dispatch: Dispatcher, module: nn.Module, *args: Any, **kwargs: Any) -> Any:
    return dispatch(module, args, kwargs)


class Module(nn.Module):
    """Run a module on generated code.

    ``sdgrad.Module(net)`` computes what ``net`` computes, and its backward pass, as compiled programs that are made at
    the first call (for each kind of arguments, and again when the module was changed). Parameters stay where they are:
    gradients land in ``net``'s own. ``wrapped.model`` is ``net``; its attributes are found on the wrapper as well, and
    state dicts are those of ``net``. Graphs (``sdfg``, ``forward_sdfg``, ``backward_sdfg``), ``compiled_function``,
    ``reset_sdfg()`` and hooks such as ``append_post_onnx_hook(name, hook)`` are :class:`~sdgrad.torch.made.Made`'s.
    NumPy-style programs can call the wrapper, on arrays.

    :param module: the module; it is not copied.
    :param backward: False for inference: results have no gradient.
    :param example_inputs: arguments of a first call, made at once.
    :param dynamic_shapes: dimensions of arguments that change from call to call, and have one program for all sizes:
        ``{"x": {0: "batch"}}``, by the names of arguments; else a tuple in their order, and for each
        what ``torch.export`` takes (``torch.export.Dim``). Dimensions of the same name have the same size.
    :param cuda: run on an NVIDIA GPU. Tensors there are used where they are; those of the host are copied there and
        back.
    :param fallback: leave operations without a rule, and submodules that cannot be traced, to PyTorch.
    :param verify: compare results with those of the module itself, once for each program that is made (twice, with
        different sizes, where it is one for all sizes).
    :param memory_limit: the most memory that each pass, forward and backward, may take beside its arguments, with what
        the one leaves for the other: bytes, ``"2GiB"``, a share of what they take without a limit, ``"25%"``. Each
        size has a plan, and a program, of its own then.
    :raises CaptureError: (at a call) the module cannot be captured; every reason, with the line of the module.
    """

    def __init__(
        self,
        module: nn.Module,
        *,
        backward: bool = True,
        example_inputs: Sequence[Any] | None = None,
        dynamic_shapes: Any = None,
        cuda: bool = False,
        fallback: bool = False,
        verify: bool = True,
        memory_limit: int | str | None = None,
    ) -> None:
        if not isinstance(module, nn.Module):
            raise ArgumentError(f"expected a torch.nn.Module, got {type(module).__name__}")
        super().__init__()
        self.model = module
        options = Options(backward, fallback, verify, dynamic_shapes, cuda, Limit.of(memory_limit))
        self.__dict__[STATE] = Dispatcher(_call, options)
        self.register_state_dict_post_hook(as_of_the_model)
        self.register_load_state_dict_pre_hook(for_the_model)
        if example_inputs is not None:
            with torch.no_grad():
                self(*example_inputs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.__dict__[STATE](self.model, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            model = super().__getattr__("model")
            if name in SURFACE and not hasattr(model, name):
                return getattr(self.__dict__[STATE].made(), name)
            return getattr(model, name)


embed(Module, lambda self: self.__dict__[STATE].embedded(self.model))


@contextlib.contextmanager
def pytorch_errors() -> Iterator[None]:
    """Raise PyTorch's exception in place of NumPy's for matrices without an inverse or a factor."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise torch.linalg.LinAlgError(*error.args) from None


def _call(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
    return module(*args, **kwargs)


def module(
    cls: C | None = None,
    *,
    backward: bool = True,
    dynamic_shapes: Any = None,
    cuda: bool = False,
    fallback: bool = False,
    verify: bool = True,
    memory_limit: int | str | None = None,
) -> Any:
    """Decorator for a class of modules: its instances run on generated code. See :class:`Module`.

    The class stays what it is: instances can be pickled, copied and derived from. ``instance.model`` is the instance.
    """
    options = Options(backward, fallback, verify, dynamic_shapes, cuda, Limit.of(memory_limit))

    return (lambda c: _wrapped(c, options)) if cls is None else _wrapped(cls, options)


def _wrapped(cls: C, options: Options) -> C:
    """Let a class's instances run on generated code, and show what :class:`Module` shows."""
    if not (isinstance(cls, type) and issubclass(cls, nn.Module)):
        raise ArgumentError(f"@sdgrad.module decorates a class derived from torch.nn.Module, not {cls!r}")
    original = cls.forward

    def dispatcher(self: nn.Module) -> Dispatcher:
        return self.__dict__.setdefault(STATE, Dispatchers()).of(original, options)

    @functools.wraps(original)
    def forward(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        return dispatcher(self)(self, args, kwargs)

    cls.forward = forward
    embed(cls, lambda self: dispatcher(self).embedded(self))
    inherited = cls.__getattr__

    def lookup(self: nn.Module, name: str) -> Any:
        try:
            return inherited(self, name)
        except AttributeError:
            if name == "model":
                return self
            if name in SURFACE:
                return getattr(dispatcher(self).made(), name)
            raise

    cls.__getattr__ = lookup  # type: ignore[method-assign]
    return cls


class Dispatchers:
    """Hold what was made for an instance, by its class's function; copies and pickles start empty."""

    def __init__(self) -> None:
        self.known: dict[Callable, Dispatcher] = {}
        self.in_place: Callable | None = None

    def shown(self, module: nn.Module, options: Options) -> Callable:
        """What stands in place of a submodule's ``forward``; always the same, which is how it is known as unchanged."""
        if self.in_place is None:
            self.in_place = functools.partial(_dispatched, self.of(type(module).forward, options), module)
        return self.in_place

    def of(self, forward: Callable, options: Options) -> Dispatcher:
        if forward not in self.known:
            self.known[forward] = Dispatcher(forward, options)
        return self.known[forward]

    def __deepcopy__(self, memo: Any) -> Dispatchers:
        return Dispatchers()

    def __reduce__(self) -> tuple:
        return (Dispatchers, ())
