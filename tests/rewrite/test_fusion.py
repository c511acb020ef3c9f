"""Fusion of leaves, coalescing of maps, and dead store elimination, as text before and after."""

from dataclasses import replace

from treetext import block, program, text

from sdgrad.program.tree import Leaf, NodeCall, Program, Store, whole_region
from sdgrad.rewrite.dead_code import drop_dead
from sdgrad.rewrite.fusion import collapse, depends, fuse, injective_by_position, same_domain
from sdgrad.runtime.libraries.lapack import LapackCall

DECLARATIONS = """
    argument x: float64[8]
    argument w: float64[8]
    argument y: float64[8]
    argument n: int64[8]
    local t: float64[8]
    local k: int64[8]
    body
"""


def fused(source: str) -> str:
    return text(fuse(program(DECLARATIONS + source)))


def unchanged(source: str) -> bool:
    before = program(DECLARATIONS + source)
    return fuse(before).body == before.body


def test_an_intermediate_array_becomes_a_scalar():
    assert fused("""
      map i=0:8:
        u = x[i]
        v = sin(u)
        t[i] = v
      map j=0:8:
        p = t[j]
        q = w[j]
        r = p * q
        y[j] = r
    """) == block("""
        map i=0:8:
          u = x[i]
          v = sin(u)
          q = w[i]
          r = v * q
          y[i] = r
    """)


def test_a_dependence_across_instances_prevents_fusion():
    assert unchanged("""
      map i=0:8:
        u = x[i]
        t[i] = u
      map i=1:8:
        p = t[i - 1]
        y[i] = p
    """)
    assert unchanged("""
      map i=0:8:
        u = x[i]
        t[i] = u
      map i=0:8:
        p = t[7 - i]
        y[i] = p
    """)


def test_a_leaf_moves_past_independent_ones():
    assert fused("""
      map i=0:8:
        u = x[i]
        y[i] = u
      map i=0:4:
        u = 1.0
        w[i] = u
      map i=0:8:
        u = y[i]
        v = 2 * u
        y[i] = v
    """) == block("""
        map i=0:8:
          u = x[i]
          v = 2 * u
          y[i] = v
        map i=0:4:
          u = 1.0
          w[i] = u
    """)


def test_a_value_stored_as_an_integer_is_converted():
    assert fused("""
      map i=0:8:
        u = x[i]
        k[i] = u
      map i=0:8:
        p = k[i]
        y[i] = p
    """) == block("""
        map i=0:8:
          u = x[i]
          u_as_int64 = dace.int64(u)
          y[i] = u_as_int64
    """)


def test_a_guarded_store_over_another_one_is_a_choice():
    assert fused("""
      map i=0:8:
        u = x[i]
        y[i] = u
      map i=0:8:
        v = w[i]
        c = v > 0
        y[i] = v if c
    """) == block("""
        map i=0:8:
          u = x[i]
          v = w[i]
          c = v > 0
          v_or0 = v if c else u
          y[i] = v_or0
    """)


def test_equal_names_of_the_second_leaf_are_renamed():
    assert fused("""
      map i=0:8:
        u = x[i]
        y[i] = u
      map i=0:8:
        u = w[i]
        x[i] = u
    """) == block("""
        map i=0:8:
          u = x[i]
          y[i] = u
          u_m0 = w[i]
          x[i] = u_m0
    """)


def test_accumulations_into_one_element_fuse():
    assert fused("""
      map i=0:8:
        u = x[i]
        y[0] += u
      map i=0:8:
        v = w[i]
        y[0] += v
    """) == block("""
        map i=0:8:
          u = x[i]
          y[0] += u
          v = w[i]
          y[0] += v
    """)


def test_maps_around_a_leaf_are_one_nest():
    (scope,) = program("""
    argument A: float64[4, 5]
    body
      scope i=0:4:
        map j=0:5:
          u = 1.0
          A[i, j] = u
    """).body
    assert [p.name for p in collapse(scope).params] == ["i", "j"]


def test_stores_that_nothing_reads_are_dead():
    before = program(
        DECLARATIONS
        + """
      map i=0:8:
        u = x[i]
        v = sin(u)
        t[i] = v
        y[i] = u
      map i=0:8:
        u = x[i]
        t[i] = u
    """
    )
    assert text(drop_dead(before)) == block("""
        map i=0:8:
          u = x[i]
          y[i] = u
    """)
    assert drop_dead(before, keep=frozenset({"t"})) == before


def test_calls_that_nobody_reads_are_removed():
    """What only they read goes with them, and the loop around them."""
    before = program(
        """
        argument x: float64[4, 4]
        argument y: float64[4]
        local a: float64[4, 4]
        local q: float64[4, 4]
        local r: float64[4, 4]
        local w: float64[4]
        local v: float64[4, 4]
        body
          for k=0:3:
            map i=0:4, j=0:4:
              u = x[i, j]
              a[i, j] = u
          map i=0:4:
            u = w[i]
            y[i] = u
        """
    )
    copy, read = before.body

    def decompose(kind, source, *results):
        made = {f"_{n}": whole_region(n, before.containers[n].shape) for n in results}
        return NodeCall(LapackCall(kind), {"_a": whole_region(source, (4, 4))}, made)

    unread = replace(copy, body=(*copy.body, decompose("qr", "a", "q", "r")))
    kept = decompose("eigh", "x", "w", "v")
    assert drop_dead(replace(before, body=(unread, kept, read))).body == (kept, read)
    unread = replace(unread, body=(*unread.body, decompose("eigh", "q", "w", "v")))
    assert drop_dead(replace(before, body=(unread, read))).body == (unread, read)


def both(source: str) -> tuple[Leaf, Leaf, Program]:
    found = program(DECLARATIONS + source)
    first, second = found.body
    return first, second, found


def test_nodes_that_touch_different_memory_are_independent():
    first, second, found = both("""
      map i=0:8:
        u = x[i]
        t[i] = u
      map i=0:4:
        u = w[i]
        y[i] = u
    """)
    assert not depends(first, second, found)
    assert not same_domain(first, second)


def test_flow_anti_and_output_dependences():
    write, read, found = both("""
      map i=0:8:
        u = x[i]
        t[i] = u
      map j=0:8:
        u = t[j]
        y[j] = u
    """)
    assert depends(write, read, found) and depends(read, write, found) and depends(write, write, found)
    assert same_domain(write, read)


def test_subscripts_with_each_parameter_alone_are_injective():
    (leaf,) = program("""
    argument A: float64[9, 9]
    body
      map i=0:4, j=0:4:
        u = 1.0
        A[i + 1, j] = u
        A[i + j, j] = u
        A[i + j, 0] = u
    """).body
    assert isinstance(leaf, Leaf)
    plain, sheared, flat = (s for s in leaf.body if isinstance(s, Store))
    assert injective_by_position(plain, leaf)
    assert not injective_by_position(sheared, leaf)  # it is injective, but not by position
    assert not injective_by_position(flat, leaf)
