"""Offloading: what becomes a kernel, what stays on the host, and what is copied, as text."""

from dataclasses import replace

import dace
import pytest
from treetext import block, program, text

from sdgrad.config import config
from sdgrad.optimize.gpu.kernels import DEVICE, HOST, KERNEL, run_on_device
from sdgrad.program.naming import all_names
from sdgrad.program.tree import walk


def offloaded(source, resident=True, symbols=""):
    given = program(source, symbols=symbols)
    return run_on_device(given, all_names(given), resident)


def kernels(found):
    return [n for n in walk(found.body) if getattr(n, "schedule", None) == KERNEL]


DOUBLED = """
    argument x: float64[8]
    argument y: float64[8]
    body
      map i=0:8:
        v = x[i]
        w = 2.0 * v
        y[i] = w
"""


def test_arguments_on_the_host_are_copied():
    found = offloaded(DOUBLED, resident=False)
    heads = [line for line in text(found).splitlines() if "[" in line]
    assert [h.strip() for h in heads] == [
        *("v_0 = x[i0]", "there_x[i0] = v_0"),
        *("v = there_x[i]", "there_y[i] = w"),
        *("v_1 = there_y[i0_0]", "y[i0_0] = v_1"),
    ]
    assert found.containers["there_x"].desc.storage == DEVICE
    assert found.containers["x"].desc.storage == dace.StorageType.Default


def test_resident_arguments_are_used_where_they_are():
    found = offloaded(DOUBLED)
    assert text(found) == text(program(DOUBLED)) and found.body == tuple(kernels(found))
    assert all(found.containers[n].desc.storage == DEVICE for n in "xy")


def test_sequential_nests_have_one_thread():
    found = offloaded(DOUBLED.replace("map i", "for i"))
    assert text(found).startswith("map thread=0:1:\n  for i=0:8:") and len(kernels(found)) == 1


def test_dependent_ranges_are_loops_in_a_thread():
    source = """
        argument A: float64[8, 8]
        body
          map i=0:8, j=0:i:
            x = 1.0
            A[i, j] = x
    """
    assert text(offloaded(source)).splitlines()[:2] == ["map i=0:8:", "  map j=0:i:"]


def test_conditions_are_fetched():
    source = """
        argument c: float64[1]
        argument y: float64[8]
        body
          if a > 0 with a = c[0]:
            map i=0:8:
              x = 1.0
              y[i] = x
    """
    found = offloaded(source)
    assert text(found) == block("""
        do:
          v = c[0]
          here_c[0] = v
        if a > 0 with a = here_c[0]:
          map i=0:8:
            x = 1.0
            y[i] = x
    """)
    assert found.containers["here_c"].desc.storage == HOST


def test_loops_fetch_their_conditions_in_each_iteration():
    source = """
        argument c: float64[1]
        body
          loop k = 0 ... step 1 while a > 0 with a = c[0]:
            do:
              u = c[0]
              w = u - 1.0
              c[0] = w
    """
    lines = text(offloaded(source)).splitlines()
    assert [line for line in lines if "here_c[0] =" in line] == ["  here_c[0] = v", "    here_c[0] = v"]


ROWS = """
    argument x: float64[8]
    body
      scope i=0:8:
        local row: float64[{size}]
        map j=0:{size}:
          v = x[i]
          row[j] = v
        map j=0:{size}:
          w = row[j]
          x[i] = w
"""


@pytest.fixture
def small_registers(monkeypatch):
    monkeypatch.setattr(config, "machine", replace(config.machine, gpu_local_elements=16))


def test_a_scope_with_small_locals_is_one_kernel(small_registers):
    found = offloaded(ROWS.format(size=16))
    assert len(kernels(found)) == 1 and text(found).startswith("map i=0:8:\n  local row: float64[16]")


def test_a_scope_with_large_locals_is_a_loop_around_kernels(small_registers):
    found = offloaded(ROWS.format(size=17))
    assert text(found).startswith("loop i = 0 .. 7 step 1:\n  map j=0:17:") and len(kernels(found)) == 2
    assert found.containers["row"].desc.storage == DEVICE
