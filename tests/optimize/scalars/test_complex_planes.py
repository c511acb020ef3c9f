"""Which complex temporaries are stored as two real arrays."""

from treetext import program

from sdgrad.optimize.scalars.complex_planes import loaded, planes_of, stored
from sdgrad.program.naming import all_names

SOURCE = """
    argument x: complex128[8]
    local t: complex128[8]
    local p: complex128[8]
    local c: complex64[8]
    local v: complex128[2, 4] view of w[0:8]
    local w: complex128[8]
    local r: float64[8]
    body
      map i=0:8:
        a = x[i]
        t[i] = a
        c[i] = a
        p[i] *= a
"""


def test_planes_of_temporaries():
    before = program(SOURCE)
    planes, containers = planes_of(before, all_names(before))
    assert planes == {"c": ("c_re", "c_im"), "t": ("t_re", "t_im")}
    assert [f"{n}: {c.dtype}" for n, c in containers.items() if "_" in n] == [
        "t_re: double",
        "t_im: double",
        "c_re: float",
        "c_im: float",
    ]


def test_arguments_views_and_products_stay_whole():
    before = program(SOURCE)
    _, containers = planes_of(before, all_names(before))
    assert {"x", "v", "w", "p", "r"} <= containers.keys()
    assert containers["p"] is before.containers["p"]


def test_operands_of_control_nodes_stay_whole():
    before = program(
        SOURCE + "      if abs(d) > 1.0 with d = t[0]:\n        do:\n          e = 1.0\n          r[0] = e"
    )
    planes, _ = planes_of(before, all_names(before))
    assert set(planes) == {"c"}


def test_accesses_of_both_parts():
    before = program(SOURCE.replace("a = x[i]", "a = t[i]").replace("t[i] = a", "x[i] = a"))
    names = all_names(before)
    planes, _ = planes_of(before, names)
    (leaf,) = before.body
    assert list(map(str, loaded(leaf.loads[0], planes, names))) == ["a_re = t_re[i]", "a_im = t_im[i]"]
    assert list(map(str, stored(leaf.stores[1], planes, ("u", "v")))) == ["c_re[i] = u", "c_im[i] = v"]
