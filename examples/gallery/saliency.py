"""Which pixels made a classifier say "three"? The gradient of its answer by the picture, from an ONNX file.

scikit-learn trains a small network on its digits, and skl2onnx writes it to a file: all that is needed then.
"""

import sys
import tempfile
import warnings
from pathlib import Path

import matplotlib
import numpy as np
from skl2onnx import to_onnx
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import sdgrad.onnx

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402 - the backend is chosen first

digits = load_digits()
pictures, labels = digits.data / 16, digits.target
network = MLPClassifier((32,), max_iter=60, learning_rate_init=0.01, tol=0.0, n_iter_no_change=60, random_state=0)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # sixty rounds are enough here
    network.fit(pictures[:1400], labels[:1400])
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "digits.onnx"
    file.write_bytes(to_onnx(network, pictures[:1], options={"zipmap": False}).SerializeToString())
    model = sdgrad.onnx.load(str(file))


def certainty(pictures, digit):
    """The logarithm of the probability of a digit, and its slopes by the pixels, for each picture."""
    (_, probabilities), pullback = model.vjp(pictures)
    weights = np.zeros_like(probabilities)
    weights[:, digit] = 1 / probabilities[:, digit]
    return np.log(probabilities[:, digit]), pullback(None, weights)["X"]


tested, true = pictures[1400:], labels[1400:]
guessed = network.predict(tested)
print(f"{np.mean(guessed == true):.1%} of {len(true)} pictures are recognised")
assert np.mean(guessed == true) > 0.88

AS = 3  # the question: what speaks for a three?
chosen = tested[[np.flatnonzero((guessed == digit) & (true == digit))[1] for digit in (3, 2, 5, 8, 9)]]
values, slopes = certainty(chosen, AS)
direction = np.random.default_rng(0).standard_normal(chosen.shape)
there, back = (certainty(chosen + by * direction, AS)[0] for by in (1e-6, -1e-6))
assert np.allclose(np.sum(slopes * direction, axis=1), (there - back) / 2e-6, rtol=1e-4, atol=1e-6)

steps = 0.15 * np.sign(slopes)  # a little ink more or less at each pixel, as the gradient says
more = np.exp(certainty(np.clip(chosen + steps, 0, 1), AS)[0])
for probability, changed in zip(np.exp(values), more, strict=True):
    print(f"probability of a three: {probability:.4f}, with a little ink where the gradient says {changed:.4f}")
assert np.all(more > np.exp(values)) and np.max(more[1:] / np.exp(values[1:])) > 5

figure, cells = pyplot.subplots(1, 5, figsize=(9, 2.6), layout="constrained")
for cell, picture, slope, before, after in zip(cells, chosen, slopes, np.exp(values), more, strict=True):
    limit = np.max(np.abs(slope))
    image = cell.imshow(slope.reshape(8, 8) / limit, cmap="RdBu_r", vmin=-1, vmax=1)
    cell.contour(picture.reshape(8, 8), levels=[0.4], colors="k")
    cell.set(xticks=[], yticks=[], title=f"three: {before:.1%}", xlabel=f"with ink: {after:.1%}")
figure.colorbar(image, ax=cells, label="slope by ink,\nrelative", shrink=0.7)
figure.suptitle("What speaks for a three (red) and against it (blue); the digits are outlined")
path = Path(sys.argv[1] if len(sys.argv) > 1 else "demo_output/saliency.png")
path.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(path, dpi=100)
print(f"picture in {path}")
