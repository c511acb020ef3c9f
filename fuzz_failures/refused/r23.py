# refused: ParseError: cannot turn 'program' into a graph: Type <class 'sympy.logic.boolalg.BooleanFalse'> of argument False is not supported
# 15 REFUSED: comparison of constants beside others
import numpy as np


def program(X, Y):
    for i in range(3):
        if 0.5 > 0.1 and i != i or X[i] < 9.0:
            Y[i] = X[i] * X[i]
    return np.sum(Y)


def arguments():
    g = np.random.default_rng(1)
    return dict(X=g.uniform(-1,1,3), Y=g.uniform(-1,1,3))
