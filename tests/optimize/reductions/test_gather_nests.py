"""Gather nests as text: the interior, the slabs of the halo, and temporaries for costly values."""

from dataclasses import replace

from treetext import block, program, text

from sdgrad.config import config
from sdgrad.optimize.reductions.scatter_to_gather import gather_neighbours

STENCIL = """
argument x: float64[20]
argument a: float64[21]
body
  map i=0:20:
    t = x[i]
    a[i] += t
    a[i + 1] += t
"""


def test_interior_and_halo():
    assert text(gather_neighbours(program(STENCIL))) == block("""
        map i=1:20:
          t_0 = x[i]
          t_1 = x[i - 1]
          v = t_0 + t_1
          a[i] += v
        map i=0:1:
          t_2 = x[i]
          v_0 = t_2
          a[i] += v_0
        map i=20:21:
          t_3 = x[i - 1]
          v_1 = t_3
          a[i] += v_1
    """)


def test_terms_of_a_thick_slab_are_guarded():
    source = STENCIL.replace("a[i + 1] += t", "a[i + 1] += t\n    a[i + 2] += t").replace("[21]", "[22]")
    with config.override(machine=replace(config.machine, stencil_cuts=1)):
        found = text(gather_neighbours(program(source)))
    assert found == block("""
        map i=2:20:
          t_0 = x[i]
          t_1 = x[i - 1]
          t_2 = x[i - 2]
          v = t_0 + t_1 + t_2
          a[i] += v
        map i=0:2:
          t_3 = x[i]
          v_0 = i >= 1
          t_4 = x[i - 1] if v_0
          v_1 = t_3 + (t_4 if v_0 else 0)
          a[i] += v_1
        map i=20:22:
          v_2 = i <= 20
          t_5 = x[i - 1] if v_2
          t_6 = x[i - 2]
          v_3 = (t_5 if v_2 else 0) + t_6
          a[i] += v_3
    """)


def test_a_costly_value_is_stored_once():
    source = STENCIL.replace("    a[i] +=", "    e = exp(t)\n    u = 2.0 * e\n    a[i] +=")
    source = source.replace("a[i] += t", "a[i] += e").replace("a[i + 1] += t", "a[i + 1] += u")
    assert text(gather_neighbours(program(source))) == block("""
        map i=0:20:
          t = x[i]
          e = exp(t)
          part_a[i] = e
        map i=1:20:
          e_0 = part_a[i]
          e_1 = part_a[i - 1]
          u_0 = 2.0 * e_1
          v = e_0 + u_0
          a[i] += v
        map i=0:1:
          e_2 = part_a[i]
          v_0 = e_2
          a[i] += v_0
        map i=20:21:
          e_3 = part_a[i - 1]
          u_1 = 2.0 * e_3
          v_1 = u_1
          a[i] += v_1
    """)


def test_stencils_in_parallel_maps_stay():
    found = program("""
        argument x: float64[3, 20]
        argument a: float64[3, 21]
        body
          map k=0:3:
            map i=0:20:
              t = x[k, i]
              a[k, i] += t
              a[k, i + 1] += t
    """)
    assert text(gather_neighbours(found)) == text(found)
