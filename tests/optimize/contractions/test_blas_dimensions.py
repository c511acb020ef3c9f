"""Roles of parameters, and the dimensions and strides of a call's operands."""

import pytest
import sympy
from treetext import expression, program

from sdgrad.optimize.contractions.blas_dimensions import (
    Roles,
    are_blas_strides,
    bounding_box,
    is_affine,
    position,
    strides_of,
)
from sdgrad.optimize.contractions.recognition import recognise
from sdgrad.program.tree import Param

NEST = """
    argument A: float64[4, 8, 9]
    argument B: float64[4, 9, 7]
    argument C: float64[4, 8, 7]
    body
      map {params}:
        a = A[n, i, k]
        b = B[n, k, j]
        v = a * b
        C[{result}] += v
"""


def contraction(params="n=0:4, i=0:8, j=0:7, k=0:9", result="n, i, j"):
    return recognise(program(NEST.format(params=params, result=result)).body[0])


def names(lines):
    return [[p.name for p in line] for line in lines]


def param(name, start, stop):
    return Param(name, expression(start), expression(stop), expression("1"))


def test_roles():
    roles = Roles.of(contraction())
    assert names((roles.batch, roles.rows, roles.columns, roles.summed)) == [["n"], ["i"], ["j"], ["k"]]


def test_dimensions_of_a_call():
    dims = Roles.of(contraction()).dimensions()
    assert names(dims.left) == [["n"], ["i"], ["k"]]
    assert names(dims.right) == [["n"], ["k"], ["j"]]
    assert names(dims.result) == [["n"], ["i"], ["j"]]
    assert names(dims.transposed().result) == [["n"], ["j"], ["i"]]


def test_parameters_of_one_role_are_one_dimension():
    roles = Roles.of(contraction(result="0, i, j"))
    assert names(roles.dimensions().summed) == [["n", "k"]]


@pytest.mark.parametrize(
    "params",
    ["n=0:4, i=0:8:2, j=0:7, k=0:9", "n=0:4, i=0:8, j=0:i, k=0:9", "n=0:4, i=0:8, j=0:7, k=0:9, l=0:3"],
    ids=["step", "triangle", "no role"],
)
def test_parameters_without_a_role(params):
    assert Roles.of(contraction(params)) is None


def test_strides():
    containers = program("argument A: float64[4, 8, 9]\nbody").containers
    assert strides_of(containers["A"]) == [72, 9, 1]


@pytest.mark.parametrize("strides", [(72, 9, 1), (72, 1, 9), (9,)], ids=["rows", "columns", "vector"])
def test_strides_for_blas(strides):
    assert are_blas_strides(list(map(sympy.Integer, strides)))


@pytest.mark.parametrize("strides", [(1, 72, 9), (9, -1), (0,)], ids=["no unit stride", "backwards", "one element"])
def test_other_strides(strides):
    assert not are_blas_strides(list(map(sympy.Integer, strides)))


def test_affine_positions():
    params = [param("i", "0", "7"), param("k", "0", "8")]
    assert is_affine(expression("9*i + k + n"), params)
    assert not is_affine(expression("i*k"), params)


def test_bounding_box():
    c = contraction("n=0:4, i=2:8, j=0:7, k=0:9")
    start, box = bounding_box(c.a, c.leaf.params)
    assert (start, str(box)) == ([0, 2, 0], "0:4, 2:8, 0:9")


def test_a_box_of_sums_of_parameters_is_its_first_element():
    slanted = program(
        NEST.replace("A[n, i, k]", "A[n, i + k, 1]").format(params="n=0:4, i=0:4, k=0:4", result="0, i, 0")
    )
    leaf = slanted.body[0]
    start, box = bounding_box(leaf.loads[0], leaf.params)
    assert (start, str(box)) == ([0, 0, 1], "0, 0, 1")


def test_the_position_in_a_dimension_counts_iterations():
    assert position((param("i", "2", "5"), param("k", "0", "8"))) == expression("9*i + k - 18")
