"""Run what a captured module does, step by step: mostly one step, which is generated code."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import fx

from sdgrad.config import config
from sdgrad.onnx.function import ModelFunction
from sdgrad.record.elements import Dim
from sdgrad.runtime.compile.progress import working
from sdgrad.torch.draws import Draw
from sdgrad.torch.function import PreparedCall, apply
from sdgrad.torch.hooks import Hooks
from sdgrad.torch.prepared import Prepared
from sdgrad.torch.sizes import Sizes, evaluated

Values = dict[str, Any]
Key = tuple[tuple[str, ...], Sizes, bool]  # inputs with a gradient, sizes, and whether indices are checked
UNKNOWN = object()
MANY = 64  # prepared calls of one segment: each size has memory of its own


class Step(Protocol):
    """Reads and writes values by name."""

    def run(self, values: Values, sizes: Sizes) -> None: ...


@dataclass(frozen=True)
class Segment:
    """Operations as generated code.

    :param function: the graph, as a function of values and then of draws.
    :param provides: the graph's outputs that have a derivative, as the engine names them.
    :param shapes: of its outputs.
    :param reaches: for each argument of the function: the outputs, by number, that have a derivative by it.
    """

    function: ModelFunction
    inputs: tuple[str, ...]
    draws: tuple[Draw, ...]
    outputs: tuple[str, ...]
    provides: tuple[str, ...]
    shapes: tuple[tuple[Dim, ...], ...]
    reaches: Mapping[str, frozenset[int]]
    hooks: Hooks
    prepared: dict[Key, Prepared | None] = field(default_factory=dict, compare=False)

    def run(self, values: Values, sizes: Sizes) -> None:
        given = (*(values[n] for n in self.inputs), *(d.make(sizes) for d in self.draws))
        results = self.results(dict(zip(self.function.arguments, given, strict=True)), sizes)
        for name, result, extents in zip(self.outputs, results, self.shapes, strict=True):
            shape = evaluated(extents, sizes)
            values[name] = result if result.shape == shape else result.reshape(shape)

    def results(self, arguments: Mapping[str, torch.Tensor], sizes: Sizes) -> Sequence[torch.Tensor]:
        """Return the segment's results, recorded by autograd if gradients are wanted."""
        recorded = torch.is_grad_enabled()
        wanted = tuple(n for n, t in arguments.items() if recorded and t.requires_grad and self.reaches[n])
        key = (wanted, sizes, config.check_indices)
        prepared = self.prepared.get(key, UNKNOWN)
        if prepared is UNKNOWN:
            prepared = self.prepare(arguments, key)
        if not isinstance(prepared, Prepared):
            given = {n: t if n in wanted else t.detach() for n, t in arguments.items()}
            return apply(self.function, given, self.provides)
        if not wanted:
            return prepared.run([t.detach() for t in arguments.values()])[0]
        return PreparedCall.apply(prepared, *arguments.values())

    def prepare(self, arguments: Mapping[str, torch.Tensor], key: Key) -> Prepared | None:
        """Return calls for these gradients and sizes; the oldest of many are dropped."""
        wanted, sizes, _ = key
        detached = {n: t.detach() for n, t in arguments.items()}
        with working(f"{'differentiating' if wanted else 'generating'} {self.function.name}"):
            prepared = Prepared.of(self.function, detached, wanted, self.provides, self.reaches, dict(sizes))
        if prepared is not None:
            self.hooks.compiled(prepared)
        while len(self.prepared) >= MANY:
            self.prepared.pop(next(iter(self.prepared)), None)
        self.prepared[key] = prepared
        return prepared


@dataclass(frozen=True)
class Operation:
    """One operation that is left to PyTorch. Its arguments have nodes in place of values."""

    name: str
    target: Callable
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    def run(self, values: Values, sizes: Sizes) -> None:
        args, kwargs = fx.node.map_arg((self.args, dict(self.kwargs)), lambda n: values[n.name])
        values[self.name] = self.target(*args, **kwargs)


@dataclass(frozen=True)
class Group:
    """Nodes that become one segment."""

    body: list[fx.Node]

    def entering(self, known: Collection[fx.Node]) -> list[fx.Node]:
        """Return values from before that the nodes use, except for constants and sizes."""
        inside = set(self.body)
        used = (n for node in self.body for n in node.all_input_nodes)
        return [n for n in dict.fromkeys(used) if n not in inside and n not in known]

    def leaving(self, results: Sequence[fx.Node]) -> list[fx.Node]:
        """Return values that are used afterwards."""
        inside, wanted = set(self.body), set(results)
        return [n for n in self.body if n in wanted or any(u not in inside and u.op != "output" for u in n.users)]


def grouped(body: Sequence[fx.Node], left: set[fx.Node]) -> list[Group | fx.Node]:
    """Group nodes in order; those of ``left`` stand alone between groups."""
    found: list[Group | fx.Node] = []
    place: dict[fx.Node, Group] = {}
    for node in body:
        source = node.args[0] if node.target is operator.getitem else None
        if node in left or (isinstance(source, fx.Node) and source in left):
            found.append(node)
            continue
        group = place.get(source) if isinstance(source, fx.Node) else None  # a part of a result stays with it
        if group is None:
            last = found[-1] if found else None
            group = last if isinstance(last, Group) else Group([])
            if group is not last:
                found.append(group)
        group.body.append(node)
        place[node] = group
    return found
