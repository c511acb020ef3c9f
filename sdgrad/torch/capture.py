"""Capture a module as a function of tensors: what it computes for arguments of given types and shapes."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import fx, nn
from torch._subclasses import FakeTensor
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils import _pytree as pytree

from sdgrad.errors import CaptureError, Problem
from sdgrad.onnx.function import ModelFunction
from sdgrad.onnx.importing import identifier
from sdgrad.onnx.reading import Reading
from sdgrad.record.elements import Dim
from sdgrad.torch.call import Call, is_sharded
from sdgrad.torch.decompositions import table
from sdgrad.torch.draws import Make
from sdgrad.torch.hooks import Hooks
from sdgrad.torch.marks import mark
from sdgrad.torch.reach import reached
from sdgrad.torch.replaced import unchecked
from sdgrad.torch.sizes import NONE, Open, Sizes, shape_of, size_of, value
from sdgrad.torch.steps import Group, Operation, Segment, Step, grouped
from sdgrad.torch.tracing import tracing
from sdgrad.torch.translate import FALLBACK, Translated, Translator, where
from sdgrad.torch.verify import Holder, called_with
from sdgrad.torch.watch import BACKWARD_HOOKS, has_backward_hooks, hooks_of_all, hooks_of_own

TAKE_FUNCTIONS = {n: n for n in ("cond", "while_loop", "scan", "associative_scan")} | {"map_impl": "map"}
"""Operations that take functions, by their names in a trace: what users call them."""
COPIES = (torch.ops.aten.clone.default, torch.ops.aten.alias.default, torch.ops.aten.detach.default)


@dataclass(frozen=True, eq=False)
class Captured:
    """Hold what a module computes.

    :param inputs: what the steps call parameters, buffers and inputs, in this order.
    :param constants: tensors that the module holds besides these, for steps that are left to PyTorch.
    :param outputs: for each leaf of what the module returns: the value's name, or a constant.
    :param structure: how these leaves are put together.
    :param updated: buffers that a call changes, and the values' names.
    :param open: the dimensions of inputs that may have other sizes than those of the first call.
    :param outside: tensors that it takes as they are, and that are neither the module's nor given, with their versions.
    :param counts: sizes that steps which are left to PyTorch take, by the names they have for them.
    """

    steps: tuple[Step, ...]
    inputs: tuple[str, ...]
    constants: Mapping[str, torch.Tensor]
    outputs: tuple[tuple[bool, Any], ...]
    structure: pytree.TreeSpec
    updated: Mapping[str, str]
    open: Open = NONE
    counts: Mapping[str, Dim] = field(default_factory=dict)
    outside: Sequence[tuple[weakref.ref, int]] = ()

    def is_current(self) -> bool:
        """True if no tensor that it takes as it is was changed."""
        return all((x := ref()) is None or x._version == version for ref, version in self.outside)

    @property
    def segments(self) -> list[Segment]:
        """Return the steps that are generated code."""
        return [s for s in self.steps if isinstance(s, Segment)]

    def values(self, call: Call, sizes: Sizes) -> dict[str, Any]:
        """Return what the steps start from, by their names for it."""
        buffers = (t.clone() if n in self.updated else t for n, t in call.buffers.items())  # a tape may refer to them
        entering = (*call.parameters.values(), *buffers, *call.inputs)
        counts = {n: value(c, sizes) for n, c in self.counts.items()}
        return {**dict(zip(self.inputs, entering, strict=True)), **self.constants, **counts}

    def run(self, call: Call, sizes: Sizes = ()) -> Any:
        """Return the module's results, and update its buffers."""
        values = self.values(call, sizes)
        for step in self.steps:
            step.run(values, sizes)
        with torch.no_grad():
            for name, value in self.updated.items():
                call.buffers[name].copy_(values[value])
        flat = [values[x] if is_tensor else x for is_tensor, x in self.outputs]
        return pytree.tree_unflatten(flat, self.structure)


class Returned:
    """Hold what a traced function returned: whether each leaf is a tensor, other leaves, and their structure."""

    leaves: Sequence[tuple[bool, Any]]
    structure: pytree.TreeSpec

    def named(self, tensors: Sequence[fx.Node]) -> tuple[tuple[bool, Any], ...]:
        """Return the leaves with the names of values in place of tensors."""
        left = iter(tensors)
        return tuple((True, next(left).name) if is_tensor else (False, x) for is_tensor, x in self.leaves)


class _Pure(nn.Module):
    """Call a module as a function of its parameters, buffers and the tensors among its arguments."""

    holder: Holder
    names: tuple[str, ...]
    own: set[str]
    rebuild: Callable
    returned: Returned

    def __init__(self, holder: Holder, names: Sequence[str], buffers: set[str], rebuild: Callable) -> None:
        super().__init__()
        hidden = {"holder": holder, "names": tuple(names), "own": buffers, "rebuild": rebuild, "returned": Returned()}
        self.__dict__.update(hidden)  # not registered: what it holds comes in as arguments

    def forward(self, *leaves: torch.Tensor) -> tuple[torch.Tensor, ...]:
        state = dict(zip(self.names, leaves, strict=False))
        state = {n: t.clone() if n in self.own else t for n, t in state.items()}
        args, kwargs = self.rebuild(leaves[len(self.names) :])
        found = called_with(self.holder, state, args, kwargs)
        flat, structure = pytree.tree_flatten(found)
        self.returned.leaves = [(isinstance(x, torch.Tensor), None if isinstance(x, torch.Tensor) else x) for x in flat]
        self.returned.structure = structure
        return (*(x for x in flat if isinstance(x, torch.Tensor)), *(state[n] for n in self.names if n in self.own))


def refuse(module: nn.Module, call: Call, cuda: bool = False) -> None:
    """Raise an error if generated code would differ from the module.

    :param cuda: it runs on a GPU.
    """
    problems = []
    tensors = (*call.parameters.items(), *call.buffers.items(), *(("input", x) for x in call.inputs))
    problems += [
        Problem(
            f"'{name}', a {type(t).__name__} of layout {t.layout}", "it has no memory of its own that is dense", "", h
        )
        for name, t in tensors
        if (h := _how_to_be_dense(t))
    ]
    there = {t.device.type for _, t in tensors} == {"cuda"}
    for name, tensor in tensors if not (cuda and there) else ():
        if tensor.device.type == "cuda" and cuda:
            problems.append(Problem(f"'{name}' on {tensor.device}", "others are not; move all of them there"))
        elif tensor.device.type != "cpu":
            hint = "cuda=True generates code for a GPU" if tensor.device.type == "cuda" else ""
            problems.append(
                Problem(f"'{name}' on {tensor.device}", "code is generated for the CPU; move it there", "", hint)
            )
    hooked = has_backward_hooks(module)
    if hooked is not None and hooked is not module:
        problems.append(
            Problem(f"backward hooks of {type(hooked).__name__}", "its backward pass is not a step of its own here")
        )
    if any(map(hooks_of_all, BACKWARD_HOOKS)):
        problems.append(Problem("backward hooks of all modules", "submodules have no backward pass of their own here"))
    if any(map(is_sharded, module.modules())):
        told = "its parameters are parts on several ranks, and are here during a call only"
        problems.append(Problem("FullyShardedDataParallel", told, "", "use DistributedDataParallel"))
    if torch.is_autocast_enabled("cpu"):
        problems.append(Problem("torch.autocast", "types are those of the tensors; convert the module instead"))
    if problems:
        raise CaptureError(type(module).__name__, problems)


def _how_to_be_dense(x: torch.Tensor) -> str:
    """Return what to write instead of a tensor whose numbers are not all in memory; empty if they are."""
    if type(x).__name__ == "DTensor":
        return "pass x.full_tensor(); parameters that all ranks have whole are for DistributedDataParallel"
    if x.layout is not torch.strided:
        return "pass x.to_dense()"
    return "pass an ordinary tensor" if isinstance(x, FakeTensor) or x._is_zerotensor() else ""


def capture(
    module: nn.Module,
    forward: Callable,
    call: Call,
    fallback: bool = False,
    hooks: Hooks | None = None,
    dynamic: Sequence[Mapping[int, Any]] | None = None,
) -> Captured:
    """Return what ``forward(module, ...)`` computes.

    :param fallback: leave operations that there is no rule for to PyTorch.
    :param hooks: what sees the graphs and programs that are made of it.
    :param dynamic: open dimensions of the inputs, as ``torch.export`` has them.
    :raises CaptureError: it depends on data in its control flow, or does what there is no rule for.
    """
    label = type(module).__name__
    prefixed = [f"held.{n}" for n in (*call.parameters, *call.buffers)]
    pure = _Pure(Holder(module, forward), prefixed, {f"held.{n}" for n in call.buffers}, call.rebuild)
    draws: list[Make] = []
    program = _exported(label, pure, call, dynamic, draws)
    results: Any = program.graph.output_node().args[0]
    count = sum(is_tensor for is_tensor, _ in pure.returned.leaves)
    updated = {n: r for n, r in zip(call.buffers, results[count:], strict=True) if is_changed(r)}
    leaving = list(dict.fromkeys([*results[:count], *updated.values()]))
    translation = Translation(label, draws, held(program), hooks or Hooks(), sizes_in(program))
    body, entering = translation.nodes(program)
    steps = steps_of(body, entering, leaving, translation, fallback)
    return Captured(
        steps,
        tuple(n.name for n in entering),
        {n.name: t for n, t in translation.constants.items()},
        pure.returned.named(results[:count]),
        pure.returned.structure,
        {n: r.name for n, r in updated.items()},
        Open.of(program, [n.meta["val"] for n in entering[len(prefixed) :]]) if dynamic is not None else NONE,
        translation.named_sizes() if any(isinstance(s, Operation) for s in steps) else {},
    )


def _exported(
    label: str, pure: _Pure, call: Call, dynamic: Sequence[Mapping[int, Any]] | None, draws: list[Make]
) -> torch.export.ExportedProgram:
    """Return what ``torch.export`` traces of a module, decomposed; ``draws`` receives its random numbers."""
    fixed = [None] * (len(call.parameters) + len(call.buffers))
    with tracing(label), hooks_of_own(pure.holder.held):
        leaves = distinct((*call.parameters.values(), *call.buffers.values(), *call.inputs))
        told = ((*fixed, *(dict(d) or None for d in dynamic)),) if dynamic is not None else None
        with unchecked():
            program = torch.export.export(pure, leaves, dynamic_shapes=told, strict=False)
        mark(program.graph_module, draws)
        program = program.run_decompositions(table())
    refuse_functions(program, label)
    refuse_writes(program, label)
    if any(s.kind is InputKind.TOKEN for s in program.graph_signature.input_specs):
        checked = next(str(n.args[1]) for n in program.graph.nodes if "with_effects" in str(n.target))
        raise CaptureError(label, [Problem(checked, "it raises exceptions that depend on data", "", FALLBACK)])
    return program


def distinct(tensors: Iterable[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """Return tensors for ``torch.export``: copies of those that come twice, or are of an inference mode."""
    found: dict[int, torch.Tensor] = {}
    for k, x in enumerate(tensors):
        again = any(x is y for y in found.values())
        anew = again or x.is_inference()
        found[k] = x.detach().clone().requires_grad_(x.requires_grad) if anew else x
    return tuple(found.values())


def is_size(node: fx.Node) -> bool:
    """True if a node of a program computes with sizes."""
    value = node.meta.get("val")
    return node.op == "call_function" and isinstance(value, torch.SymInt) and not free_unbacked_symbols(value)


def sizes_in(program: torch.export.ExportedProgram) -> dict[fx.Node, Dim]:
    """Return the sizes that a program computes, by node."""
    return {n: size_of(n.meta["val"]) for n in program.graph.nodes if is_size(n)}


@dataclass(frozen=True)
class Translation:
    """Hold what the segments of a program share."""

    label: str
    draws: Sequence[Make]
    constants: Mapping[fx.Node, torch.Tensor]
    hooks: Hooks
    sizes: Mapping[fx.Node, Dim]

    def nodes(self, program: torch.export.ExportedProgram) -> tuple[list[fx.Node], list[fx.Node]]:
        """Return the operations of a program, and the nodes of its arguments."""
        body = [n for n in program.graph.nodes if n.op == "call_function" and n not in self.sizes]
        return body, [n for n in program.graph.nodes if n.op == "placeholder" and n not in self.constants]

    def named_sizes(self) -> dict[str, Dim]:
        """Return the sizes by the names that steps have for them."""
        return {n.name: size for n, size in self.sizes.items()}

    def run(self, body: Sequence[fx.Node], entering: Sequence[fx.Node], leaving: Sequence[fx.Node]) -> Translated:
        return Translator(self.label, self.draws, self.constants, self.sizes).run(body, entering, leaving)

    def check(self, found: Translated, entering: Sequence[fx.Node]) -> Reading:
        """Return the model of a segment.

        :raises CaptureError: there are nodes without a rule, or random numbers on a GPU.
        """
        if found.reading is None:
            raise CaptureError(self.label, list(dict.fromkeys(found.problems.values())))
        if found.draws and any(n.meta["val"].device.type != "cpu" for n in entering):
            reason = "PyTorch's kernels for a GPU draw other ones than generated code is given"
            raise CaptureError(self.label, [Problem("random numbers on a GPU", reason, "", FALLBACK)])
        return found.reading

    def segment(
        self, found: Translated, body: Sequence[fx.Node], entering: Sequence[fx.Node], leaving: Sequence[fx.Node]
    ) -> Segment:
        """Return a segment of generated code.

        :raises CaptureError: there are nodes without a rule.
        """
        reading = self.check(found, entering)
        names = [*found.inputs, *(d.name for d in found.draws)]
        reaches = dict.fromkeys(names, frozenset[int]())
        reaches |= zip(found.inputs, reached(body, entering, leaving), strict=True)
        shapes = dict(zip(found.inputs, (shape_of(n.meta["val"].shape) for n in entering), strict=True))
        shapes |= {d.name: d.shape for d in found.draws}
        open_ones = {n: s for n, s in shapes.items() if any(not isinstance(m, int) for m in s)}
        real = [k for k, t in enumerate(found.outputs) if t.dtype.is_floating_point]
        provides = ("out",) * len(real) if len(found.outputs) == 1 else tuple(f"out_{k}" for k in real)
        return Segment(
            ModelFunction(reading, identifier(self.label), {n: n for n in names}, watch=self.hooks, open=open_ones),
            tuple(n.name for n in entering),
            found.draws,
            tuple(n.name for n in leaving),
            provides,
            tuple(t.shape for t in found.outputs),
            reaches,
            self.hooks,
        )


def steps_of(
    body: Sequence[fx.Node],
    entering: Sequence[fx.Node],
    leaving: Sequence[fx.Node],
    translation: Translation,
    fallback: bool,
) -> tuple[Step, ...]:
    """Return one segment if everything can be translated; else segments around what is left to PyTorch."""
    own = [n for n in leaving if n.op == "call_function"]
    if not own:
        return ()
    whole = translation.run(body, entering, own)
    if not whole.problems or not fallback:
        return (translation.segment(whole, body, entering, own),)
    inside, left = set(body), set(body) & whole.problems.keys()
    while True:
        steps: list[Step] = []
        failed: set[fx.Node] = set()
        for part in grouped(body, left):
            if not isinstance(part, Group):
                steps.append(Operation(part.name, cast(Callable, part.target), part.args, part.kwargs))
                continue
            takes = part.entering({*translation.constants, *translation.sizes})
            gives = part.leaving(leaving)
            found = translation.run(part.body, takes, gives)
            failed |= found.problems.keys()
            if not found.problems:
                steps.append(translation.segment(found, part.body, takes, gives))
        more = {u for n in failed for u in ([n] if n in inside else n.users)} & inside - left
        if not more:
            return tuple(steps)
        left |= more


def held(program: torch.export.ExportedProgram) -> dict[fx.Node, torch.Tensor]:
    """Return tensors of the program that are no arguments, by their nodes."""
    kinds = (InputKind.CONSTANT_TENSOR, InputKind.BUFFER, InputKind.PARAMETER)
    targets = {s.arg.name: s.target for s in program.graph_signature.input_specs if s.kind in kinds}
    found: dict[fx.Node, torch.Tensor] = {}
    for node in program.graph.nodes:
        if node.op == "placeholder" and (target := targets.get(node.name)) is not None:
            own = program.constants.get(target)
            found[node] = own if isinstance(own, torch.Tensor) else program.state_dict[target]
        elif node.op == "get_attr":
            value = operator.attrgetter(node.target)(program.graph_module)
            if isinstance(value, torch.Tensor):
                found[node] = value
    return found


def is_changed(node: fx.Node) -> bool:
    """True if an output is more than a copy of an input."""
    while node.op == "call_function" and node.target in COPIES:
        node = cast(fx.Node, node.args[0])
    return node.op != "placeholder"


def refuse_functions(program: torch.export.ExportedProgram, label: str) -> None:
    """Raise an error for operations that take functions, whose arms or steps would be programs of their own."""
    found = [n for n in program.graph.nodes if getattr(n.target, "__name__", "") in TAKE_FUNCTIONS]
    hint = "write torch.where(condition, a, b), which computes both; or a loop over range, whose trips are numbers"
    problems = [
        Problem(
            f"torch.{TAKE_FUNCTIONS[n.target.__name__]}", "it takes functions, which are not translated", where(n), hint
        )
        for n in found
    ]
    if problems:
        raise CaptureError(label, problems)


def refuse_writes(program: torch.export.ExportedProgram, label: str) -> None:
    """Raise an error if a module writes its arguments or weights; buffers are copies."""
    kinds = (OutputKind.USER_INPUT_MUTATION, OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION)
    written = [s.target for s in program.graph_signature.output_specs if s.kind in kinds]
    if written:
        problem = Problem(
            f"a write of {', '.join(map(str, written))}", "arguments and weights are not written in place"
        )
        raise CaptureError(label, [problem])
