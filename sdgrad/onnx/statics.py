"""Compute tensors whose content decides shapes, before the program is made for this content."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from sdgrad.errors import UnsupportedOperator
from sdgrad.onnx.reading import Reading
from sdgrad.onnx_ops.families.elementwise import NUMBERS
from sdgrad.onnx_ops.recording import captures
from sdgrad.onnx_ops.session import session_of


def evaluate(reading: Reading, names: Sequence[str], given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the content of some tensors of a model.

    :param given: the model's inputs and weights; asked for those that are needed.
    """
    known = ChainMap(dict(reading.constants), given)  # type: ignore[arg-type]
    open_names = [n for n in names if n not in known]
    found = {n: known[n] for n in names if n in known}
    if open_names:
        run, inputs = _runner(reading, tuple(open_names), known)
        found |= dict(zip(open_names, run(None, {n: known[n] for n in inputs}), strict=True))
    return {n: np.asarray(v) for n, v in found.items()}


def _runner(reading: Reading, names: tuple[str, ...], known: Mapping[str, np.ndarray]) -> tuple[Callable, list[str]]:
    """Return a function that runs a part of a model: by onnxruntime, or else by ONNX's reference implementation."""
    known_ones = _runners.setdefault(reading, {})
    if names not in known_ones:
        model, inputs = part(reading, names, known)
        plain = all(known[n].dtype in NUMBERS for n in inputs)  # onnxruntime takes no others from Python
        known_ones[names] = _run_of(model) if plain else _reference(model), inputs
    return known_ones[names]


def _run_of(model: onnx.ModelProto) -> Callable:
    """Return the function that runs a model: by onnxruntime, else by ONNX's reference implementation."""
    try:
        return session_of(model).run
    except Exception as error:  # noqa: BLE001 (onnxruntime has errors of its own for each state)
        return _reference(model, error)


def _reference(model: onnx.ModelProto, refusal: Exception | None = None) -> Callable:
    """Return the function that runs a model by ONNX's reference implementation."""
    return partial(_by_reference, refusal, _by_reference(refusal, ReferenceEvaluator, model).run)


def _by_reference(refusal: Exception | None, function: Callable, *given: Any) -> Any:
    """Call a function of ONNX's reference implementation.

    :param refusal: why onnxruntime does not run the model, if it was asked: its reason is the clearer one.
    :raises UnsupportedOperator: the model cannot be run.
    """
    try:
        return function(*given)
    except (NotImplementedError, RuntimeError, TypeError) as error:
        raise UnsupportedOperator("model", "", f"it cannot be run: {refusal or error}") from error


def part(reading: Reading, names: Sequence[str], known: Mapping[str, np.ndarray]) -> tuple[onnx.ModelProto, list[str]]:
    """Return the part of a model that computes some tensors, and its inputs."""
    nodes = list(reading.graph.node)
    makers = {o: k for k, node in enumerate(nodes) for o in node.output if o}
    needed: set[int] = set()
    inputs: dict[str, None] = {}
    stack = list(names)
    while stack:
        name = stack.pop()
        if name in makers:
            if makers[name] not in needed:
                needed.add(makers[name])
                stack += used(nodes[makers[name]])
        elif name in known:
            inputs[name] = None
    described = [
        onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(known[n].dtype), known[n].shape)
        for n in inputs
    ]
    described_outputs = {o.name: o for o in reading.graph.output}
    outputs = [described_outputs.get(n, onnx.ValueInfoProto(name=n)) for n in names]
    graph = onnx.helper.make_graph([nodes[k] for k in sorted(needed)], "part", described, outputs)
    model = onnx.helper.make_model(graph, opset_imports=reading.proto.opset_import)
    return model, list(inputs)


def used(node: onnx.NodeProto) -> list[str]:
    """Return the names that a node reads, its subgraphs included."""
    return [*(n for n in node.input if n), *captures(node)]


Runners = dict[tuple[str, ...], tuple[Callable, list[str]]]
_runners: WeakKeyDictionary[Reading, Runners] = WeakKeyDictionary()
