# refused: InvalidGraph: the graph 'program' is not valid: Node validation failed: list index out of range (at state BinOp_6, node _Dot_)
# Invalid SDFG saved for inspection in /work/main/_dacegraphs/invalid.sdfgz
# 9 REFUSED: matrix product of slices of length one
import numpy as np


def program(X, Z):
    return X[0:1] @ Z[3:4]


def arguments():
    g = np.random.default_rng(1)
    return dict(X=g.uniform(-1,1,3), Z=g.uniform(-1,1,4))
