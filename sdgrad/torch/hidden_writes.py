"""Find what tracing does not see: writes and reads that PyTorch's autograd knows nothing of."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch._ops import HigherOrderOperator
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from sdgrad.errors import Problem
from sdgrad.torch.questions import HOOKS, LAYOUT, OF_GRADIENTS, asked_outside, keeps_otherwise, switches_noted

INSTEAD: dict[Any, str] = {
    torch.ops.aten.embedding_renorm_.default: "leave max_norm out, and renorm the weight under no_grad() between calls"
}
"""What to write in place of operations that write."""


def _memory(x: torch.Tensor) -> StorageWeakRef:
    return StorageWeakRef(x.untyped_storage())


def _tensors(nest: Any) -> list[torch.Tensor]:
    return [x for x in pytree.tree_leaves(nest) if isinstance(x, torch.Tensor) and x.layout is torch.strided]


class _Called(TorchFunctionMode):
    """Note how a module calls PyTorch, whose own code detaches and writes as well, and knows what it does."""

    def __init__(self, hidden: HiddenWrites) -> None:
        super().__init__()
        self.hidden = hidden

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None) -> Any:
        self.hidden.has_gradients = torch.is_grad_enabled()
        if (func in LAYOUT or func in OF_GRADIENTS) and asked_outside(1):
            self.hidden.asked(OF_GRADIENTS.get(func))
        if func in HOOKS:
            self.hidden.hooked(HOOKS[func])
        if keeps_otherwise():
            self.hidden.hooked("torch.autograd.graph.saved_tensors_hooks")
        result = func(*args, **(kwargs or {}))
        if func in (torch.Tensor.detach, torch.detach, torch.Tensor.data.__get__):  # type: ignore[attr-defined]
            self.hidden.detached.append(weakref.ref(result))
        return result


@contextlib.contextmanager
def watched(known: Iterable[torch.Tensor]) -> Iterator[HiddenWrites]:
    """Watch what a module does in the body, with gradients.

    :param known: parameters, buffers and inputs.
    """
    hidden = HiddenWrites(known)
    with torch.enable_grad(), _Called(hidden), hidden, switches_noted(hidden.asked):
        yield hidden


class HiddenWrites(TorchDispatchMode):
    """Watch a call of a module, with gradients, and list what a traced program would do otherwise.

    A write under ``torch.no_grad()``, or to ``y.detach()``, changes the numbers of ``y`` and leaves its gradient as it
    is. A program that was traced has new numbers instead, and the gradient goes to these.
    """

    supports_higher_order_operators = True  # such as cond, which the capture of a module refuses by name

    def __init__(self, known: Iterable[torch.Tensor]) -> None:
        """Begin to watch.

        :param known: parameters, buffers and inputs.
        """
        super().__init__()
        self.known = {r.cdata: r for r in map(_memory, known)}  # also of what the call makes
        self.outside: list[tuple[weakref.ref, int]] = []  # other tensors that it reads, with their versions
        self.carrying: dict[int, StorageWeakRef] = {}  # memory of tensors that carry a gradient
        self.detached: list[weakref.ref] = []  # other names of such memory, as long as somebody has them
        self.has_gradients = True  # where the module called last
        self.asks_layout = False  # of any tensor
        self.problems: list[Problem] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None) -> Any:
        if isinstance(func, HigherOrderOperator):
            return func(*args, **(kwargs or {}))
        given = dict(zip((a.name for a in func._schema.arguments), args, strict=False)) | (kwargs or {})
        tensors = _tensors(given)
        carrying = [x for x in tensors if x.requires_grad]
        if carrying and torch.is_inference_mode_enabled():
            self._add("torch.inference_mode()", "no gradient comes out of it in PyTorch", "use torch.no_grad()")
        for argument in func._schema.arguments if func._schema.is_mutable else ():
            if argument.alias_info is not None and argument.alias_info.is_write:
                for x in _tensors(given.get(argument.name)):
                    self._written(x, func)
        if func is not torch.ops.aten.lift_fresh.default:
            for x in tensors:
                self._read(x)
        self.carrying |= {r.cdata: r for r in map(_memory, carrying)}
        found = func(*args, **(kwargs or {}))
        self.known |= {r.cdata: r for r in map(_memory, _tensors(found))}
        return found

    def asked(self, what: str | None) -> None:
        """Note a question of gradients; without one, a question of layouts."""
        if what is None:
            self.asks_layout = True
        else:
            hint = "ask for self.training, or for an argument or attribute of your own: changes of these are noticed"
            self._add(what, "the answer would stay as it is in the first call", hint)

    def hooked(self, what: str) -> None:
        """Note a step of PyTorch's backward pass."""
        hint = "return the tensor, and call this on the result; y * c + (y - y * c).detach() has another gradient"
        self._add(what, "the backward pass of a module is one program, of which PyTorch sees no part", hint)

    def _read(self, x: torch.Tensor) -> None:
        """Look at a tensor that is read."""
        known = self.known.get(x.untyped_storage()._cdata)
        if known is not None and not known.expired():
            return
        self.known |= {r.cdata: r for r in (_memory(x),)}
        if not x.requires_grad:
            self.outside.append((weakref.ref(x), x._version))
            return
        what = f"a tensor of shape {tuple(x.shape)} that carries a gradient, and is no parameter of the module"
        hint = "make it an nn.Parameter of the module, or pass it; hold modules in an nn.ModuleList"
        self._add(what, "it would get no gradient, and keep the numbers of the first call", hint)

    def _written(self, x: torch.Tensor, func: Callable) -> None:
        """Look at a tensor that is written."""
        known = self.carrying.get(x.untyped_storage()._cdata)
        hidden = not x.requires_grad and known is not None and not known.expired()
        if hidden or x.requires_grad and not self.has_gradients:
            where = "to a part without gradient" if self.has_gradients else "under torch.no_grad()"
            reason = "it changes the numbers of a tensor, and not its gradient, which tracing does not see"
            self._add(f"{func}, a write {where}", reason, INSTEAD.get(func, "write a new tensor: y = y.clamp(max=3.0)"))
        elif any(self._is_seen_by(ref(), x) for ref in self.detached):
            reason = "a tensor from detach() has the same memory, and keeps the old numbers in what is traced"
            self._add(f"{func}, a write that detach() shows", reason, "take y.detach().clone()")

    @staticmethod
    def _is_seen_by(other: torch.Tensor | None, x: torch.Tensor) -> bool:
        """True if another tensor is there, and has the memory of this one."""
        return other is not None and other is not x and other.untyped_storage()._cdata == x.untyped_storage()._cdata

    def _add(self, what: str, reason: str, hint: str) -> None:
        self.problems.append(Problem(what, reason, "", hint))
