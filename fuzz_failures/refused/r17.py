# refused: ParseError: cannot turn 'program' into a graph: 
# 10 REFUSED, empty message: mean of a part whose last extent is one
import numpy as np


def program(A):
    return np.mean(A[:, 1:2])


def arguments():
    g = np.random.default_rng(1)
    return dict(A=g.uniform(-1,1,(3,4)))
