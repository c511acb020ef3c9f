"""Orders of accumulations, as text: which loop nests sums become, and what stays parallel."""

import pytest
from treetext import block, program, text

from sdgrad.optimize.reductions.schedule import schedule_accumulations

ROWS = """
argument x: float64[8, 5]
argument y: float64[8]
body
  map i=0:8, j=0:5:
    t = x[i, j]
    y[i] += t
"""
ROWS_REDUCED = """
map i=0:8:
  local acc_y: float64[1]
  do:
    v = 0
    acc_y[0] = v
  for j=0:5:
    t = x[i, j]
    acc_y[0] += t
  do:
    v_0 = acc_y[0]
    y[i] += v_0
"""

COLUMNS = """
argument x: float64[8, 5]
argument y: float64[5]
body
  map i=0:8, j=0:5:
    t = x[i, j]
    y[j] += t (fresh)
"""
COLUMNS_BY_ROWS = """
map j=0:5:
  v = 0
  y[j] = v
for i=0:8, j=0:5:
  t = x[i, j]
  y[j] += t
"""

SHORT_ROWS = """
argument x: float64[3, 8, 4]
argument y: float64[3, 4]
body
  map i=0:3, j=0:4, k=0:8:
    t = x[i, k, j]
    y[i, j] += t (fresh)
"""
SHORT_ROWS_IN_REGISTERS = """
map i=0:3:
  local row_y: float64[4]
  map j=0:4:
    v_0 = 0
    row_y[j] = v_0
  for k=0:8, j=0:4:
    t = x[i, k, j]
    row_y[j] += t
  map j=0:4:
    v = row_y[j]
    y[i, j] = v
"""

HALF_PRECISION = """
argument x: float16[8, 5]
argument y: float16[5]
body
  map i=0:8, j=0:5:
    t = x[i, j]
    y[j] += t
"""
IN_SINGLE_PRECISION = """
map j=0:5:
  local acc_y: float32[1]
  do:
    v = 0
    acc_y[0] = v
  for i=0:8:
    t = x[i, j]
    acc_y[0] += t
  do:
    v_0 = acc_y[0]
    y[j] += v_0
"""

ROWS_AND_COLUMNS = """
argument x: float64[8, 8]
argument a: float64[8]
argument b: float64[8]
body
  map i=0:8, j=0:8:
    t = x[i, j]
    u = sin(t)
    v = cos(u)
    w = exp(v)
    a[i] += w
    b[j] += w
"""
JOINTLY = """
for i=0:8:
  local acc_a: float64[1]
  do:
    v_0 = 0
    acc_a[0] = v_0
  map j=0:8:
    t = x[i, j]
    u = sin(t)
    v = cos(u)
    w = exp(v)
    acc_a[0] += w
    b[j] += w
  do:
    v_1 = acc_a[0]
    a[i] += v_1
"""

NEIGHBOURS = """
argument x: float64[8]
argument y: float64[10]
body
  map i=0:8:
    t = x[i]
    y[i] += t
    y[i + 1] += t
"""
DISTRIBUTED = """
map i=0:8:
  t = x[i]
  y[i] += t
map i=0:8:
  t = x[i]
  y[i + 1] += t
"""

FRESH_ELEMENTS = """
argument x: float64[8]
argument y: float64[8]
body
  map i=0:8:
    t = x[i]
    y[i] += t (fresh)
"""
ASSIGNED = """
map i=0:8:
  t = x[i]
  y[i] = t
"""

ASSIGNED_AGAIN_AND_AGAIN = """
argument x: float64[8, 5]
argument y: float64[8]
body
  map i=0:8, j=0:5:
    t = x[i, j]
    y[i] = t
"""
LAST_ONE_COUNTS = """
for i=0:8, j=0:5:
  t = x[i, j]
  y[i] = t
"""

SCATTER = """
argument x: float64[8]
argument k: int64[8]
argument y: float64[5]
body
  map i=0:8:
    n = k[i]
    t = x[i]
    y[n] += t
"""
IN_ORDER = """
for i=0:8:
  n = k[i]
  t = x[i]
  y[n] += t
"""

SHARED_BY_A_MAP = """
argument x: float64[8, 4]
argument y: float64[4]
body
  map i=0:8:
    map j=0:4:
      t = x[i, j]
      y[j] += t
    map j=0:4:
      u = x[i, j]
      x[i, j] += u
"""
MAP_IN_ORDER = """
for i=0:8:
  map j=0:4:
    t = x[i, j]
    y[j] += t
  map j=0:4:
    u = x[i, j]
    x[i, j] += u
"""


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (ROWS, ROWS_REDUCED),
        (COLUMNS, COLUMNS_BY_ROWS),
        (SHORT_ROWS, SHORT_ROWS_IN_REGISTERS),
        (HALF_PRECISION, IN_SINGLE_PRECISION),
        (ROWS_AND_COLUMNS, JOINTLY),
        (NEIGHBOURS, DISTRIBUTED),
        (FRESH_ELEMENTS, ASSIGNED),
        (ASSIGNED_AGAIN_AND_AGAIN, LAST_ONE_COUNTS),
        (SCATTER, IN_ORDER),
        (SHARED_BY_A_MAP, MAP_IN_ORDER),
    ],
)
def test_orders(source, expected):
    assert text(schedule_accumulations(program(source))) == block(expected)


def test_unchanged_without_conflicts():
    found = program("""
        argument x: float64[8, 4]
        argument y: float64[8]
        body
          map i=0:8:
            map j=0:4:
              t = x[i, j]
              x[i, j] += t
            do:
              u = x[i, 0]
              y[i] = u
    """)
    assert text(schedule_accumulations(found)) == text(found)
