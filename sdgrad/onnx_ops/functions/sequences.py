"""Functions of sequences: layers with projections, and the likelihood of labels without an alignment."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdgrad.onnx_ops.functions.table import recorded


@recorded("projected_lstm")
def projected_lstm(
    x: Any, h: Any, c: Any, of_input: Any, of_state: Any, bias: Any, projection: Any, backwards: bool
) -> Any:
    """Run an LSTM whose states are projected (Sak et al. 2014): all states, and the last ones.

    :param x: time, batch, features.
    """
    steps, width = x.shape[0], c.shape[1]
    found = np.zeros((steps, x.shape[1], projection.shape[0]), x.dtype)
    for t in range(steps):
        at = steps - 1 - t if backwards else t
        z = x[at] @ of_input.T + h @ of_state.T + bias
        into, keep = 1 / (1 + np.exp(-z[:, :width])), 1 / (1 + np.exp(-z[:, width : 2 * width]))
        shown = 1 / (1 + np.exp(-z[:, 3 * width :]))
        c = keep * c + into * np.tanh(z[:, 2 * width : 3 * width])
        h = (shown * np.tanh(c)) @ projection.T
        found[at] = h
    return found, h, c


@recorded("ctc")
def ctc(scores: Any, labels: Any, widths: Any, counts: Any, blank: int, finite: bool) -> Any:
    """Return negative logarithms of the likelihoods of labels (Graves et al. 2006, 4.1).

    :param scores: logarithms of probabilities: time, batch, labels and the blank.
    :param labels: batch, places.
    :param widths: how many steps count; ``counts``: how many labels.
    :param finite: what is impossible has zero, and no derivative.
    """
    steps, batch = scores.shape[0], scores.shape[1]
    rows, places = np.arange(batch), 2 * labels.shape[1] + 1
    spread = np.full((batch, places), blank)
    spread[:, 1::2] = labels
    skips = np.zeros((batch, places), bool)
    skips[:, 3::2] = labels[:, 1:] != labels[:, :-1]
    inside = np.arange(places) < 2 * counts[:, None] + 1
    a = np.where(inside & (np.arange(places) < 2), scores[0][rows[:, None], spread], -np.inf)
    nothing = np.full((batch, 1), -np.inf, scores.dtype)
    for t in range(1, steps):
        one = np.concatenate((nothing, a[:, :-1]), 1)
        two = np.where(skips, np.concatenate((nothing, nothing, a[:, :-2]), 1)[:, :places], -np.inf)
        most = np.maximum(np.maximum(a, one), two)
        level = np.where(most == -np.inf, 0.0, most)
        total = np.exp(a - level) + np.exp(one - level) + np.exp(two - level)
        reached = np.where(total > 0, np.log(np.where(total > 0, total, 1.0)) + level, -np.inf)
        ahead = np.where(inside, reached + scores[t][rows[:, None], spread], -np.inf)
        a = np.where((t < widths)[:, None], ahead, a)
    last, before = a[rows, 2 * counts], a[rows, np.maximum(2 * counts - 1, 0)]
    found = -np.logaddexp(last, np.where(counts > 0, before, -np.inf))
    return np.where(np.isinf(found), 0.0, found) if finite else found
