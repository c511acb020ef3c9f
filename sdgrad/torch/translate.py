"""Translate an exported program of PyTorch to a graph of ONNX operators."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import onnx
import torch
from torch.fx import Node

from sdgrad.errors import Problem
from sdgrad.onnx.reading import Reading
from sdgrad.onnx_ops.families.extra import DOMAIN as OWN
from sdgrad.onnx_ops.families.extra import VERSION
from sdgrad.record.elements import Dim
from sdgrad.torch.aten import RULES
from sdgrad.torch.draws import (
    BY_SHAPE,
    STANDARD,
    Draw,
    Make,
    contiguous,
    drawn_by,
    drawn_in_place,
    dropout_mask,
    stand_in,
)
from sdgrad.torch.graph import DTYPES, OPSET, Graph, Type, Unsupported, Value
from sdgrad.torch.sizes import shape_of

FALLBACK = "give the module fallback=True, which leaves such operations to PyTorch"
CHECKS = ("_assert", "sym_constrain", "_linalg_check_errors")


@dataclass(frozen=True)
class Translated:
    """Hold a graph, the types of its outputs, and what is drawn for it; or why there is none, by node."""

    reading: Reading | None
    inputs: tuple[str, ...]
    outputs: tuple[Type, ...]
    draws: tuple[Draw, ...]
    problems: Mapping[Node, Problem]


@dataclass
class Translator:
    """Translate nodes of an exported program in order.

    :param marked: what draws the numbers of marks.
    :param constants: tensors that the program holds, by the nodes that stand for them.
    :param sizes: what nodes that compute with sizes give.
    """

    label: str
    marked: Sequence[Make]
    constants: Mapping[Node, torch.Tensor]
    sizes: Mapping[Node, Any] = field(default_factory=dict)
    graph: Graph = field(default_factory=Graph)
    draws: list[Draw] = field(default_factory=list)
    drawn: list[tuple[str, Type]] = field(default_factory=list)
    problems: dict[Node, Problem] = field(default_factory=dict)

    def run(self, body: Sequence[Node], entering: Sequence[Node], leaving: Sequence[Node]) -> Translated:
        """Return the graph that computes some nodes.

        :param entering: values that come from outside: the graph's inputs.
        :param leaving: the graph's outputs.
        """
        env: dict[Node, Any] = {**self.sizes, **{n: self.constant(t) for n, t in self.constants.items()}}
        inputs: list[tuple[str, Type]] = []
        for node in entering:
            try:
                kind = described(node.meta.get("val"))
            except Unsupported as reason:
                self.problem(node, str(reason))
                continue
            if isinstance(kind, Type):
                name = self.graph.names.fresh(f"in{len(inputs)}")
                inputs.append((name, kind))
                env[node] = Value(name, kind.shape, kind.dtype)
            else:
                self.problem(node, "a value that is no tensor")
        for node in body if not self.problems else ():
            try:
                env[node] = self.call(node, env)
            except Unsupported as reason:
                self.problem(node, str(reason))
                env[node] = _missing(node.meta.get("val"))
        names = tuple(n for n, _ in inputs)
        if self.problems:
            return Translated(None, names, (), (), self.problems)
        outputs = [self.result(env[n]) for n in leaving]
        types = tuple(Type(o.shape, o.dtype) for o in outputs)
        return Translated(self.reading([*inputs, *self.drawn], outputs), names, types, tuple(self.draws), {})

    def constant(self, tensor: torch.Tensor) -> Value:
        return self.graph.constant(tensor.detach().cpu().contiguous().numpy(), tensor.dtype)

    def call(self, node: Any, env: Mapping[Node, Any]) -> Any:
        """Translate one operation by its rule.

        :raises Unsupported: there is no rule for it, or none for this form of it.
        """
        args: Any = torch.fx.node.map_arg(node.args, lambda n: env[n])
        kwargs = torch.fx.node.map_arg(node.kwargs, lambda n: env[n])
        if node.target is operator.getitem:
            if args[0][args[1]] is None and isinstance(node.meta.get("val"), torch.Tensor):
                raise Unsupported(f"result {args[1]} of this operation is not computed")
            return args[0][args[1]]
        name = _overload(node.target)
        if name is None:
            raise Unsupported("control flow that depends on data")
        if name.startswith(CHECKS):
            return None
        out = described(node.meta.get("val"))
        given = bound(node.target, args, kwargs)
        self.graph.label, self.graph.line = node.name, where(node)
        if name == "sdgrad::drawn.default":
            return self.given(out, self.marked[given["number"]])
        if name == "dropout.default":
            return self.dropout(out, **given)
        if name == "native_dropout.default":
            return self.dropout(out[0], given["input"], given["p"], given["train"] is not False), None
        if torch.Tag.nondeterministic_seeded in node.target.tags and name not in RULES:
            return self.draw(node, name, out)
        given |= self.numbers_for(node, name, out, given)
        rule = RULES.get(name)
        if rule is None:
            raise Unsupported("there is no rule for this operation")
        try:
            found = rule(self.graph, out, **given)
        except (TypeError, AssertionError) as error:
            raise Unsupported(f"this form of the operation is not covered ({error})") from error
        return typed(found, out)

    # -- random numbers
    def numbers_for(self, node: Any, name: str, out: Any, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is drawn for an operation that has a rule."""
        if name.endswith(".input") and given.get("dropout") and given.get("train"):
            return {"masks": self.masks_between(out[0], given)}
        if name not in STANDARD:
            return {}
        strides = shape_of(node.meta["val"].stride())
        draw = partial(drawn_in_place, STANDARD[name], out.shape, strides, out.dtype)
        return {"generator": self.given(out, draw)}

    def given(self, kind: Type, make: Any) -> Value:
        name = self.graph.names.fresh("drawn")
        self.draws.append(Draw(name, kind.shape, make))
        self.drawn.append((name, kind))
        return Value(name, kind.shape, kind.dtype)

    def dropout(self, out: Type, input: Value, p: float, train: bool) -> Value:
        if not train or p == 0:
            return input
        mask = self.given(out, partial(dropout_mask, out.shape, contiguous(out.shape), out.dtype, p))
        return self.graph.op("Mul", input, mask, like=input)

    def masks_between(self, out: Type, given: Mapping[str, Any]) -> list[Value]:
        """Return masks of dropout between recurrent layers, on each result but the last, time first."""
        batch_first, p = given["batch_first"], given["dropout"]
        shape = (out.shape[1], out.shape[0], *out.shape[2:]) if batch_first else out.shape
        kind = Type(shape, out.dtype)
        make = partial(dropout_mask, shape, contiguous(shape), out.dtype, p)
        return [self.given(kind, make) for _ in range(given["num_layers"] - 1)]

    def draw(self, node: Any, name: str, out: Any) -> Value:
        if name not in BY_SHAPE or not isinstance(out, Type):
            raise Unsupported("random numbers whose distribution depends on data")
        args, kwargs = (torch.fx.node.map_arg(x, lambda n: stand_in(n.meta["val"])) for x in (node.args, node.kwargs))
        return self.given(out, partial(drawn_by, node.target, args, kwargs))

    # -- the model
    def result(self, x: Any) -> Value:
        """Return an output: a node's own result, also if it is an input or a constant."""
        return self.graph.op("Identity", x, like=x)

    def reading(self, inputs: Sequence[tuple[str, Type]], outputs: Sequence[Value]) -> Reading:
        """Return the graph as a model."""
        g = self.graph
        infos = [_info(n, t.shape, t.dtype) for n, t in inputs]
        results = [_info(o.name, o.shape, o.dtype) for o in outputs]
        graph = onnx.helper.make_graph(g.nodes, self.label, infos, results)
        opsets = [onnx.helper.make_opsetid("", OPSET), onnx.helper.make_opsetid(OWN, VERSION)]
        model = onnx.helper.make_model(graph, opset_imports=opsets)
        constants = {n: onnx.numpy_helper.to_array(t) for n, t in g.constants.items()}
        return Reading(model, "", {}, constants, {"": OPSET, OWN: VERSION})

    def problem(self, node: Node, message: str) -> None:
        what = str(node.target) if node.op == "call_function" else f"input '{node.name}'"
        self.problems[node] = Problem(what, message, where(node), FALLBACK)


def _info(name: str, shape: Sequence[Dim], dtype: torch.dtype) -> onnx.ValueInfoProto:
    extents = [n if isinstance(n, int) else str(n) for n in shape]
    return onnx.helper.make_tensor_value_info(name, _element(dtype), extents)


def _element(dtype: torch.dtype) -> int:
    return onnx.helper.np_dtype_to_tensor_dtype(DTYPES[dtype])


def _missing(value: Any) -> Any:
    """Stand in for a result that could not be translated, so that all problems are found."""
    if isinstance(value, torch.Tensor):
        return Value("missing", tuple(n if isinstance(n, int) else 1 for n in value.shape), value.dtype)
    return tuple(map(_missing, value)) if isinstance(value, (tuple, list)) else None


def _overload(target: Any) -> str | None:
    """Return the name of an operation of ATen with its overload."""
    if isinstance(target, torch._ops.OpOverload):
        if target.namespace != "aten":
            return f"{target.namespace}::{target._opname}.{target._overloadname}"
        return f"{target._schema.name.split('::')[1]}.{target._overloadname}"
    return None


def described(value: Any) -> Any:
    """Return the type of a traced value: of a tensor, or of each of several; None for anything else."""
    if isinstance(value, torch.Tensor):
        if value.dtype not in DTYPES:
            raise Unsupported(f"numbers of type {value.dtype}")
        return Type(shape_of(value.shape), value.dtype)
    if isinstance(value, (tuple, list)):
        return tuple(described(v) for v in value)
    return None


def bound(op: torch._ops.OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments by the names of the operation's schema, with defaults for those left out."""
    found: dict[str, Any] = {}
    for k, formal in enumerate(op._schema.arguments):
        if k < len(args) and not formal.kwarg_only:
            found[formal.name] = args[k]
        elif formal.name in kwargs:
            found[formal.name] = kwargs[formal.name]
        elif formal.has_default_value():
            found[formal.name] = formal.default_value
    return found


def typed(found: Any, out: Any) -> Any:
    """Return results with the types that PyTorch gives them; None of those that are not computed."""
    if found is not None and isinstance(out, Type):
        return Value(found.name, out.shape, out.dtype)
    if isinstance(out, tuple):
        return tuple(typed(f, o) if o is not None else f for f, o in zip(found, out, strict=True))
    return found


OWN_FILES = str(Path(__file__).parents[1])


def where(node: Node) -> str:
    """Return the line of the module that calls an operation: the innermost one outside of PyTorch."""
    trace = node.meta.get("stack_trace") or ""
    lines = re.findall(r'File "([^"]+)", line (\d+)', trace)
    lines = [(f, n) for f, n in lines if not f.startswith((OWN_FILES, "<"))]  # "<": code that PyTorch has made
    own = [(f, n) for f, n in lines if not f.startswith(torch.__path__[0])] or lines
    return f"{own[-1][0]}:{own[-1][1]}" if own else ""
