# gradient: 1 wrong
#   X[2]: found -3.379498865, differences 0
# 0b the same with /=
import numpy as np


def program(X, k):
    X[k] /= X[2]
    return np.sum(X)


def arguments():
    g = np.random.default_rng(1)
    return dict(X=g.uniform(-1,1,3), k=2)
