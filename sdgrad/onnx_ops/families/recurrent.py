"""Lower recurrent networks: a loop over time around products and gates.

Elman 1990 (RNN), Hochreiter and Schmidhuber 1997 (LSTM), Cho et al. 2014 (GRU), in the standard's layout.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import sympy

from sdgrad.onnx_ops.families.elementwise import clipped, sigmoid, softplus
from sdgrad.onnx_ops.registry import lowering
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined, Element, call, element, where
from sdgrad.record.tensors import Tensor

Activation = Callable[[Element], Element]
ACTIVATIONS: dict[str, Callable[[float, float], Activation]] = {
    "relu": lambda a, c: lambda x: where(x > 0, x, 0),
    "tanh": lambda a, c: lambda x: call("tanh", x),
    "sigmoid": lambda a, c: sigmoid,
    "affine": lambda a, c: lambda x: x * a + c,
    "leakyrelu": lambda a, c: lambda x: where(x >= 0, x, x * a),
    "thresholdedrelu": lambda a, c: lambda x: where(x > a, x, 0),
    "scaledtanh": lambda a, c: lambda x: call("tanh", x * c) * a,
    "hardsigmoid": lambda a, c: lambda x: clipped(x * a + c, 0, 1),
    "elu": lambda a, c: lambda x: where(x > 0, x, call("expm1", x) * a),
    "softsign": lambda a, c: lambda x: x / (1 + call("abs", x)),
    "softplus": lambda a, c: softplus,
}
DIRECTIONS = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
"""Of each direction of a layer: true if it runs backwards through time."""

GATES = {"RNN": 1, "LSTM": 4, "GRU": 3}
"""The number of gates, whose rows lie one behind the other in the weights."""

STANDARD = {"RNN": ("Tanh",), "LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh")}
"""The activations of a direction unless a layer names others."""

DEFAULTS: dict[str, tuple[float, ...]] = {
    **{"leakyrelu": (0.01,), "elu": (1.0,), "thresholdedrelu": (1.0,)},
    **{"hardsigmoid": (0.2, 0.5), "affine": (1.0, 0.0), "scaledtanh": (1.0, 1.0)},
}
"""The parameters of activations unless a layer gives them: alpha, and beta of those that have one."""


def chosen(names: Sequence[str], alpha: Sequence[float], beta: Sequence[float]) -> list[Activation]:
    """Return activations with their parameters, which are consumed in order."""
    left = list(alpha), list(beta)
    found = []
    for name in names:
        key = name.lower()
        if key not in ACTIVATIONS:
            raise Declined(f"the activation {name}")
        own = [given.pop(0) if given else a for a, given in zip(DEFAULTS.get(key, ()), left, strict=False)]
        found.append(ACTIVATIONS[key](*own, *[0.0] * (2 - len(own))))
    return found


def before(t: sympy.Expr, backwards: bool) -> sympy.Expr:
    """Return where a history has the state that step ``t`` starts from."""
    return t + 1 if backwards else t


def after(t: sympy.Expr, backwards: bool) -> sympy.Expr:
    """Return where a history has the state that step ``t`` leaves."""
    return t if backwards else t + 1


@dataclass(frozen=True)
class Form:
    """Describe a layer, by the operator's attributes."""

    kind: str
    direction: str
    layout: int
    clip: float | None
    activations: Sequence[str] = ()
    alpha: Sequence[float] = ()
    beta: Sequence[float] = ()

    def functions(self) -> list[tuple[Activation, ...]]:
        """Return the activations of each direction.

        :raises Declined: there is no such activation.
        """
        standard = STANDARD[self.kind]
        found = chosen(list(self.activations) or standard * len(DIRECTIONS[self.direction]), self.alpha, self.beta)
        return [tuple(found[k : k + len(standard)]) for k in range(0, len(found), len(standard))]


class Layer:
    """Run a recurrence over time, in one direction or both, for sequences of one length or several.

    RNN, LSTM and GRU share everything but the step: the products with the inputs of all steps at once, the loop over
    time, the states of sequences that have ended, and what is kept for an adjoint.

    :param x: time, batch, features (``layout`` 0).
    """

    def __init__(self, b: Builder, form: Form, x: Tensor, w: Tensor, r: Tensor, bias: Tensor | None) -> None:
        hidden = int(r.shape[2])
        layout = form.layout
        self.b, self.r, self.bias, self.layout, self.clip = b, r, bias, layout, form.clip
        self.gates, self.hidden = GATES[form.kind], hidden
        self.functions = form.functions()
        self.x = x.transpose([1, 0, 2]) if layout else x
        self.steps, self.batch = self.x.shape[:2]
        self.directions = DIRECTIONS[form.direction]
        count = len(self.directions)
        self.y = b.declare("y", [self.steps, count, self.batch, hidden], x.dtype)
        self.final = [b.declare("h", [count, self.batch, hidden], x.dtype)]
        self.history: list[Tensor] = []
        self.kept: dict[int, Tensor] = {}
        self.given = [self.products(w.select(0, d), d) for d in range(count)]

    def start(self, given: Tensor | None) -> Tensor:
        """Return the initial state: direction, batch, hidden."""
        if given is None:
            return self.b.full([len(self.directions), self.batch, self.hidden], 0, self.x.dtype)
        return given.transpose([1, 0, 2]) if self.layout else given

    def products(self, w: Tensor, d: int) -> Tensor:
        """Return ``x @ W.T + bias`` for all steps at once: time, batch, gates."""
        flat = self.x.reshape([self.steps * self.batch, self.x.shape[2]])
        found = self.biased(self.b.matmul(flat, w.transpose()), d, 0, self.gates)
        return found.reshape([self.steps, self.batch, self.gates * self.hidden])

    def again(self, h: Tensor, d: int, first: int, count: int) -> Tensor:
        """Return ``h @ R.T + bias`` for some of the gates."""
        rows = self.r.select(0, d).slice(0, first * self.hidden, count * self.hidden)
        return self.biased(self.b.matmul(h, rows.transpose()), d, self.gates + first, count)

    def biased(self, product: Tensor, d: int, first: int, count: int) -> Tensor:
        """Add the biases of some gates: those for the input come first, then those for the state."""
        if self.bias is None:
            return product
        return product + self.bias.select(0, d).slice(0, first * self.hidden, count * self.hidden)

    def gate(self, tensor: Tensor, k: int) -> Tensor:
        """Return one gate's share along the last axis."""
        return tensor.slice(-1, k * self.hidden, self.hidden)

    def activated(self, function: Activation, own: Tensor, again: Tensor, k: int) -> Tensor:
        """Return a gate: the activation of what the input and the state give to it."""
        return self.gate(own, k).map(lambda p, q: function(self.limited(p + q)), self.gate(again, k))

    def limited(self, x: Element) -> Element:
        return x if self.clip is None else clipped(x, -self.clip, self.clip)

    def keep(self, k: int, value: Tensor, d: int, t: sympy.Expr) -> Tensor:
        """Keep a value of a step for an adjoint: direction, time, batch, hidden."""
        if k not in self.kept:
            self.kept[k] = self.b.declare("g", [len(self.directions), self.steps, self.batch, self.hidden], value.dtype)
        self.b.copy(value, self.kept[k].select(0, d).select(0, t))
        return value

    def run(
        self,
        lengths: Tensor | None,
        starts: Sequence[Tensor],
        step: Callable[[int, sympy.Expr, list[Tensor]], list[Tensor]],
    ) -> list[Tensor]:
        """Run all directions: ``step(direction, t, states)`` gives the states after step ``t``.

        Sequences shorter than the longest keep their states, and give zeros. Behind what the standard says come, for
        adjoints, the states from the first to the last (:func:`before`, :func:`after`), and what the steps kept.
        """
        b = self.b
        count, batch, hidden = self.final[0].shape
        self.final += [b.declare("s", self.final[0].shape, self.x.dtype) for _ in starts[1:]]
        self.history = [b.declare("s", [count, self.steps + 1, batch, hidden], self.x.dtype) for _ in starts]
        for d, backwards in enumerate(self.directions):
            states = [b.copy(s.select(0, d)) for s in starts]
            for state, history in zip(states, self.history, strict=True):
                b.copy(state, history.select(0, d).select(0, self.steps if backwards else 0))
            with b.loop(self.steps, reverse=backwards) as t:
                new = step(d, t, states)
                inside = (lambda *i: element(t, np.int64) < lengths[i[0]]) if lengths is not None else None
                self._advance(states, new, inside, d, t)
                for state, history in zip(states, self.history, strict=True):
                    b.copy(state, history.select(0, d).select(0, after(t, backwards)))
            for state, final in zip(states, self.final, strict=True):
                b.copy(state, final.select(0, d))
        own = [*self.history, *(self.kept[k] for k in sorted(self.kept))]
        if self.layout:
            return [self.y.transpose([2, 0, 1, 3]), *(f.transpose([1, 0, 2]) for f in self.final), *own]
        return [self.y, *self.final, *own]

    def _advance(self, states: list[Tensor], new: list[Tensor], inside, d: int, t: sympy.Expr) -> None:
        """Take the new states, and put the output of the step; both only for sequences that are long enough."""
        into = self.y.select(0, t).select(0, d)
        if inside is None:
            self.b.copy(new[0], into)
        else:
            self.b.assign(into, lambda *i: where(inside(*i), new[0][i], 0))
        for state, value in zip(states, new, strict=True):
            if inside is None:
                self.b.copy(value, state)
            else:
                self.b.assign(state, lambda *i, s=state, v=value: where(inside(*i), v[i], s[i]))


@lowering("RNN", since=7)
def rnn(
    b: Builder,
    x: Tensor,
    w: Tensor,
    r: Tensor,
    bias: Tensor | None,
    lengths: Tensor | None,
    start: Tensor | None,
    *,
    activation_alpha: Sequence[float] = (),
    activation_beta: Sequence[float] = (),
    activations: Sequence[str] = ("Tanh", "Tanh"),
    clip: float | None = None,
    direction: str,
    hidden_size: int | None = None,
    layout: int = 0,
) -> list[Tensor]:
    """``h = f(W x + R h0 + b)``."""
    form = Form("RNN", direction, layout, clip, activations, activation_alpha, activation_beta)
    layer = Layer(b, form, x, w, r, bias)

    def step(d: int, t: sympy.Expr, states: list[Tensor]) -> list[Tensor]:
        (f,) = layer.functions[d]
        again = layer.again(states[0], d, 0, 1)
        return [layer.activated(f, layer.given[d].select(0, t), again, 0)]

    return layer.run(lengths, [layer.start(start)], step)


@lowering("LSTM", since=7)
def lstm(
    b: Builder,
    x: Tensor,
    w: Tensor,
    r: Tensor,
    bias: Tensor | None,
    lengths: Tensor | None,
    start: Tensor | None,
    cell: Tensor | None,
    peepholes: Tensor | None,
    *,
    activation_alpha: Sequence[float] = (),
    activation_beta: Sequence[float] = (),
    activations: Sequence[str] = (),
    clip: float | None = None,
    direction: str,
    hidden_size: int | None = None,
    input_forget: int,
    layout: int = 0,
) -> list[Tensor]:
    """``c = f c0 + i g``, ``h = o tanh(c)``; with peepholes, the gates ``i``, ``o`` and ``f`` see the cell, too."""
    form = Form("LSTM", direction, layout, clip, activations, activation_alpha, activation_beta)
    layer = Layer(b, form, x, w, r, bias)
    starts = [layer.start(start), layer.start(cell)]
    return layer.run(lengths, starts, lambda d, t, states: lstm_step(layer, peepholes, input_forget, d, t, states))


def lstm_step(
    layer: Layer, peepholes: Tensor | None, coupled: int, d: int, t: sympy.Expr, states: list[Tensor]
) -> list[Tensor]:
    """Return the state and the cell after step ``t``; ``coupled``: the forget gate is one less the input gate."""
    f, g, h = layer.functions[d]
    own, again = layer.given[d].select(0, t), layer.again(states[0], d, 0, 4)

    def gate(k: int, c: Tensor) -> Tensor:
        if peepholes is None:
            return layer.activated(f, own, again, k)
        p, q, weight = layer.gate(own, k), layer.gate(again, k), layer.gate(peepholes.select(0, d), k)
        return p.map(lambda p, q, m, v: f(layer.limited(p + q + m * v)), q, weight, c)

    def kept(k: int, value: Tensor) -> Tensor:
        return layer.keep(k, value, d, t)

    i = kept(0, gate(0, states[1]))
    forget = kept(2, i.map(lambda v: 1 - v) if coupled else gate(2, states[1]))
    new = kept(3, layer.activated(g, own, again, 3))
    later = forget.map(lambda a, c, p, q: a * c + p * q, states[1], i, new)
    o = kept(1, gate(1, later))
    return [o.map(lambda p, c: p * h(c), later), later]


@lowering("GRU", since=7)
def gru(
    b: Builder,
    x: Tensor,
    w: Tensor,
    r: Tensor,
    bias: Tensor | None,
    lengths: Tensor | None,
    start: Tensor | None,
    *,
    activation_alpha: Sequence[float] = (),
    activation_beta: Sequence[float] = (),
    activations: Sequence[str] = (),
    clip: float | None = None,
    direction: str,
    hidden_size: int | None = None,
    layout: int = 0,
    linear_before_reset: int = 0,
) -> list[Tensor]:
    """``h = (1 - z) n + z h0``, with ``n`` of ``r (R h0)`` (``linear_before_reset``) or of ``R (r h0)``."""
    form = Form("GRU", direction, layout, clip, activations, activation_alpha, activation_beta)
    layer = Layer(b, form, x, w, r, bias)

    def step(d: int, t: sympy.Expr, states: list[Tensor]) -> list[Tensor]:
        f, g = layer.functions[d]
        own, h = layer.given[d].select(0, t), states[0]
        again = layer.again(h, d, 0, 2)
        z, reset = (layer.keep(k, layer.activated(f, own, again, k), d, t) for k in (0, 1))
        if linear_before_reset:
            inner = layer.keep(3, layer.again(h, d, 2, 1), d, t)
            new = layer.gate(own, 2).map(lambda p, q, s: g(layer.limited(p + s * q)), inner, reset)
        else:
            inner = layer.again(b.copy(reset * h), d, 2, 1)
            new = layer.gate(own, 2).map(lambda p, q: g(layer.limited(p + q)), inner)
        layer.keep(2, new, d, t)
        return [z.map(lambda a, c, v: (1 - a) * c + a * v, new, h)]

    return layer.run(lengths, [layer.start(start)], step)
