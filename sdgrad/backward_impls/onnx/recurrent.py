"""Reverse recurrent layers: backwards through time over the gates, then one product for each matrix.

The adjoint of a step, taken as it is, adds the outer product of the gates' cotangents and the state to the gradient of
the weights: ``steps`` small products. Here the cotangents of all steps are collected, and the weights' gradients are
each one product over time and batch (Appleyard et al. 2016, section 3.2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import sympy

from sdgrad.onnx_ops.families.recurrent import DIRECTIONS, GATES, STANDARD, Form, after, before
from sdgrad.onnx_ops.registry import Reversed, adjoint
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined, Element, call, element, where
from sdgrad.record.tensors import Tensor

LENGTHS, FEATURES = 4, -1
STATES = {"LSTM": 2, "GRU": 1}  # that a step hands to the next


def stacked(b: Builder, parts: Sequence[Tensor]) -> Tensor:
    """Return the tensors of the directions as one."""
    if len(parts) == 1:
        return parts[0].unsqueeze(0)
    result = b.declare("t", [len(parts), *parts[0].shape], parts[0].dtype)
    for d, part in enumerate(parts):
        b.copy(part, result.select(0, d))
    return result


def check_standard(form: Form) -> None:
    """Decline what the adjoints here do not cover: they hold for the standard's activations, without a limit.

    :raises Declined: the layer has other activations, or clips them.
    """
    standard = STANDARD[form.kind]
    if any(a.lower() != standard[k % len(standard)].lower() for k, a in enumerate(form.activations)):
        raise Declined("other activations")
    if form.clip is not None:
        raise Declined("clipped gates")


def through_sigmoid(d: Element, y: Element) -> Element:
    return d * y * (1 - y)


def through_tanh(d: Element, y: Element) -> Element:
    return d * (1 - y * y)


class Backwards:
    """Run a recurrence backwards through time, then take the weights' gradients from the gates' cotangents.

    LSTM and GRU share everything but the step. ``own[d]`` are the cotangents of what the input gives to the gates
    (time, batch, gates), ``again[d]`` of what the state gives to them; they differ if a gate stands between.
    """

    def __init__(self, b: Builder, form: Form, reversal: Reversed) -> None:
        layout, states = form.layout, STATES[form.kind]
        self.b, self.reversal, self.gates, self.layout = b, reversal, GATES[form.kind], layout
        self.x = self.time_first(reversal.operand(0))
        self.w, self.r = reversal.operand(1), reversal.operand(2)
        self.hidden = self.r.shape[2]
        self.steps, self.batch = self.x.shape[:2]
        self.backwards = DIRECTIONS[form.direction]
        self.lengths = reversal.operand(LENGTHS) if reversal.has(LENGTHS) else None
        self.history = [reversal.result(1 + states + k) for k in range(states)]
        self.kept = [r for r in reversal.results[1 + 2 * states :] if r is not None]
        y, *final = reversal.cotangents[: 1 + states]
        self.seed = y.transpose([1, 2, 0, 3]) if y is not None and layout else y
        self.final = [self.time_first(f) if f is not None else None for f in final]
        shape = [self.steps, self.batch, self.gates * self.hidden]
        self.own = [b.declare("g", shape, self.x.dtype) for _ in self.backwards]
        self.again = self.own
        self.start: list[list[Tensor]] = [[] for _ in final]

    def time_first(self, x: Tensor) -> Tensor:
        return x.transpose([1, 0, 2]) if self.layout else x

    def at(self, k: int, d: int, t: sympy.Expr) -> Tensor:
        """Return a value that step ``t`` kept."""
        return self.kept[k].select(0, d).select(0, t)

    def states(self, k: int, d: int, at: Callable[[sympy.Expr, bool], sympy.Expr], t: sympy.Expr) -> Tensor:
        return self.history[k].select(0, d).select(0, at(t, self.backwards[d]))

    def rows(self, k: int, d: int) -> Tensor:
        """Return the states that the steps of a direction start from: time, batch, hidden."""
        return self.history[k].select(0, d).slice(0, before(sympy.Integer(0), self.backwards[d]), self.steps)

    def inside(self, t: sympy.Expr, row: sympy.Expr) -> Element | None:
        """Return the condition that a sequence is long enough; None if all are."""
        return element(t, np.int64) < self.lengths[row] if self.lengths is not None else None

    def put(self, into: list[Tensor], k: int, d: int, t: sympy.Expr, value: Tensor) -> Tensor:
        """Collect the cotangent of a gate."""

        def given(*i: sympy.Expr) -> Element:
            inside = self.inside(t, i[0])
            return value[i] if inside is None else where(inside, value[i], 0)

        self.b.assign(into[d].select(0, t).slice(FEATURES, k * self.hidden, self.hidden), given)
        return value

    def by_state(self, d: int, t: sympy.Expr, first: int, count: int) -> Tensor:
        """Return what some of the gates hand to the state that they were computed from."""
        first, count = first * self.hidden, count * self.hidden
        gates = self.again[d].select(0, t).slice(FEATURES, first, count)
        return self.b.matmul(gates, self.r.select(0, d).slice(0, first, count))

    def run(self, step: Callable[[int, sympy.Expr, list[Tensor]], list[Tensor]]) -> None:
        """Run all directions; ``step(direction, t, cotangents)`` returns those of the states before step ``t``."""
        b = self.b
        for d, backwards in enumerate(self.backwards):
            shape = [self.batch, self.hidden]
            carried = [b.copy(f.select(0, d)) if f is not None else b.full(shape, 0, self.x.dtype) for f in self.final]
            with b.loop(self.steps, reverse=not backwards) as t:
                given = list(carried)
                if self.seed is not None:
                    given[0] = given[0] + self.seed.select(0, t).select(0, d)
                for state, new in zip(carried, step(d, t, given), strict=True):
                    self._hand_on(state, new, t)
            for state, start in zip(carried, self.start, strict=True):
                start.append(state)

    def _hand_on(self, state: Tensor, new: Tensor, t: sympy.Expr) -> None:
        """Pass a state's cotangent to the step before, unless the sequence had ended."""

        def given(*i: sympy.Expr) -> Element:
            inside = self.inside(t, i[0])
            return new[i] if inside is None else where(inside, new[i], state[i])

        self.b.assign(state, given)

    def over_time(self, left: Tensor, right: Tensor) -> Tensor:
        """Return ``sum over time and batch of left' right``."""
        return self.b.reduction(
            [left.shape[2], right.shape[2]],
            left.shape[:2],
            lambda i, k: left[k[0], k[1], i[0]] * right[k[0], k[1], i[1]],
            "sum",
            left.dtype,
        )

    def gradients(self, by_states: Callable[[int], Tensor] | None = None) -> list[Tensor | None]:
        """Return the gradients of the operands up to the initial states.

        :param by_states: the gradient of a direction's weights of the state, if it is not ``again' h``.
        """
        b, every = self.b, range(len(self.backwards))
        to_input = b.matmul(self.own[0], self.w.select(0, 0))
        for d in every[1:]:
            to_input = to_input + b.matmul(self.own[d], self.w.select(0, d))
        by_states = by_states or (lambda d: self.over_time(self.again[d], self.rows(0, d)))
        to_w = stacked(b, [self.over_time(self.own[d], self.x) for d in every])
        to_r = stacked(b, [by_states(d) for d in every])
        starts = [self.time_first(stacked(b, s)) for s in self.start]
        return [self.time_first(to_input), to_w, to_r, self._to_bias(), None, *starts]

    def _to_bias(self) -> Tensor | None:
        """Return the gradient of the biases; None if there are none."""
        if not self.reversal.has(3):
            return None
        count = self.gates * self.hidden
        result = self.b.declare("t", [len(self.backwards), 2 * count], self.x.dtype)
        for d in range(len(self.backwards)):
            for k, given in enumerate((self.own[d], self.again[d])):
                self.b.copy(given.sum([0, 1]), result.select(0, d).slice(0, k * count, count))
        return result


@adjoint("LSTM", since=7)
def lstm(
    b: Builder,
    reversal: Reversed,
    *,
    activation_alpha: Sequence[float] = (),
    activation_beta: Sequence[float] = (),
    activations: Sequence[str] = (),
    clip: float | None = None,
    direction: str,
    hidden_size: int | None = None,
    input_forget: int,
    layout: int = 0,
) -> list[Tensor | None]:
    """``c = f c0 + i g``, ``h = o tanh(c)``, of gates ``i``, ``o``, ``f`` and ``g``."""
    form = Form("LSTM", direction, layout, clip, activations)
    check_standard(form)
    if input_forget:
        raise Declined("coupled gates")
    layer = Backwards(b, form, reversal)
    holes = reversal.operand(7) if reversal.has(7) else None
    layer.run(lambda d, t, given: lstm_step(layer, holes, d, t, given))
    return [*layer.gradients(), to_peepholes(layer) if holes is not None else None]


def lstm_step(layer: Backwards, holes: Tensor | None, d: int, t: sympy.Expr, given: list[Tensor]) -> list[Tensor]:
    """Return the cotangents of the state and the cell that step ``t`` starts from, and collect those of its gates."""

    def peephole(k: int) -> Tensor:
        assert holes is not None
        return holes.select(0, d).slice(0, k * layer.hidden, layer.hidden)

    h, c = given
    i, o, f, g = (layer.at(k, d, t) for k in range(4))
    earlier, later = (layer.states(1, d, at, t) for at in (before, after))
    squashed = later.map(lambda v: call("tanh", v))
    to_o = layer.put(layer.own, 1, d, t, o.map(lambda o, h, s: through_sigmoid(h * s, o), h, squashed))
    to_c = c.map(lambda c, h, o, s: c + through_tanh(h * o, s), h, o, squashed)
    if holes is not None:
        to_c = to_c.map(lambda c, o, p: c + o * p, to_o, peephole(1))
    to_i = layer.put(layer.own, 0, d, t, to_c.map(lambda c, g, i: through_sigmoid(c * g, i), g, i))
    to_f = layer.put(layer.own, 2, d, t, to_c.map(lambda c, e, f: through_sigmoid(c * e, f), earlier, f))
    layer.put(layer.own, 3, d, t, to_c.map(lambda c, i, g: through_tanh(c * i, g), i, g))
    before_it = to_c * f
    if holes is not None:
        before_it = before_it.map(lambda c, i, p, f, q: c + i * p + f * q, to_i, peephole(0), to_f, peephole(2))
    return [layer.by_state(d, t, 0, 4), before_it]


def to_peepholes(layer: Backwards) -> Tensor:
    """Return the gradient of peepholes: ``i`` and ``f`` see the cell before a step, ``o`` the cell after it."""
    result = layer.b.declare("t", [len(layer.backwards), 3 * layer.hidden], layer.x.dtype)
    for d, backwards in enumerate(layer.backwards):
        cells = layer.history[1].select(0, d)
        for k, at in enumerate((before, after, before)):
            seen = cells.slice(0, at(sympy.Integer(0), backwards), layer.steps)
            gate = layer.own[d].slice(FEATURES, k * layer.hidden, layer.hidden)
            layer.b.copy((gate * seen).sum([0, 1]), result.select(0, d).slice(0, k * layer.hidden, layer.hidden))
    return result


@adjoint("GRU", since=7)
def gru(
    b: Builder,
    reversal: Reversed,
    *,
    activation_alpha: Sequence[float] = (),
    activation_beta: Sequence[float] = (),
    activations: Sequence[str] = (),
    clip: float | None = None,
    direction: str,
    hidden_size: int | None = None,
    layout: int = 0,
    linear_before_reset: int = 0,
) -> list[Tensor | None]:
    """``h = (1 - z) n + z h0``, with ``n`` of ``r (R h0)`` (``linear_before_reset``) or of ``R (r h0)``."""
    form = Form("GRU", direction, layout, clip, activations)
    check_standard(form)
    layer = Backwards(b, form, reversal)
    if linear_before_reset:
        layer.again = [b.declare("g", own.shape, own.dtype) for own in layer.own]

    layer.run(lambda d, t, given: gru_step(layer, linear_before_reset, d, t, given))
    return layer.gradients(None if linear_before_reset else lambda d: gru_by_states(layer, d))


def gru_step(layer: Backwards, linear: int, d: int, t: sympy.Expr, given: list[Tensor]) -> list[Tensor]:
    """Return the cotangent of the state that step ``t`` starts from, and collect those of its gates."""

    def both(k: int, value: Tensor) -> Tensor:
        if layer.again is not layer.own:
            layer.put(layer.again, k, d, t, value)
        return layer.put(layer.own, k, d, t, value)

    (h,) = given
    z, r, n = (layer.at(k, d, t) for k in range(3))
    earlier = layer.states(0, d, before, t)
    both(0, h.map(lambda h, e, n, z: through_sigmoid(h * (e - n), z), earlier, n, z))
    to_n = layer.put(layer.own, 2, d, t, h.map(lambda h, z, n: through_tanh(h * (1 - z), n), z, n))
    if linear:
        layer.put(layer.again, 2, d, t, to_n * r)
        both(1, to_n.map(lambda d, inner, r: through_sigmoid(d * inner, r), layer.at(3, d, t), r))
        return [h.map(lambda h, z, by: h * z + by, z, layer.by_state(d, t, 0, 3))]
    inner = layer.by_state(d, t, 2, 1)
    both(1, inner.map(lambda d, e, r: through_sigmoid(d * e, r), earlier, r))
    return [h.map(lambda h, z, m, r, by: h * z + m * r + by, z, inner, r, layer.by_state(d, t, 0, 2))]


def gru_by_states(layer: Backwards, d: int) -> Tensor:
    """Return the gradient of the state's weights; those of the last gate see the state behind the reset gate."""
    n, result = layer.hidden, layer.b.declare("t", layer.r.shape[1:], layer.x.dtype)
    own, earlier = layer.own[d], layer.rows(0, d)
    reset = layer.kept[1].select(0, d) * earlier
    layer.b.copy(layer.over_time(own.slice(FEATURES, 0, 2 * n), earlier), result.slice(0, 0, 2 * n))
    layer.b.copy(layer.over_time(own.slice(FEATURES, 2 * n, n), reset), result.slice(0, 2 * n, n))
    return result
