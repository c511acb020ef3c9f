"""Translate LSTM, GRU and plain recurrent layers: each layer is an operator for one or both directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sdgrad.torch.aten.recorded import several
from sdgrad.torch.aten.registry import RULES, Rule
from sdgrad.torch.graph import Graph, Type, Value

# The gates of ONNX's operators, as numbers of PyTorch's.
GATES = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN": (0,)}


def _gates(g: Graph, kind: str, x: Value, hidden: int) -> Value:
    """Return rows in the order of ONNX's gates."""
    order = GATES[kind]
    if order == tuple(range(len(order))):
        return x
    return g.op("Concat", *(g.slice(x, 0, k * hidden, (k + 1) * hidden) for k in order), axis=0)


def _joined(g: Graph, parts: Sequence[Value]) -> Value:
    """Return the parts along the first axis, one behind the other."""
    return parts[0] if len(parts) == 1 else g.op("Concat", *parts, axis=0)


def _recurrent(
    g: Graph,
    kind: str,
    input: Value,
    states: Sequence[Value],
    params: Sequence[Value],
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
    masks: Sequence[Value],
    **more: Any,
) -> tuple[Value, ...]:
    """Translate layers one after another, each to an operator for one or both directions."""
    directions = 2 if bidirectional else 1
    width = 4 if has_biases else 2
    hidden = params[1].shape[1]
    x = g.transpose(input, [1, 0, 2]) if batch_first else input
    lasts: list[list[Value]] = [[] for _ in states]
    for layer in range(num_layers):
        mine = [params[(layer * directions + d) * width :][:width] for d in range(directions)]

        def both(k: int, mine: Sequence[Sequence[Value]] = mine) -> Value:
            return _joined(g, [g.unsqueeze(_gates(g, kind, own[k], hidden), 0) for own in mine])

        bias = g.op("Concat", both(2), both(3), axis=1) if has_biases else None
        initial = [g.slice(s, 0, layer * directions, (layer + 1) * directions) for s in states]
        found = g.ops(
            kind, x, both(0), both(1), bias, None, *initial, outputs=1 + len(states), hidden_size=hidden,
            direction="bidirectional" if bidirectional else "forward", **more,
        )  # fmt: skip
        flat = g.transpose(found[0], [0, 2, 1, 3])  # time, batch, directions, hidden
        shape = (*_time_and_batch(input, batch_first), directions * hidden)
        x = Value(g.op("Reshape", flat, g.integers(shape)).name, shape, input.dtype)
        for of, last in zip(lasts, found[1:], strict=True):
            of.append(last)
        if masks and layer + 1 < num_layers:
            x = g.op("Mul", x, masks[layer], like=x)
    results = [_joined(g, of) for of in lasts]
    return (g.transpose(x, [1, 0, 2]) if batch_first else x, *results)


def _projected(
    g: Graph,
    input: Value,
    states: Sequence[Value],
    params: Sequence[Value],
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
    masks: Sequence[Value],
) -> tuple[Value, ...]:
    """Translate layers of an LSTM with projections, each direction to a function."""
    time, batch = _time_and_batch(input, batch_first)
    first = g.transpose(input, [1, 0, 2]) if batch_first else input
    x = Value(first.name, (time, batch, input.shape[2]), input.dtype)
    width = 5 if has_biases else 3
    runs = [params[k : k + width] for k in range(0, len(params), width)]
    lasts: list[list[Value]] = [[], []]
    directions = 1 + bidirectional
    for layer in range(num_layers):
        outs = []
        for number in range(layer * directions, (layer + 1) * directions):
            of_input, of_state, *biases, projection = runs[number]
            rows, kind = of_input.shape[0], input.dtype
            zero = g.constant(np.zeros(rows), kind)
            bias = Value(g.op("Add", *biases).name, (rows,), kind) if biases else zero
            at = [g.op("Gather", s, g.constant(number), axis=0) for s in states]
            own = [Value(v.name, s.shape[1:], kind) for v, s in zip(at, states, strict=True)]
            operands = (x, *own, of_input, of_state, bias, projection)
            out, *last = several(g, "projected_lstm", 3, *operands, backwards=bool(number % directions))
            outs.append(out)
            for of, state in zip(lasts, last, strict=True):
                of.append(g.unsqueeze(state, 0))
        shape = (time, batch, directions * runs[0][-1].shape[0])
        x = Value((g.op("Concat", *outs, axis=2) if bidirectional else outs[0]).name, shape, input.dtype)
        if masks and layer + 1 < num_layers:
            x = g.op("Mul", x, masks[layer], like=x)
    return (g.transpose(x, [1, 0, 2]) if batch_first else x, *(_joined(g, of) for of in lasts))


def _time_and_batch(x: Value, batch_first: bool) -> tuple[int, int]:
    return (x.shape[1], x.shape[0]) if batch_first else (x.shape[0], x.shape[1])


def _rule(kind: str, activation: str | None = None, **more: Any) -> Rule:
    """Return the rule of a kind of recurrent layer."""

    def rule(
        g: Graph,
        out: Sequence[Type],
        input: Value,
        hx: Value | Sequence[Value],
        params: Sequence[Value],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
        masks: Sequence[Value] = (),
    ) -> tuple[Value, ...]:
        states = [hx] if isinstance(hx, Value) else hx
        if len(params) != (4 if has_biases else 2) * num_layers * (1 + bidirectional):
            return _projected(g, input, states, params, has_biases, num_layers, bidirectional, batch_first, masks)
        each = None if activation is None else [activation] * (2 if bidirectional else 1)
        return _recurrent(
            g, kind, input, states, params, has_biases, num_layers, bidirectional, batch_first, masks,
            activations=each, **more,
        )  # fmt: skip

    return rule


RULES["lstm.input"] = _rule("LSTM")
RULES["gru.input"] = _rule("GRU", linear_before_reset=1)
RULES["rnn_tanh.input"] = _rule("RNN", "Tanh")
RULES["rnn_relu.input"] = _rule("RNN", "Relu")
