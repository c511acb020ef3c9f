"""Derivatives travel to other processes, by pickle, and are compiled once for all of them."""

import pickle
from pathlib import Path

import joblib
import numpy as np
import pytest

import sdgrad
from tests.distributed.ensemble import energy, gradient
from tests.distributed.ranks import started

X = np.linspace(0.0, 1.0, 6)


def expected(k):
    return k * np.sin(2 * k * X)


def nested(p):
    return np.sum(p["a"] * p["b"][0])


@pytest.mark.parametrize(
    ("made", "arguments"),
    [
        (sdgrad.grad(energy), (X, 2.0)),
        (sdgrad.value_and_grad(energy, wrt=("x", "k")), (X, 2.0)),
        (sdgrad.grad(nested), ({"a": X, "b": [X]},)),
        (sdgrad.hessian(energy), (X, 2.0)),
    ],
    ids=["grad", "value and gradients", "nest", "hessian"],
)
def test_what_has_been_called_is_pickled(made, arguments):
    """The second call of ``grad`` goes by addresses of this process, which had not been left out."""
    first = made(*arguments)
    made(*arguments)
    again = pickle.loads(pickle.dumps(made))(*arguments)
    np.testing.assert_equal(again, first)


def in_worker(k, folder):
    with sdgrad.config.override(cache_dir=folder):
        return gradient(X, k)[1], len(list(Path(folder).rglob("*.so")))


def test_joblib(tmp_path):
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(in_worker)(k, str(tmp_path)) for k in np.arange(4.0))
    for k, (g, _) in enumerate(found):
        np.testing.assert_allclose(g, expected(k), atol=1e-14)
    assert len([p for p in tmp_path.rglob("*.so") if "energy" in p.name]) == 1


def test_mpi4py_futures():
    found = started(3, ["-m", "tests.distributed.ensemble"], "mpi4py.futures")["ensemble"]["gradients"]
    np.testing.assert_allclose(found, [expected(k) for k in range(5)], atol=1e-14)
