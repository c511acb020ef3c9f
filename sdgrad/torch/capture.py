"""A module as a function of tensors: what it computes for arguments of given types and shapes."""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.export.graph_signature import OutputKind
from torch.func import functional_call
from torch.utils import _pytree as pytree

from sdgrad.errors import CaptureError, Problem
from sdgrad.onnx.function import ModelFunction
from sdgrad.onnx.importing import identifier
from sdgrad.torch.decompositions import table
from sdgrad.torch.draws import Draw, Make
from sdgrad.torch.marks import mark
from sdgrad.torch.translate import FALLBACK, Translator

COPIES = (torch.ops.aten.clone.default, torch.ops.aten.alias.default, torch.ops.aten.detach.default)
_local = threading.local()


def capturing() -> bool:
    """Whether a module is being traced in this thread: wrapped ones inside it run as they are."""
    return getattr(_local, "depth", 0) > 0


@dataclass(frozen=True)
class Captured:
    """What a module computes.

    :param function: the graph, as a function of parameters, buffers, inputs and draws, in this order.
    :param outputs: of the module, for each leaf of what it returns: the number of the graph's output, or a constant.
    :param structure: how these leaves are put together.
    :param provides: the graph's outputs that have a derivative, as the engine names them.
    :param shapes: of the graph's outputs.
    :param updated: buffers that a call changes, whose new values are the graph's last outputs.
    """

    function: ModelFunction
    draws: tuple[Draw, ...]
    outputs: tuple[tuple[bool, Any], ...]
    structure: pytree.TreeSpec
    provides: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    updated: tuple[str, ...]


class Returned:
    """What a traced function returned: whether each leaf is a tensor, leaves that are none, and their structure."""

    leaves: Sequence[tuple[bool, Any]]
    structure: pytree.TreeSpec


class _Pure(nn.Module):
    """A module as a function of its parameters, buffers and the tensors among its arguments."""

    holder: nn.Module
    names: tuple[str, ...]
    own: set[str]
    rebuild: Callable
    returned: Returned

    def __init__(self, holder: nn.Module, names: Sequence[str], buffers: set[str], rebuild: Callable) -> None:
        super().__init__()
        hidden = {"holder": holder, "names": tuple(names), "own": buffers, "rebuild": rebuild, "returned": Returned()}
        self.__dict__.update(hidden)  # not registered: what it holds comes in as arguments

    def forward(self, *leaves: torch.Tensor) -> tuple[torch.Tensor, ...]:
        state = dict(zip(self.names, leaves, strict=False))
        state = {n: t.clone() if n in self.own else t for n, t in state.items()}
        args, kwargs = self.rebuild(leaves[len(self.names) :])
        found = functional_call(self.holder, state, args, kwargs)
        flat, structure = pytree.tree_flatten(found)
        self.returned.leaves = [(isinstance(x, torch.Tensor), None if isinstance(x, torch.Tensor) else x) for x in flat]
        self.returned.structure = structure
        return (*(x for x in flat if isinstance(x, torch.Tensor)), *(state[n] for n in self.names if n in self.own))


class Holder(nn.Module):
    """A module and the function of it that is traced."""

    traced: Callable

    def __init__(self, module: nn.Module, forward: Callable) -> None:
        super().__init__()
        self.held = module
        self.__dict__["traced"] = forward

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.traced(self.held, *args, **kwargs)


def capture(
    module: nn.Module,
    forward: Callable,
    parameters: Mapping[str, torch.Tensor],
    buffers: Mapping[str, torch.Tensor],
    inputs: Sequence[torch.Tensor],
    rebuild: Callable[[Sequence[torch.Tensor]], tuple[tuple, dict]],
) -> Captured:
    """What ``forward(module, ...)`` computes.

    :param rebuild: arguments of the module from the tensors among them.
    :raises CaptureError: it depends on data in its control flow, or does what there is no rule for.
    """
    label = type(module).__name__
    prefixed = [f"held.{n}" for n in (*parameters, *buffers)]
    pure = _Pure(Holder(module, forward), prefixed, {f"held.{n}" for n in buffers}, rebuild)
    leaves = (*parameters.values(), *buffers.values(), *inputs)
    draws: list[Make] = []
    with _tracing(label):
        program = torch.export.export(pure, leaves, strict=False)
        refuse_writes(program, label)
        mark(program.graph_module, draws)
        program = program.run_decompositions(table())
    places = itertools.count()
    outputs = tuple((True, next(places)) if is_tensor else (False, x) for is_tensor, x in pure.returned.leaves)
    count = sum(is_tensor for is_tensor, _ in outputs)
    updated = {n: count + k for k, n in enumerate(buffers) if is_changed(program, count + k)}
    translated = Translator(program, label, draws).run([*range(count), *updated.values()])
    names = [*translated.inputs, *(d.name for d in translated.draws)]
    model = ModelFunction(translated.reading, identifier(label), {n: n for n in names})
    results = translated.outputs
    real = [k for k in range(count) if results[k].dtype.is_floating_point]
    provides = ("out",) * len(real) if len(results) == 1 else tuple(f"out_{k}" for k in real)
    shapes = tuple(t.shape for t in results)
    return Captured(model, translated.draws, outputs, pure.returned.structure, provides, shapes, tuple(updated))


def is_changed(program: torch.export.ExportedProgram, k: int) -> bool:
    """Whether an output is more than a copy of an input."""
    node = program.graph.output_node().args[0][k]
    while node.op == "call_function" and node.target in COPIES:
        node = node.args[0]
    return node.op != "placeholder"


def refuse_writes(program: torch.export.ExportedProgram, label: str) -> None:
    """A module must not write what is given to it; buffers are copies."""
    kinds = (OutputKind.USER_INPUT_MUTATION, OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION)
    written = [s.target for s in program.graph_signature.output_specs if s.kind in kinds]
    if written:
        problem = Problem(
            f"a write of {', '.join(map(str, written))}", "arguments and weights are not written in place"
        )
        raise CaptureError(label, [problem])


@contextlib.contextmanager
def _tracing(label: str) -> Iterator[None]:
    """Tracing as it has to be: quiet, with gradients, without what hides operations; its errors become ours."""
    fast = torch.backends.mha.get_fastpath_enabled()
    apply = vars(torch.autograd.Function)["apply"]
    _local.depth = getattr(_local, "depth", 0) + 1
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    torch.backends.mha.set_fastpath_enabled(False)
    torch.autograd.Function.apply = classmethod(_refuse_function)  # type: ignore[assignment,method-assign]
    try:
        with warnings.catch_warnings(), torch.enable_grad():
            warnings.simplefilter("ignore")
            yield
    except CaptureError:
        raise
    except Exception as error:  # noqa: BLE001 (torch.export has errors of many kinds)
        raise CaptureError(label, [_explained(error)]) from error
    finally:
        torch.autograd.Function.apply = apply  # type: ignore[method-assign]
        torch.backends.mha.set_fastpath_enabled(fast)
        logging.disable(disabled)
        _local.depth -= 1


def _refuse_function(cls: type, *args: Any, **kwargs: Any) -> Any:
    problem = Problem(
        f"torch.autograd.Function '{cls.__name__}'",
        "it has a backward of its own, which tracing does not see",
        "",
        FALLBACK,
    )
    raise CaptureError(cls.__name__, [problem])


def _explained(error: Exception) -> Problem:
    """An error of ``torch.export``, shortened to what it says."""
    text = str(error).strip().splitlines() or [type(error).__name__]
    message = next((line.strip() for line in text if line.strip()), "")
    data = any(word in str(error) for word in ("data-dependent", "GuardOnDataDependent", "unbacked", "DynamicValue"))
    what = "control flow, or a size, that depends on the content of a tensor" if data else type(error).__name__
    return Problem(what, message[:300], _line_of(error), FALLBACK)


def _line_of(error: BaseException) -> str:
    """The innermost line outside of PyTorch where an error came up."""
    found = ""
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if "/torch/" not in name and "<" not in name:
            found = f"{name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found
