# gradient: 1 wrong
#   X[2]: found -0.2051912497, differences -1.423361549
# 0 GRADIENT WRONG: X[k] *= X[2] where k is 2
import numpy as np


def program(X, k):
    X[k] *= X[2]
    return np.sum(X)


def arguments():
    g = np.random.default_rng(1)
    return dict(X=g.uniform(-1,1,3), k=2)
