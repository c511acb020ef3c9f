"""Translate LSTM, GRU and plain recurrent layers: each layer is an operator for one or both directions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def _layers(
    g: Graph,
    input: Value,
    num_layers: int,
    batch_first: bool,
    masks: Sequence[Value],
    layer: Callable[[int, Value], tuple[Value, Sequence[Value]]],
) -> tuple[Value, ...]:
    """Translate layers one after another.

    :param layer: translates the one of a number: what it makes of time, batch and features, and its last states.
    """
    time, batch = _time_and_batch(input, batch_first)
    first = g.transpose(input, [1, 0, 2]) if batch_first else input
    x, lasts = Value(first.name, (time, batch, input.shape[2]), input.dtype), []
    for number in range(num_layers):
        x, last = layer(number, x)
        lasts.append(last)
        if masks and number + 1 < num_layers:
            x = g.op("Mul", x, masks[number], like=x)
    results = [_joined(g, of) for of in zip(*lasts, strict=True)]
    return (g.transpose(x, [1, 0, 2]) if batch_first else x, *results)


def _recurrent(
    g: Graph,
    kind: str,
    states: Sequence[Value],
    params: Sequence[Value],
    has_biases: bool,
    directions: int,
    **more: Any,
) -> Callable[[int, Value], tuple[Value, Sequence[Value]]]:
    """Return what translates a layer: to an operator for one or both directions."""
    width = 4 if has_biases else 2
    hidden = params[1].shape[1]

    def layer(number: int, x: Value) -> tuple[Value, Sequence[Value]]:
        mine = [params[(number * directions + d) * width :][:width] for d in range(directions)]

        def both(k: int) -> Value:
            return _joined(g, [g.unsqueeze(_gates(g, kind, own[k], hidden), 0) for own in mine])

        bias = g.op("Concat", both(2), both(3), axis=1) if has_biases else None
        initial = [g.slice(s, 0, number * directions, (number + 1) * directions) for s in states]
        found, *last = g.ops(
            kind, x, both(0), both(1), bias, None, *initial, outputs=1 + len(states), hidden_size=hidden,
            direction="bidirectional" if directions == 2 else "forward", **more,
        )  # fmt: skip
        flat = g.transpose(found, [0, 2, 1, 3])  # time, batch, directions, hidden
        shape = (*x.shape[:2], directions * hidden)
        return Value(g.op("Reshape", flat, g.integers(shape)).name, shape, x.dtype), last

    return layer


def _projected(
    g: Graph, states: Sequence[Value], params: Sequence[Value], has_biases: bool, directions: int
) -> Callable[[int, Value], tuple[Value, Sequence[Value]]]:
    """Return what translates a layer of an LSTM with projections: each direction to a function."""
    width = 5 if has_biases else 3
    runs = [params[k : k + width] for k in range(0, len(params), width)]

    def layer(number: int, x: Value) -> tuple[Value, Sequence[Value]]:
        outs, lasts = [], []
        for k in range(number * directions, (number + 1) * directions):
            of_input, of_state, *biases, projection = runs[k]
            rows = of_input.shape[0]
            zero = g.constant(np.zeros(rows), x.dtype)
            bias = Value(g.op("Add", *biases).name, (rows,), x.dtype) if biases else zero
            at = [g.op("Gather", s, g.constant(k), axis=0) for s in states]
            own = [Value(v.name, s.shape[1:], x.dtype) for v, s in zip(at, states, strict=True)]
            operands = (x, *own, of_input, of_state, bias, projection)
            out, *last = several(g, "projected_lstm", 3, *operands, backwards=bool(k % directions))
            outs.append(out)
            lasts.append([g.unsqueeze(state, 0) for state in last])
        shape = (*x.shape[:2], directions * runs[0][-1].shape[0])
        joined = g.op("Concat", *outs, axis=2) if directions == 2 else outs[0]
        return Value(joined.name, shape, x.dtype), [_joined(g, of) for of in zip(*lasts, strict=True)]

    return layer


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
        directions = 2 if bidirectional else 1
        if len(params) == (4 if has_biases else 2) * num_layers * directions:
            each = None if activation is None else [activation] * directions
            layer = _recurrent(g, kind, states, params, has_biases, directions, activations=each, **more)
        else:
            layer = _projected(g, states, params, has_biases, directions)
        return _layers(g, input, num_layers, batch_first, masks, layer)

    return rule


RULES["lstm.input"] = _rule("LSTM")
RULES["gru.input"] = _rule("GRU", linear_before_reset=1)
RULES["rnn_tanh.input"] = _rule("RNN", "Tanh")
RULES["rnn_relu.input"] = _rule("RNN", "Relu")
