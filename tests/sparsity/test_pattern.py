"""Dependences of elements: program in, pattern out."""

import numpy as np
from treetext import program

import sdgrad
from sdgrad.sparsity.pattern import dependencies


def pattern(source, result="y", symbols="", **given):
    return dependencies(program(source, symbols=symbols), "x", result, given).toarray().astype(int).tolist()


def test_stencil():
    assert pattern("""
        argument x: float64[4]
        argument y: float64[4]
        body
          map i=1:4:
            v = x[i]
            u = x[i - 1]
            w = v * u
            y[i] = w
    """) == [[0, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]


GATHER = """
argument x: float64[3]
argument y: float64[3]
argument at: int64[3]
body
  map j=0:3:
    k = at[j]
    v = x[k]
    y[j] = v
"""


def test_integers_choose_the_elements():
    assert pattern(GATHER, at=np.array([2, 0, 0])) == [[0, 0, 1], [1, 0, 0], [1, 0, 0]]


def test_real_numbers_may_choose_any_element():
    source = GATHER.replace("int64[3]", "float64[3]").replace("k = at[j]", "k = at[j]")
    assert pattern(source, at=np.zeros(3)) == [[1, 1, 1]] * 3


def test_assignment_replaces_and_a_sum_adds():
    source = """
        argument x: float64[2]
        argument y: float64[2]
        body
          do:
            v = x[0]
            y[0] = v
          do:
            u = x[1]
            y[0] {} u
    """
    assert pattern(source.format("="))[0] == [0, 1]
    assert pattern(source.format("+="))[0] == [1, 1]


def test_branches_on_integers_are_taken_and_others_joined():
    source = """
        argument x: float64[2]
        argument y: float64[1]
        argument c: {}[1]
        body
          if t > 0 with t = c[0]:
            do:
              v = x[0]
              y[0] = v
          else:
            do:
              u = x[1]
              y[0] = u
    """
    assert pattern(source.format("int64"), c=np.array([1])) == [[1, 0]]
    assert pattern(source.format("int64"), c=np.array([0])) == [[0, 1]]
    assert pattern(source.format("float64"), c=np.array([1.0])) == [[1, 1]]


def test_loops_run():
    """Prefix sums: a lower triangle."""
    assert pattern("""
        argument x: float64[3]
        argument y: float64[3]
        body
          do:
            v = x[0]
            y[0] = v
          loop k = 1 .. 2 step 1:
            do:
              a = y[k - 1]
              b = x[k]
              c = a + b
              y[k] = c
    """) == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


PLACES = np.array([0, 1, 2, 3])


def test_places_outside_of_the_function_are_those_of_each_call():
    """The pattern of the first call had stayed."""
    x = np.arange(1.0, 5.0)
    jacobian = sdgrad.sparse_jacobian(lambda x: x[PLACES] ** 2)
    hessian = sdgrad.sparse_hessian(lambda x: np.sum(x * x[PLACES]))
    for places in ([0, 1, 2, 3], [3, 2, 1, 0], [0, 0, 3, 1]):
        PLACES[:] = places
        rows = np.eye(4)[places]
        np.testing.assert_allclose(jacobian(x).toarray(), 2.0 * x[places][:, None] * rows)
        np.testing.assert_allclose(hessian(x).toarray(), rows + rows.T)
