"""A loop with a temporary that is private to a trip, as text for ``treetext``."""

DECLARATIONS = """
    argument x: float64[8, 8]
    argument y: float64[8]
    local t: float64[8]
    body
"""
PRIVATE = """
      loop i = 0 .. 7 step 1:
        map j=0:8:
          v = x[i, j]
          t[j] = v
        map j=0:8:
          w = t[j]
          y[i] += w
"""
