# internal error: KeyError in <dictcomp> of compile.py: '__sym_idx_index_0'
# 7 INTERNAL: KeyError in compile: writing function called on a slice at a data index
import numpy as np


def relax(V, c):
    for e in range(1, V.shape[0]):
        V[e] = 0.5 * V[e] + np.sin(c * V[e - 1])


def program(X, A, idx):
    relax(A[1::2, idx[0]], X[0])
    return np.sum(A)


def arguments():
    g = np.random.default_rng(1)
    return dict(X=g.uniform(-1,1,3), A=g.uniform(-1,1,(3,4)), idx=np.array([1,0,1]))
