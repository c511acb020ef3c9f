"""Densities of ``multivariate_t``, ``wishart`` and ``matrix_normal``, beside SciPy's and their differences."""

import numpy as np
import pytest
import scipy.stats as stats
from together import differences

import sdgrad
from sdgrad.errors import ParseError

rng = np.random.default_rng(0)
ROOT = rng.standard_normal((3, 3))
GIVEN = {
    "C": ROOT @ ROOT.T + np.eye(3), "D": np.array([[1.4, 0.3], [0.3, 0.9]]), "x": rng.standard_normal((4, 3)),
    "y": rng.standard_normal((3, 2)), "m": rng.standard_normal(3), "nu": 3.7, "s": 1.3,
}  # fmt: skip
NAMES = {
    "stats": stats, "T": stats.multivariate_t(np.zeros(3), np.eye(3) * 2, 4), "W": stats.wishart(4, np.eye(2)),
    "N": stats.matrix_normal(np.ones((3, 2)), np.eye(3), 2 * np.eye(2)),
}  # fmt: skip
CALLS = [
    "stats.multivariate_t.logpdf(x, m, C, nu)",
    "stats.multivariate_t.pdf(x[0], m, C, df=nu)",
    "stats.multivariate_t(m, C, nu).logpdf(x)",
    "stats.multivariate_t.logpdf(x[:, 0], m[0], s, nu * 1.0)",
    "T.logpdf(x)",
    "stats.wishart.logpdf(C, nu * 1.0, np.diag(m * m) + C)",
    "stats.wishart(4.0, D).pdf(D * s)",
    "W.logpdf(D)",
    "stats.wishart.logpdf(D[:1, :1], 3.0, s)",
    "stats.matrix_normal.logpdf(y, rowcov=C, colcov=D)",
    "stats.matrix_normal(y * s, C, D).pdf(y)",
    "N.logpdf(y)",
]


def test_values_and_derivatives():
    """By symmetric matrices only: SciPy reads one triangle of some of them."""
    texts = [t.replace("C", "(0.5 * (C + C.T))").replace("D", "(0.5 * (D + D.T))") for t in CALLS]
    assert differences(texts, NAMES, GIVEN, step=5e-4, loose=1e-6) == []


REFUSED = {
    "allow_singular=True": lambda x: stats.multivariate_t.logpdf(x, allow_singular=True),
    "densities of one symmetric matrix": lambda x: stats.wishart.logpdf(np.stack([x, x]), 3.0, np.eye(2)),
    "densities of one matrix": lambda x: stats.matrix_normal.logpdf(np.reshape(x, (1, 1, 1))),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message):
    with pytest.raises(ParseError, match=message):
        sdgrad.grad(REFUSED[message])(0.3)
