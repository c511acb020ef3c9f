"""Nodes that rules write: calls of the builder in, program out."""

import dace
import sympy
from dace import subsets
from treetext import block, program, text

from sdgrad.autodiff.contexts import TangentContext
from sdgrad.autodiff.rule_builder import Builder, element, extents
from sdgrad.autodiff.shadows import Tangents
from sdgrad.program.names import Names
from sdgrad.program.tree import NodeCall, Program, Region
from sdgrad.symbolic.expr import sym

SOURCE = """
argument A: float64[4, 5]
argument B: float64[5, 6]
argument C: float64[4, 6]
body
"""


def region(name, subset):
    return Region(name, subsets.Range.from_string(subset))


def builder():
    given = program(SOURCE)
    names = Names(given.containers)
    call = NodeCall(dace.nodes.Tasklet("node"), {}, {})
    return Builder(TangentContext(call, (0,), given, Tangents(given, names), names, (), ()))


def shown(build):
    return text(Program("p", {}, {}, {}, tuple(build.nodes)))


def test_dimensions_of_one_element_are_left_out():
    row = region("A", "2, 1:5")
    assert extents(row) == [4]
    assert element(row, [sym("k")]) == (sympy.Integer(2), sym("k") + 1)


def test_elementwise():
    build = builder()
    build.elementwise(region("C", "0, 0:6"), "2 * a", "sum", a=region("B", "1, 0:6"))
    assert shown(build) == block("""
        map i0=0:6:
          a = B[1, i0]
          v = 2 * a
          C[0, i0] += v
    """)


def test_product():
    build = builder()
    build.product(region("A", "0:4, 0:5"), region("B", "0:5, 0:6"), region("C", "0:4, 0:6"))
    assert shown(build) == block("""
        map i0=0:4, i1=0:6, i2=0:5:
          a = A[i0, i2]
          b = B[i2, i1]
          v = a * b
          C[i0, i1] += v (fresh)
    """)


def test_transposed_copy():
    build = builder()
    result = build.transposed(region("A", "0:4, 0:5"), conjugate=False)
    assert str(result) == "transposed_A[0:5, 0:4]"
    assert "transposed_A[i0, i1] = v" in shown(build) and "a = A[i1, i0]" in shown(build)
