"""Multiply exponentials of matrices with columns, by products with the matrix alone (Al-Mohy and Higham 2011)."""

from __future__ import annotations

import numpy as np


def action(product, x, shift, steps, length, terms):
    """Return the exponential of a matrix times x, in steps of Taylor series.

    :param product: with the matrix less ``shift`` on its diagonal; ``length`` is that of a step.
    """
    factor = np.exp(shift * length)
    for _ in range(steps):
        term = x
        for k in range(terms):
            term = product(term) * (length / (k + 1.0))
            x = x + term
        x = x * factor
    return x


def actions(next_one, x, found):
    """Fill the results at times of one distance, of which the first one is x."""
    found[0] = x
    for k in range(1, found.shape[0]):
        x = next_one(x)
        found[k] = x
    return found
