"""Stencils in leaves: offsets of terms, and sums that are none."""

import pytest
from treetext import program

from sdgrad.optimize.reductions.stencil_recognition import param_of, stencils
from sdgrad.program.turned import turn
from sdgrad.symbolic.expr import sym

I, J, N = map(sym, "ijn")
DECLARATIONS = """
argument x: float64[20, 30]
argument k: int64[20]
argument a: float64[22, 32]
argument s: float64[1]
body
"""
HEAD = "map i=0:20, j=0:30"
STORES = ("a[i, j] += t", "a[i + 1, j] += t", "a[i, j + 2] += t")


def found(stores, head=HEAD, value="x[i, j]"):
    tree = program(
        "\n".join((DECLARATIONS, f"  {head}:", "    n = k[i]", f"    t = {value}", *(f"    {s}" for s in stores)))
    )
    return stencils(tree.body[0], tree)


def test_offsets():
    (group,), rest = found((*STORES, "s[0] += t"))
    assert group.container == "a" and group.position == {"i": 0, "j": 1}
    assert [t.offset for t in group.terms] == [{"i": 0, "j": 0}, {"i": 1, "j": 0}, {"i": 0, "j": 2}]
    assert [str(i) for i in group.terms[0].body] == ["t = x[i, j]"]
    assert group.reach("j") == (0, 2)
    assert [str(s) for s in rest.stores] == ["s[0] += t"]


@pytest.mark.parametrize(
    ("stores", "head", "value"),
    [
        (STORES[:1], HEAD, "x[i, j]"),  # one term
        (STORES, HEAD, "a[i, j]"),  # reads what it changes
        ((*STORES, "a[0, j] = t"), HEAD, "x[i, j]"),  # assigns, too
        ((STORES[0], f"{STORES[1]} if n"), HEAD, "x[i, j]"),  # guarded
        ((STORES[0], "a[n, j] += t"), HEAD, "x[i, j]"),  # data choose the element
        ((STORES[0], "a[j, i] += t"), HEAD, "x[i, j]"),  # transposed
        (("a[i, 0] += t", "a[i, 1] += t"), HEAD, "x[i, j]"),  # reduces j
        (("a[i + j, j] += t", "a[i + j + 1, j] += t"), HEAD, "x[i, j]"),  # two parameters in one dimension
        ((STORES[0], "a[i + n, j] += t"), HEAD, "x[i, j]"),  # no constant offset
        (STORES, "for i=0:20, j=0:30", "x[i, j]"),  # in order
        (STORES, "map i=0:20, j=0:i", "x[i, j]"),  # a triangle
        (STORES, "map i=0:20:2, j=0:30", "x[i, j]"),  # with gaps
        (STORES, "map i=0:20, j=0:5", "x[i, j]"),  # mostly halo
    ],
)
def test_declines(stores, head, value):
    groups, rest = found(stores, head, value)
    assert groups == [] and len(rest.stores) == len(stores)


def test_rings():
    """Steps on a ring are from 0 to its size; a parameter that does not go around it makes none."""
    stores = ("a[i, (j + 3) % 30] += t", "a[i, j] += t", "a[(i + 19) % 20, j] += t")
    (group,), rest = found(stores)
    assert [t.offset for t in group.terms] == [{"i": 0, "j": 3}, {"i": 0, "j": 0}, {"i": 19, "j": 0}]
    assert group.rings == {"i": 20, "j": 30} and group.reach("i") == group.reach("j") == (0, 0)
    assert group.index == (I, J) and not rest.stores
    params = program(DECLARATIONS + f"  {HEAD}:\n    t = x[i, j]\n    a[i, j] = t").body[0].params
    assert group.sources(group.terms[0], params) == {"j": turn(J, -3, 30, params)}
    assert found(stores, "map i=1:20, j=0:30")[0] == []
    assert found(stores, value="x[i, j] + j")[0] == [], "the parameter is a value as well"
    assert len(found(stores[:1])[0]) == 1, "a single term is gathered, too"


def test_parameter_of_an_index():
    assert param_of(I + N - 1, {"i", "j"}) == "i"
    assert param_of(2 * I, {"i", "j"}) is param_of(I + J, {"i", "j"}) is param_of(N, {"i", "j"}) is None
