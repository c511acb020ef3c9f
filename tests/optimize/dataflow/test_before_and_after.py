"""Each pass of this folder on a small program, as text: what it rewrites, and a program that it leaves alone."""

import pytest
from treetext import block, program, text

from sdgrad.optimize.dataflow.broadcast_elimination import compute_once
from sdgrad.optimize.dataflow.buffer_sharing import share_memory
from sdgrad.optimize.dataflow.copy_propagation import read_originals
from sdgrad.optimize.dataflow.dead_clears import drop_clears
from sdgrad.optimize.dataflow.destination_forwarding import write_results
from sdgrad.optimize.dataflow.initialization_sinking import fill_late
from sdgrad.optimize.dataflow.reshape_views import view_reshaped

COPY = """
    argument x: float64[8]
    argument z: float64[8]
    local y: float64[8]
    body
      map i=0:8:
        v = x[i]
        y[i] = v
      do:
        one = 1.0
        {changed}[0] = one
      map i=0:8:
        w = y[i]
        z[i] = w
"""


def test_copy_propagation():
    found = read_originals(program(COPY.format(changed="z")))
    assert text(found) == block("""
        map i=0:8:
          v = x[i]
          y[i] = v
        do:
          one = 1.0
          z[0] = one
        map i=0:8:
          w = x[i]
          z[i] = w
    """)


def test_a_copy_is_read_if_its_original_changes():
    before = program(COPY.format(changed="x"))
    assert read_originals(before).body == before.body


def test_an_assignment_of_an_element_to_itself_is_dropped():
    before = program("""
        argument x: float64[8]
        body
          map i=0:8:
            v = x[i]
            x[i] = v
    """)
    assert read_originals(before).body == ()


CLEAR = """
    argument x: float64[8]
    local y: float64[8]
    body
      map i=0:8:
        u = x[i]
        y[i] = u
      loop t = 0 .. 6 step 1:
        do:
          g = y[t]
          zero = 0.0
          y[{cleared}] = zero
          x[t] = g
"""


@pytest.mark.parametrize("cleared", ["t", "t - 1"])
def test_a_clear_without_a_later_read_is_removed(cleared):
    assert text(drop_clears(program(CLEAR.format(cleared=cleared)))) == block("""
        map i=0:8:
          u = x[i]
          y[i] = u
        loop t = 0 .. 6 step 1:
          do:
            g = y[t]
            x[t] = g
    """)


def test_a_clear_that_the_next_iteration_reads_is_kept():
    before = program(CLEAR.format(cleared="t + 1"))
    assert drop_clears(before) is before


SCATTER = """
    argument g: float64[8, 3]
    argument v: float64[5, 3]
    argument idx: int64[5]
    local t: float64[8, 3]
    body
      map i=0:8, j=0:3:
        zero = 0.0
        t[i, j] = zero
      map k=0:5, j=0:3:
        row = idx[k]
        u = v[k, j]
        t[row, j] {mode} u
      map i=0:8, j=0:3:
        w = t[i, j]
        g[i, j] += w
"""


def test_destination_forwarding():
    assert text(write_results(program(SCATTER.format(mode="+=")))) == block("""
        map k=0:5, j=0:3:
          row = idx[k]
          u = v[k, j]
          g[row, j] += u
    """)


def test_what_is_assigned_is_not_added_to_the_destination():
    before = program(SCATTER.format(mode="="))
    assert write_results(before).body == before.body


ROWS = """
    argument x: float64[1024]
    argument A: float64[1024, 1024]
    body
      map i=0:1024, j=0:1024:
        zero = 0.0
        A[i, j] = zero
      loop t = 0 .. {last} step 1:
        map j=0:t:
          v = x[j]
          A[t, j] += v
"""


def test_initialization_sinking():
    assert text(fill_late(program(ROWS.format(last=1023)))) == block("""
        loop t = 0 .. 1023 step 1:
          map j=t:1024:
            zero = 0.0
            A[t, j] = zero
          map j=0:t:
            v = x[j]
            A[t, j] = v
    """)


def test_an_initialization_of_rows_without_an_iteration_stays():
    before = program(ROWS.format(last=1022))
    assert fill_late(before).body == before.body


RESHAPED = """
    argument x: float64[6]
    argument y: float64[6]
    local p: float64[2, 3]
    local q: float64[6] view of p[0:2, 0:3]
    body
      map i=0:2, j=0:3:
        v = {read}[3*i + j]
        p[i, j] = v
      map i=0:6:
        w = q[i]
        y[i] = w
"""


def test_reshape_views():
    found = view_reshaped(program(RESHAPED.format(read="x")))
    assert str(found.containers["p"]) == "local p: float64[2, 3] view of y[0:6]"
    assert str(found.containers["q"]) == "local q: float64[6] view of y[0:6]"
    assert text(found) == block("""
        map i=0:2, j=0:3:
          v = x[3*i + j]
          p[i, j] = v
    """)


def test_a_target_that_is_read_meanwhile_is_no_view():
    before = program(RESHAPED.format(read="y"))
    assert view_reshaped(before) is before


STAGES = """
    argument x: float64[8192]
    argument y: float64[8192]
    local a: float64[8192]
    local b: float64[64, 128]
    local c: float64[8192]
    body
      map i=0:8192:
        v = x[i]
        a[i] = v
      map i=0:8192:
        v = a[i]
        y[i] = v
      map i=0:64, j=0:128:
        v = x[128*i + j]
        b[i, j] = v
      map i=0:64, j=0:128:
        v = b[i, j]
        y[128*i + j] = v
      map i=0:8192:
        v = x[i]
        c[i] = v
      map i=0:8192:
        v = {read}[i]
        w = c[i]
        s = v + w
        y[i] = s
"""


def locals_of(found) -> list[str]:
    return [str(c) for c in found.containers.values() if c.transient]


def test_buffer_sharing():
    found = share_memory(program(STAGES.format(read="x")))
    assert locals_of(found) == ["local a: float64[8192]", "local b: float64[64, 128] view of a[0:8192]"]
    assert text(found).endswith(
        block("""
        map i=0:8192:
          v = x[i]
          a[i] = v
        map i=0:8192:
          v = x[i]
          w = a[i]
          s = v + w
          y[i] = s
    """)
    )


def test_buffers_that_are_live_together_are_apart():
    found = share_memory(program(STAGES.format(read="a")))
    assert locals_of(found) == [
        "local a: float64[8192]",
        "local b: float64[64, 128]",
        "local c: float64[8192] view of b[0:64, 0:128]",
    ]


def test_broadcast_elimination_splits_a_product():
    before = program("""
        argument A: float64[8, 5]
        argument u: float64[5]
        argument C: float64[8, 9]
        body
          map i=0:8, j=0:9, k=0:5:
            a = A[i, k]
            b = u[k]
            p = a * b
            C[i, j] += p
    """)
    found = compute_once(before)
    assert str(found.containers["C_once"]) == "local C_once: float64[8]"
    assert text(found) == block("""
        map i=0:8, k=0:5:
          a = A[i, k]
          b = u[k]
          v = a * b
          C_once[i] += v (fresh)
        map i=0:8, j=0:9:
          v_0 = C_once[i]
          C[i, j] += v_0
    """)


UNIFORM = """
    argument g: float64[1]
    argument y: float64[8]
    local D: float64[8, 8]
    body
      map i=0:8, j=0:8:
        a = g[0]
        D[i, j] = a
      do:
        one = 1.0
        {changed}[0{rest}] = one
      map i=0:8:
        b = D[i, 3]
        y[i] = b
"""


def test_broadcast_elimination_reads_the_original():
    found = compute_once(program(UNIFORM.format(changed="y", rest="")))
    assert text(found).endswith(
        block("""
        map i=0:8:
          b = g[0]
          y[i] = b
    """)
    )


def test_a_broadcast_is_read_if_its_original_changes():
    before = program(UNIFORM.format(changed="g", rest=""))
    assert text(compute_once(before)) == text(before)
