"""Nested graphs: symbols renamed, shapes and strides that differ inside, arguments read and written.

The array behind a connector has the descriptor of the outside container. Where it is to have
another shape or other strides inside, a view stands between.
"""

import dace
import numpy as np
from dace import Memlet

from .._base import signed
from ._base import doubles, raw, temporaries


def _elementwise(name, source, target, size, code, index="i", target_index="i"):
    """A graph with one map from ``source`` to ``target``, both one-dimensional."""
    inner = dace.SDFG(name)
    doubles(inner, **{source: [size], target: [size]})
    inner.add_state().add_mapped_tasklet(
        "inside",
        {"i": f"0:{size}"},
        {"x": Memlet(f"{source}[{index}]")},
        code,
        {"y": Memlet(f"{target}[{target_index}]")},
        external_edges=True,
    )
    return inner


def _viewed(sdfg, state, node, views):
    """Joins connectors of ``node`` to parts of arrays through views, written ``connector: (part, reads)``."""
    for connector, (part, reads) in views.items():
        inside = node.sdfg.arrays[connector]
        replacements = {str(k): v for k, v in node.symbol_mapping.items()}
        shape = [replacements.get(str(size), size) for size in inside.shape]
        name, _ = sdfg.add_view(f"view_{connector}", shape, inside.dtype, strides=inside.strides, find_new_name=True)
        view = state.add_access(name)
        whole = Memlet.from_array(name, sdfg.arrays[name])
        array = state.add_access(part.partition("[")[0])
        if reads:
            state.add_edge(array, None, view, "views", Memlet(part))
            state.add_edge(view, None, node, connector, whole)
        else:
            state.add_edge(node, connector, view, None, whole)
            state.add_edge(view, "views", array, None, Memlet(part))


def _shifted(v):
    b = np.array(v["B"])
    b[:-1] = v["A"][1:] ** 2
    return {"B": b}


@raw(
    lambda rng: {"A": signed(rng, 7), "B": signed(rng, 7), "N": 7},
    "A B",
    "B",
    _shifted,
    "nested-sdfg symbol-mapping",
)
def symbol_mapping_and_smaller_shape(sdfg):
    doubles(sdfg, A=["N"], B=["N"])
    inner = _elementwise("inner", "src", "dst", "n", "y = x * x")
    state = sdfg.add_state()
    node = state.add_nested_sdfg(inner, {"src"}, {"dst"}, {"n": "N - 1"})
    _viewed(sdfg, state, node, {"src": ("A[1:N]", True), "dst": ("B[0:N - 1]", False)})


def _column(v):
    b = np.array(v["B"])
    b[:, 1] = np.sin(v["A"][:, 2])
    return {"B": b}


@raw(
    lambda rng: {"A": signed(rng, (4, 3)), "B": signed(rng, (4, 5))},
    "A B",
    "B",
    _column,
    "nested-sdfg strides",
)
def strided_columns(sdfg):
    doubles(sdfg, A=[4, 3], B=[4, 5])
    inner = dace.SDFG("inner")
    inner.add_array("src", [4], dace.float64, strides=[3])
    inner.add_array("dst", [4], dace.float64, strides=[5])
    inner.add_state().add_mapped_tasklet(
        "inside",
        {"i": "0:4"},
        {"x": Memlet("src[i]")},
        "y = sin(x)",
        {"y": Memlet("dst[i]")},
        external_edges=True,
    )
    state = sdfg.add_state()
    node = state.add_nested_sdfg(inner, {"src"}, {"dst"})
    _viewed(sdfg, state, node, {"src": ("A[0:4, 2]", True), "dst": ("B[0:4, 1]", False)})


@raw(
    lambda rng: {"A": signed(rng, (3, 4)), "B": np.zeros(12)},
    "A",
    "B",
    lambda v: {"B": v["A"].reshape(12) ** 2},
    "nested-sdfg reshape",
)
def flattened_inside(sdfg):
    doubles(sdfg, A=[3, 4], B=[12])
    inner = _elementwise("inner", "src", "dst", 12, "y = x * x")
    state = sdfg.add_state()
    node = state.add_nested_sdfg(inner, {"src"}, {"dst"})
    _viewed(sdfg, state, node, {"src": ("A[0:3, 0:4]", True), "dst": ("B[0:12]", False)})


@raw(
    lambda rng: {"A": signed(rng, 5)},
    "A",
    "A",
    lambda v: {"A": v["A"] * np.sin(v["A"])},
    "nested-sdfg inplace",
)
def read_and_written_argument(sdfg):
    doubles(sdfg, A=[5])
    inner = dace.SDFG("inner")
    doubles(inner, a=[5])
    inner.add_state().add_mapped_tasklet(
        "inside",
        {"i": "0:5"},
        {"x": Memlet("a[i]")},
        "y = x * sin(x)",
        {"y": Memlet("a[i]")},
        external_edges=True,
    )
    state = sdfg.add_state()
    node = state.add_nested_sdfg(inner, {"a"}, {"a"})
    state.add_edge(state.add_read("A"), None, node, "a", Memlet("A[0:5]"))
    state.add_edge(node, "a", state.add_write("A"), None, Memlet("A[0:5]"))


@raw(
    lambda rng: {"A": signed(rng, (3, 4)), "B": np.zeros((3, 4))},
    "A",
    "B",
    lambda v: {"B": v["A"] * v["A"] * (np.arange(3) + 1.0)[:, None]},
    "nested-sdfg map symbol-mapping",
)
def inside_a_map(sdfg):
    doubles(sdfg, A=[3, 4], B=[3, 4])
    inner = dace.SDFG("inner")
    doubles(inner, src=[3, 4], dst=[3, 4])
    inner.add_symbol("row", dace.int64)
    inner.add_state().add_mapped_tasklet(
        "inside",
        {"j": "0:4"},
        {"x": Memlet("src[row, j]")},
        "y = x * x * (row + 1)",
        {"y": Memlet("dst[row, j]")},
        external_edges=True,
    )
    state = sdfg.add_state()
    entry, leave = state.add_map("rows", {"i": "0:3"})
    node = state.add_nested_sdfg(inner, {"src"}, {"dst"}, {"row": "i"})
    state.add_memlet_path(state.add_read("A"), entry, node, dst_conn="src", memlet=Memlet("A[i, 0:4]"))
    state.add_memlet_path(node, leave, state.add_write("B"), src_conn="dst", memlet=Memlet("B[i, 0:4]"))


# DaCe's simplify inlines the inner graph, whose map parameter i then hides the outer one: wrong values.
@raw(
    lambda rng: {"A": signed(rng, (3, 4)), "B": np.zeros((3, 4))},
    "A",
    "B",
    lambda v: {"B": np.sin(v["A"])},
    "nested-sdfg map view dace-simplify-fails",
)
def inside_a_map_through_views(sdfg):
    doubles(sdfg, A=[3, 4], B=[3, 4])
    sdfg.add_view("row", [4], dace.float64)
    sdfg.add_view("target", [4], dace.float64)
    inner = _elementwise("inner", "src", "dst", 4, "y = sin(x)")
    state = sdfg.add_state()
    row, target = state.add_access("row"), state.add_access("target")
    entry, leave = state.add_map("rows", {"i": "0:3"})
    node = state.add_nested_sdfg(inner, {"src"}, {"dst"})
    state.add_memlet_path(state.add_read("A"), entry, row, dst_conn="views", memlet=Memlet("A[i, 0:4]"))
    state.add_edge(row, None, node, "src", Memlet("row[0:4]"))
    state.add_edge(node, "dst", target, None, Memlet("target[0:4]"))
    state.add_memlet_path(target, leave, state.add_write("B"), src_conn="views", memlet=Memlet("B[i, 0:4]"))


def _one_number(v):
    a = v["A"]
    return {"B": np.where(a > 0, a * a, np.exp(a))}


@raw(
    lambda rng: {"A": signed(rng, 7), "B": np.zeros(7)},
    "A",
    "B",
    _one_number,
    "nested-sdfg map control",
)
def branch_per_element(sdfg):
    doubles(sdfg, A=[7], B=[7])
    inner = dace.SDFG("inner")
    doubles(inner, a=[7], b=[7])
    inner.add_symbol("k", dace.int64)
    start = inner.add_state()
    yes, no = inner.add_state("yes"), inner.add_state("no")
    end = inner.add_state("end")
    inner.add_edge(start, yes, dace.InterstateEdge("a[k] > 0"))
    inner.add_edge(start, no, dace.InterstateEdge("not (a[k] > 0)"))
    inner.add_edge(yes, end, dace.InterstateEdge())
    inner.add_edge(no, end, dace.InterstateEdge())
    for state, code in ((yes, "y = x * x"), (no, "y = exp(x)")):
        t = state.add_tasklet("t", {"x"}, {"y"}, code)
        state.add_edge(state.add_read("a"), None, t, "x", Memlet("a[k]"))
        state.add_edge(t, "y", state.add_write("b"), None, Memlet("b[k]"))
    state = sdfg.add_state()
    entry, leave = state.add_map("elements", {"i": "0:7"})
    node = state.add_nested_sdfg(inner, {"a"}, {"b"}, {"k": "i"})
    state.add_memlet_path(state.add_read("A"), entry, node, dst_conn="a", memlet=Memlet("A[i]"))
    state.add_memlet_path(node, leave, state.add_write("B"), src_conn="b", memlet=Memlet("B[i]"))


@raw(
    lambda rng: {"A": signed(rng, 6), "B": signed(rng, 6)},
    "A B",
    "B",
    lambda v: {"B": v["B"] + np.sin(v["A"] ** 2) * v["A"] ** 2},
    "nested-sdfg two-levels transient",
)
def two_levels(sdfg):
    doubles(sdfg, A=[6], B=[6])
    innermost = _elementwise("innermost", "u", "v", "m", "y = sin(x) * x")
    middle = dace.SDFG("middle")
    doubles(middle, p=["n"], q=["n"])
    temporaries(middle, t=["n"], w=["n"])
    first = middle.add_state()
    first.add_mapped_tasklet(
        "square", {"i": "0:n"}, {"x": Memlet("p[i]")}, "y = x * x", {"y": Memlet("t[i]")}, external_edges=True
    )
    second = middle.add_state_after(first)
    deep = second.add_nested_sdfg(innermost, {"u"}, {"v"}, {"m": "n"})
    second.add_edge(second.add_read("t"), None, deep, "u", Memlet("t[0:n]"))
    second.add_edge(deep, "v", second.add_write("w"), None, Memlet("w[0:n]"))
    third = middle.add_state_after(second)
    third.add_mapped_tasklet(
        "add",
        {"i": "0:n"},
        {"x": Memlet("w[i]"), "z": Memlet("q[i]")},
        "y = x + z",
        {"y": Memlet("q[i]")},
        external_edges=True,
    )
    state = sdfg.add_state()
    node = state.add_nested_sdfg(middle, {"p", "q"}, {"q"}, {"n": 6})
    state.add_edge(state.add_read("A"), None, node, "p", Memlet("A[0:6]"))
    state.add_edge(state.add_read("B"), None, node, "q", Memlet("B[0:6]"))
    state.add_edge(node, "q", state.add_write("B"), None, Memlet("B[0:6]"))


def _twice(v):
    t = v["A"] ** 2
    return {"B": t**2}


@raw(lambda rng: {"A": signed(rng, 5), "B": np.zeros(5)}, "A", "B", _twice, "nested-sdfg repeated transient")
def same_graph_twice(sdfg):
    doubles(sdfg, A=[5], B=[5])
    temporaries(sdfg, t=[5])
    state = sdfg.add_state()
    t = state.add_access("t")
    one = state.add_nested_sdfg(_elementwise("one", "src", "dst", 5, "y = x * x"), {"src"}, {"dst"})
    two = state.add_nested_sdfg(_elementwise("two", "src", "dst", 5, "y = x * x"), {"src"}, {"dst"})
    state.add_edge(state.add_read("A"), None, one, "src", Memlet("A[0:5]"))
    state.add_edge(one, "dst", t, None, Memlet("t[0:5]"))
    state.add_edge(t, None, two, "src", Memlet("t[0:5]"))
    state.add_edge(two, "dst", state.add_write("B"), None, Memlet("B[0:5]"))
