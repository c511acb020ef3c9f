"""Small programs before and after a rewrite, as text: initializations and linear systems."""

from dataclasses import replace

import dace
from dace.libraries.linalg import Solve
from treetext import block, program, text

import sdgrad.backward_impls  # noqa: F401 (registers the rule of Solve)
from sdgrad.program.naming import all_names
from sdgrad.program.tree import NodeCall, whole_region
from sdgrad.rewrite.reduction_init import start_fresh
from sdgrad.rewrite.solve_factorization import factor_first

DECLARATIONS = """
    argument x: float64[8, 5]
    argument y: float64[8]
    local t: float64[8]
    body
      map i=0:8:
        zero = 0
        t[i] = zero
"""


def started(source: str) -> str:
    return text(start_fresh(program(DECLARATIONS + source)))


def unchanged(source: str) -> bool:
    before = program(DECLARATIONS + source)
    return start_fresh(before).body == before.body


def test_a_zero_before_a_sum_makes_it_fresh():
    assert started("""
      map i=0:8, j=0:5:
        u = x[i, j]
        t[i] += u
    """) == block("""
        map i=0:8, j=0:5:
          u = x[i, j]
          t[i] += u (fresh)
    """)


def test_a_sum_of_one_term_is_an_assignment():
    assert started("""
      loop i = 0 .. 7 step 1:
        do:
          u = x[i, 0]
          t[i] += u
    """) == block("""
        loop i = 0 .. 7 step 1:
          do:
            u = x[i, 0]
            t[i] = u
    """)


def test_a_sum_that_misses_elements_keeps_the_zero():
    assert unchanged("""
      map i=0:7, j=0:5:
        u = x[i, j]
        t[i] += u
      map i=0:8:
        u = t[i]
        y[i] = u
    """)


def test_elements_that_nothing_uses_need_no_zero():
    assert started("""
      map i=0:7, j=0:5:
        u = x[i, j]
        t[i] += u
      map i=0:7:
        u = t[i]
        y[i] = u
    """).startswith(
        block("""
        map i=0:7, j=0:5:
          u = x[i, j]
          t[i] += u (fresh)
    """)
    )


def test_a_product_does_not_start_from_zero():
    assert unchanged("""
      map i=0:8, j=0:5:
        u = x[i, j]
        t[i] *= u
    """)


def test_a_read_in_between_keeps_the_zero():
    assert unchanged("""
      map i=0:8:
        u = t[i]
        y[i] = u
      map i=0:8, j=0:5:
        u = x[i, j]
        t[i] += u
    """)


def system(dtype: str):
    found = program(f"""
    argument A: {dtype}[4, 4]
    argument b: {dtype}[4]
    argument x: {dtype}[4]
    body
    """)
    a, b, x = (whole_region(n, found.containers[n].shape) for n in ("A", "b", "x"))
    return replace(found, body=(NodeCall(Solve("solve"), {"_ain": a, "_bin": b}, {"_bout": x}),))


def test_a_linear_system_is_a_factorization_and_a_solution():
    before = system("float64")
    after = factor_first(before, all_names(before))
    assert text(after) == block("""
        call Factorization(_a=A[0:4, 0:4]) -> _f=factors[0:4, 0:4], _p=interchanges[0:4]
        call FactoredSolve(_f=factors[0:4, 0:4], _p=interchanges[0:4], _b=b[0:4]) -> _x=x[0:4]
    """)
    assert str(after.containers["factors"]) == "local factors: float64[4, 4]"
    assert after.containers["interchanges"].dtype == dace.int32


def test_a_system_of_integers_stays():
    before = system("int64")
    assert factor_first(before, all_names(before)) is before
