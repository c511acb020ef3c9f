# gradient: 1 wrong
#   X[1]: found 0.0426726776, differences 0.04267275433
# seed_30003.py (python tests/fuzz/run.py --size 9 --without data_slices --count 1 --seed N)
import numpy as np


def relax(V, c):
    for e in range(1, V.shape[0]):
        V[e] = 0.5 * V[e] + np.sin(c * V[e - 1])


def program(A, B, C, X, Y, Z, s, r, k):
    c1 = 1
    relax(X[:-1], 0.25)
    X[2 - k] /= 1.5 + np.sin(0.25 * np.exp(-X[c1] * X[c1]))
    Z[0] /= 2.0 + 0.8 * 0.8
    w2 = 0
    while w2 < 3:
        relax(X, Y[k - 1])
        w2 += 1
    Y[2] = np.tanh(np.sin(C[k % 3, c1]) / (2.0 + (C[c1, 1] + Z[k - 1]) * (C[c1, 1] + Z[k - 1])))
    for i in range(k, 0, -1):
        B[:, :] += np.sin(np.minimum(np.cos(B[::-1, ::-1]), A.T))
    return np.sum(Y * X) + np.sum(np.sin(X)) + np.sum(Z * Z) + s + r


def arguments():
    return dict(
        A=np.random.default_rng(9600).uniform(-1.0, 1.0, (3, 3)),
        B=np.random.default_rng(9601).uniform(-1.0, 1.0, (3, 3)),
        C=np.random.default_rng(9602).uniform(-1.0, 1.0, (3, 3)),
        X=np.random.default_rng(9603).uniform(-1.0, 1.0, 3),
        Y=np.random.default_rng(9604).uniform(-1.0, 1.0, 3),
        Z=np.random.default_rng(9605).uniform(-1.0, 1.0, 3),
        s=float(np.random.default_rng(9606).uniform(-1.0, 1.0)),
        r=float(np.random.default_rng(9607).uniform(-1.0, 1.0)),
        k=1,
    )
