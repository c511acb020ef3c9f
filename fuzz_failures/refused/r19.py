# refused: ParseError: cannot turn 'program' into a graph: unhashable type: 'list'
# 12 REFUSED: function called with a constant maximum
import numpy as np


def blend(p, q):
    return np.tanh(p * q) + 0.5 * p


def program(X):
    X[0] = blend(X[1], np.maximum(1.5, -0.7))
    return np.sum(X)


def arguments():
    g = np.random.default_rng(1)
    return dict(X=g.uniform(-1,1,3))
