"""Tangents of leaves: program in, program with tangents out."""

from treetext import block, program, text

from sdgrad.autodiff.differentiate import push_tangents
from sdgrad.autodiff.request import Request


def tangent(source, inputs=("x",)):
    return text(push_tangents(program(source), Request(inputs, ("y",))))


def test_each_value_is_followed_by_its_tangent():
    assert tangent("""
        argument x: float64[8]
        argument y: float64[8]
        body
          map i=0:8:
            v = x[i]
            w = sin(v)
            y[i] = w
    """) == block("""
        map i=0:8:
          v = x[i]
          d_v = tangent_x[i]
          w = sin(v)
          d_w = cos(v) * d_v
          y[i] = w
          tangent_y[i] = d_w
    """)


def test_terms_of_a_product_that_is_summed_have_leaves_of_their_own():
    """So each remains a product of matrices."""
    found = tangent(
        """
        argument A: float64[4, 5]
        argument B: float64[5, 6]
        argument y: float64[4, 6]
        body
          map i=0:4, j=0:6, k=0:5:
            a = A[i, k]
            b = B[k, j]
            c = a * b
            y[i, j] += c
        """,
        inputs=("A", "B"),
    )
    assert (
        block("""
        map i=0:4, j=0:6, k=0:5:
          d_a = tangent_A[i, k]
          b = B[k, j]
          d_c_part = b * d_a
          tangent_y[i, j] += d_c_part
        map i=0:4, j=0:6, k=0:5:
          a = A[i, k]
          d_b = tangent_B[k, j]
          d_c_part_0 = a * d_b
          tangent_y[i, j] += d_c_part_0
    """)
        in found
    )


def test_products_run_in_order():
    found = tangent("""
        argument x: float64[8]
        argument y: float64[1]
        body
          map i=0:8:
            v = x[i]
            y[0] *= v (fresh)
    """)
    assert found.endswith(
        block("""
        loop i = 0 .. 7 step 1:
          do:
            v = x[i]
            d_v = tangent_x[i]
            before = y[0]
            d_before = tangent_y[0]
            updated = before * v
            d_updated = d_before * v + before * d_v
            y[0] = updated
            tangent_y[0] = d_updated
    """)
    )


def test_overwritten_tangent_is_cleared():
    found = tangent("""
        argument x: float64[8]
        argument y: float64[8]
        body
          map i=0:8:
            v = x[i]
            y[i] = v
          map j=0:4:
            one = 1.0
            y[j] = one
    """)
    assert found.endswith("map j=0:4:\n  one = 1.0\n  y[j] = one\n  v_0 = 0\n  tangent_y[j] = v_0")
