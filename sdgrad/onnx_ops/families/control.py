"""Lower operators with subgraphs: branches, loops and scans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx

from sdgrad.errors import UnsupportedOperator
from sdgrad.onnx_ops.registry import constant_of, lowering
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined, dim, element
from sdgrad.record.tensors import Tensor


def graph_of(b: Builder, graph: onnx.GraphProto, operation: Any, *inputs: Tensor | None) -> list[Tensor]:
    """Record a subgraph of an operator, and return its results."""
    return operation.record_graph(b, graph, operation, inputs)


@lowering("If")
def branch(
    b: Builder, condition: Tensor, *, then_branch: onnx.GraphProto, else_branch: onnx.GraphProto, operation: Any
) -> list[Tensor]:
    """Run one of two subgraphs, by a condition."""
    if condition.known is not None:
        return graph_of(b, then_branch if bool(condition.known.item()) else else_branch, operation)
    with b.arm() as then:
        first = graph_of(b, then_branch, operation)
    with b.arm() as otherwise:
        second = graph_of(b, else_branch, operation)
    for p, q in zip(first, second, strict=True):
        if p.shape != q.shape:
            raise Declined(f"branches give arrays of shapes {p.shape} and {q.shape}")
    results = [b.declare("t", p.shape, p.dtype) for p in first]
    for block, values in ((then, first), (otherwise, second)):
        with b.arm() as copies:
            for value, result in zip(values, results, strict=True):
                b.copy(value, result)
        block += copies
    b.branch(b.copy(condition) if condition.place is not None else condition, then, otherwise)
    return results


@lowering("Loop", since=11)
def loop(
    b: Builder, count: Tensor | None, condition: Tensor | None, *carried: Tensor, body: onnx.GraphProto, operation: Any
) -> list[Tensor]:
    """Run a body a number of times; if it collects results, their number decides shapes and must be known."""
    steady = always_goes_on(body)
    n = len(carried)
    if len(body.output) == 1 + n and not (steady and count is not None and count.known is not None):
        return open_loop(b, count, condition, steady, carried, body, operation)
    trips = max(0, int(constant_of(count, "the number of trips").item()))
    if condition is not None and not bool(constant_of(condition, "the condition").item()):
        trips = 0
    if not steady:
        raise Declined("a condition that is computed in a loop that collects results")
    states = [b.copy(c) for c in carried]
    collected: list[Tensor] = []
    with b.loop(trips) as k:
        at = b.compute((), np.int64, lambda: element(k, np.int64))
        results = graph_of(b, body, operation, at, b.constant(np.array(True)), *states)[1:]
        carry(b, states, results[:n])
        for value in results[n:]:
            collected.append(b.declare("t", [trips, *value.shape], value.dtype))
            b.copy(value, collected[-1].select(0, k))
    return [*states, *collected]


def open_loop(
    b: Builder,
    count: Tensor | None,
    condition: Tensor | None,
    steady: bool,
    carried: Sequence[Tensor],
    body: onnx.GraphProto,
    operation: Any,
) -> list[Tensor]:
    """Run a body until the values say so: after a number of iterations, or when its condition fails."""
    if count is None and steady and (condition is None or condition.known is not None and condition.known.item()):
        raise UnsupportedOperator("Loop", operation.node.name, "it has no end: no count or condition stops it")
    going = b.full((), True, bool) if condition is None else b.copy(condition)
    states = [b.copy(c) for c in carried]
    with b.loop_while(going, b.copy(count) if count is not None else None) as k:
        at = b.compute((), np.int64, lambda: element(k, np.int64))
        carry(b, [going, *states], graph_of(b, body, operation, at, going, *states))
    return states


def carry(b: Builder, states: Sequence[Tensor], results: Sequence[Tensor]) -> None:
    """Hand values to the next iteration: all are read before any is written."""
    for state, value in zip(states, [b.copy(r) for r in results], strict=True):
        if state.shape != value.shape:
            raise Declined("a carried value changes its shape")
        b.copy(value, state)


def always_goes_on(body: onnx.GraphProto) -> bool:
    """True if the condition that the body returns is the one it was given, or true."""
    name, given = body.output[0].name, body.input[1].name
    makers = {o: node for node in body.node for o in node.output}
    while name != given and name in makers and makers[name].op_type == "Identity":
        name = makers[name].input[0]
    if name == given:
        return True
    maker = makers.get(name)
    if maker is not None and maker.op_type == "Constant":
        return bool(onnx.numpy_helper.to_array(maker.attribute[0].t).item())
    return any(t.name == name and bool(onnx.numpy_helper.to_array(t).item()) for t in body.initializer)


@lowering("Scan", since=9)
def scan(
    b: Builder,
    *inputs: Tensor,
    body: onnx.GraphProto,
    num_scan_inputs: int,
    scan_input_axes: list[int] | None = None,
    scan_input_directions: list[int] | None = None,
    scan_output_axes: list[int] | None = None,
    scan_output_directions: list[int] | None = None,
    operation: Any,
) -> list[Tensor]:
    """Run a body over slices of the operands in order; collect slices of results."""
    m = num_scan_inputs
    n = len(inputs) - m
    sequences = inputs[n:]
    axes = [a % x.rank for a, x in zip(scan_input_axes or [0] * m, sequences, strict=True)]
    backwards = scan_input_directions or [0] * m
    trips = sequences[0].shape[axes[0]]
    states = [b.copy(c) for c in inputs[:n]]
    results: list[Tensor] = []
    with b.loop(trips) as k:
        taken = [
            x.select(a, trips - 1 - k if back else k) for x, a, back in zip(sequences, axes, backwards, strict=True)
        ]
        found = graph_of(b, body, operation, *states, *taken)
        carry(b, states, found[:n])
        out_axes = scan_output_axes or [0] * (len(found) - n)
        out_back = scan_output_directions or [0] * (len(found) - n)
        for value, axis, back in zip(found[n:], out_axes, out_back, strict=True):
            axis %= value.rank + 1
            shape = [*value.shape[:axis], dim(trips), *value.shape[axis:]]
            results.append(b.declare("t", shape, value.dtype))
            b.copy(value, results[-1].select(axis, trips - 1 - k if back else k))
    return [*states, *results]
