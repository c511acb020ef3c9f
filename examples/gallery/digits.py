"""A network learns to read digits: parameters in a dict, batches, momentum, and what its first layer looks for."""

import sys
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.datasets import load_digits

import sdgrad

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402 - the backend is chosen first

HIDDEN, BATCH, EPOCHS, RATE, MOMENTUM, DECAY = 24, 50, 25, 0.2, 0.8, 1e-3


def scores(params, pictures):
    """One number for each picture and digit."""
    hidden = np.tanh(pictures @ params["first"]["W"] + params["first"]["b"])
    return hidden @ params["second"]["W"] + params["second"]["b"]


def loss(params, pictures, digits):
    """The mean cross entropy; weights cost a little, so that pixels that mean nothing get none."""
    s = scores(params, pictures)
    s = s - np.max(s, axis=1, keepdims=True)
    log_probabilities = s - np.log(np.sum(np.exp(s), axis=1, keepdims=True))
    penalty = sum(np.sum(layer["W"] ** 2) for layer in params.values())
    return -np.mean(log_probabilities[np.arange(len(digits)), digits]) + DECAY * penalty


def accuracy(params, pictures, digits):
    return np.mean(np.argmax(scores(params, pictures), axis=1) == digits)


rng = np.random.default_rng(0)
data = load_digits()
pictures, digits = data.data / 16 - 0.5, data.target
train, test = slice(0, 1350), slice(1350, None)
params = {
    "first": {"W": rng.standard_normal((64, HIDDEN)) / 8, "b": np.zeros(HIDDEN)},
    "second": {"W": rng.standard_normal((HIDDEN, 10)) / 5, "b": np.zeros(10)},
}
velocity = {name: {k: np.zeros_like(p) for k, p in layer.items()} for name, layer in params.items()}

value_and_gradient = sdgrad.value_and_grad(loss)
value, gradient = value_and_gradient(params, pictures[:BATCH], digits[:BATCH])
W, nearby = params["first"]["W"], []
direction = rng.standard_normal(W.shape)
for by in (1e-5, -1e-5):
    moved = {**params, "first": {"W": W + by * direction, "b": params["first"]["b"]}}
    nearby.append(loss(moved, pictures[:BATCH], digits[:BATCH]))
assert np.isclose(np.sum(gradient["first"]["W"] * direction), (nearby[0] - nearby[1]) / 2e-5, rtol=1e-6)

losses, accuracies = [], [accuracy(params, pictures[test], digits[test])]
for _ in range(EPOCHS):
    order = rng.permutation(1350)
    for batch in order.reshape(-1, BATCH):
        value, gradient = value_and_gradient(params, pictures[batch], digits[batch])
        losses.append(value)
        for name, layer in gradient.items():
            for key, slope in layer.items():
                velocity[name][key] = MOMENTUM * velocity[name][key] - RATE * slope
                params[name][key] += velocity[name][key]
    accuracies.append(accuracy(params, pictures[test], digits[test]))
print(f"loss {losses[0]:.2f} -> {np.mean(losses[-27:]):.3f} in {len(losses)} steps")
print(f"{accuracies[-1]:.1%} of {len(digits[test])} new digits are recognised, {accuracies[0]:.1%} before learning")
assert losses[-1] < 0.4 and accuracies[-1] > 0.88

figure = pyplot.figure(figsize=(9, 3.6), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=[1, 1.1])
curve = left.subplots()
curve.semilogy(np.arange(len(losses)) / 27, losses, lw=0.8, label="loss of each batch")
curve.set(xlabel="epoch", ylabel="loss", title="learning")
curve.minorticks_off()
curve.set_yticks([0.2, 0.5, 1, 2], ["0.2", "0.5", "1", "2"])
share = curve.twinx()
share.plot(100 * np.array(accuracies), "o-", color="tab:orange", ms=3, label="new digits recognised")
share.set(ylabel="recognised, %", ylim=(0, 105))
curve.legend(handles=[*curve.lines, *share.lines], loc="center right")
cells = right.subplots(4, 6)
for cell, feature in zip(cells.flat, params["first"]["W"].T, strict=True):
    limit = np.max(np.abs(feature))
    cell.imshow(feature.reshape(8, 8), cmap="RdBu_r", vmin=-limit, vmax=limit)
    cell.set(xticks=[], yticks=[])
right.suptitle("weights of the first layer: for ink (red), against it (blue)", fontsize="medium")
path = Path(sys.argv[1] if len(sys.argv) > 1 else "demo_output/digits.png")
path.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(path, dpi=100)
print(f"picture in {path}")
