"""Map scopes: nested with transients between them, dynamic ranges, steps, tiles, scalars."""

import dace
import numpy as np
from dace import Memlet

from .._base import signed
from ._base import doubles, raw, temporaries


@raw(
    lambda rng: {"A": signed(rng, (3, 5)), "B": np.zeros((3, 5)), "N": 3, "M": 5},
    "A",
    "B",
    lambda v: {"B": np.exp(v["A"]) * v["A"]},
    "map symbol",
)
def symbolic_sizes(sdfg):
    doubles(sdfg, A=["N", "M"], B=["N", "M"])
    sdfg.add_state().add_mapped_tasklet(
        "compute",
        {"i": "0:N", "j": "0:M"},
        {"x": Memlet("A[i, j]")},
        "y = exp(x) * x",
        {"y": Memlet("B[i, j]")},
        external_edges=True,
    )


def _between_maps(v):
    t = np.sin(v["x"]) * v["x"]
    return {"B": v["A"] * t[:, None] + t[:, None] ** 2}


@raw(
    lambda rng: {"A": signed(rng, (4, 5)), "x": signed(rng, 4), "B": np.zeros((4, 5))},
    "A x",
    "B",
    _between_maps,
    "map nested scalar-local",
)
def scalar_between_nested_maps(sdfg):
    doubles(sdfg, A=[4, 5], x=[4], B=[4, 5])
    temporaries(sdfg, t=())
    state = sdfg.add_state()
    a, x, b, t = (state.add_access(n) for n in ("A", "x", "B", "t"))
    outer_in, outer_out = state.add_map("outer", {"i": "0:4"})
    inner_in, inner_out = state.add_map("inner", {"j": "0:5"})
    first = state.add_tasklet("first", {"p"}, {"q"}, "q = sin(p) * p")
    second = state.add_tasklet("second", {"u", "w"}, {"r"}, "r = u * w + w * w")
    state.add_memlet_path(x, outer_in, first, dst_conn="p", memlet=Memlet("x[i]"))
    state.add_edge(first, "q", t, None, Memlet("t[0]"))
    state.add_memlet_path(t, inner_in, second, dst_conn="w", memlet=Memlet("t[0]"))
    state.add_memlet_path(a, outer_in, inner_in, second, dst_conn="u", memlet=Memlet("A[i, j]"))
    state.add_memlet_path(second, inner_out, outer_out, b, src_conn="r", memlet=Memlet("B[i, j]"))


def _vector_between(v):
    t = v["A"] * v["A"]
    return {"s": np.sum(t * t[:, ::-1], axis=1)}


@raw(
    lambda rng: {"A": signed(rng, (3, 4)), "s": np.zeros(3)},
    "A",
    "s",
    _vector_between,
    "map nested transient wcr",
)
def vector_between_nested_maps(sdfg):
    doubles(sdfg, A=[3, 4], s=[3])
    temporaries(sdfg, t=[4], total=())
    state = sdfg.add_state()
    a, s, t, total = (state.add_access(n) for n in ("A", "s", "t", "total"))
    outer_in, outer_out = state.add_map("outer", {"i": "0:3"})
    fill_in, fill_out = state.add_map("fill", {"j": "0:4"})
    add_in, add_out = state.add_map("add", {"k": "0:4"})
    square = state.add_tasklet("square", {"x"}, {"y"}, "y = x * x")
    multiply = state.add_tasklet("multiply", {"x", "y"}, {"z"}, "z = x * y")
    zero = state.add_tasklet("zero", {}, {"z"}, "z = 0.0")
    cleared = state.add_access("total")
    state.add_memlet_path(a, outer_in, fill_in, square, dst_conn="x", memlet=Memlet("A[i, j]"))
    state.add_memlet_path(square, fill_out, t, src_conn="y", memlet=Memlet("t[j]"))
    state.add_nedge(outer_in, zero, Memlet())
    state.add_edge(zero, "z", cleared, None, Memlet("total[0]"))
    state.add_nedge(cleared, add_in, Memlet())
    state.add_memlet_path(t, add_in, multiply, dst_conn="x", memlet=Memlet("t[k]"))
    state.add_memlet_path(t, add_in, multiply, dst_conn="y", memlet=Memlet("t[3 - k]"))
    state.add_memlet_path(multiply, add_out, total, src_conn="z", memlet=Memlet("total[0]", wcr="lambda a, b: a + b"))
    state.add_memlet_path(total, outer_out, s, memlet=Memlet(data="s", subset="i", other_subset="0"))


def _dynamic_range(v):
    b = np.array(v["B"])
    n = int(v["n"][0])
    b[:n] = v["A"][:n] ** 2
    return {"B": b}


@raw(
    lambda rng: {"A": signed(rng, 8), "B": signed(rng, 8), "n": np.array([5])},
    "A B",
    "B",
    _dynamic_range,
    "map dynamic-range",
)
def range_from_connector(sdfg):
    doubles(sdfg, A=[8], B=[8])
    sdfg.add_array("n", [1], dace.int64)
    state = sdfg.add_state()
    entry, leave = state.add_map("dynamic", {"i": "0:count"})
    entry.add_in_connector("count")
    t = state.add_tasklet("square", {"x"}, {"y"}, "y = x * x")
    state.add_edge(state.add_read("n"), None, entry, "count", Memlet("n[0]"))
    state.add_memlet_path(state.add_read("A"), entry, t, dst_conn="x", memlet=Memlet("A[i]"))
    state.add_memlet_path(t, leave, state.add_write("B"), src_conn="y", memlet=Memlet("B[i]"))


def _csr(v):
    y = np.array(v["y"])
    for i in range(4):
        for k in range(v["rowptr"][i], v["rowptr"][i + 1]):
            y[i] += v["values"][k] * v["x"][v["columns"][k]]
    return {"y": y}


@raw(
    lambda rng: {
        "rowptr": np.array([0, 2, 2, 5, 7]),
        "columns": np.array([0, 3, 1, 2, 4, 0, 3]),
        "values": signed(rng, 7),
        "x": signed(rng, 5),
        "y": signed(rng, 4),
    },
    "values x y",
    "y",
    _csr,
    "map nested dynamic-range indirect wcr known",
)
def sparse_matrix_vector(sdfg):
    doubles(sdfg, values=[7], x=[5], y=[4])
    sdfg.add_array("rowptr", [5], dace.int64)
    sdfg.add_array("columns", [7], dace.int64)
    state = sdfg.add_state()
    rowptr, columns, values, x = (state.add_read(n) for n in ("rowptr", "columns", "values", "x"))
    outer_in, outer_out = state.add_map("rows", {"i": "0:4"})
    inner_in, inner_out = state.add_map("entries", {"k": "begin:end"})
    inner_in.add_in_connector("begin")
    inner_in.add_in_connector("end")
    state.add_memlet_path(rowptr, outer_in, inner_in, dst_conn="begin", memlet=Memlet("rowptr[i]"))
    state.add_memlet_path(rowptr, outer_in, inner_in, dst_conn="end", memlet=Memlet("rowptr[i + 1]"))
    t = state.add_tasklet("multiply", {"v", "c", "xs"}, {"r"}, "r = v * xs[c]")
    state.add_memlet_path(values, outer_in, inner_in, t, dst_conn="v", memlet=Memlet("values[k]"))
    state.add_memlet_path(columns, outer_in, inner_in, t, dst_conn="c", memlet=Memlet("columns[k]"))
    state.add_memlet_path(x, outer_in, inner_in, t, dst_conn="xs", memlet=Memlet("x[0:5]"))
    state.add_memlet_path(
        t,
        inner_out,
        outer_out,
        state.add_write("y"),
        src_conn="r",
        memlet=Memlet("y[i]", wcr="lambda a, b: a + b"),
    )


def _stepped(v):
    b = np.array(v["B"])
    b[1:10:3] = v["A"][0:9:3] * v["A"][2:11:3]
    return {"B": b}


@raw(lambda rng: {"A": signed(rng, 11), "B": signed(rng, 11)}, "A B", "B", _stepped, "map strided")
def steps_of_three(sdfg):
    doubles(sdfg, A=[11], B=[11])
    sdfg.add_state().add_mapped_tasklet(
        "stepped",
        {"i": "1:10:3"},
        {"x": Memlet("A[i - 1]"), "y": Memlet("A[i + 1]")},
        "z = x * y",
        {"z": Memlet("B[i]")},
        external_edges=True,
    )


@raw(
    lambda rng: {"A": signed(rng, 10), "B": np.zeros(10), "N": 10},
    "A",
    "B",
    lambda v: {"B": np.cos(v["A"])},
    "map nested tiled symbol",
)
def tiled(sdfg):
    doubles(sdfg, A=["N"], B=["N"])
    state = sdfg.add_state()
    outer_in, outer_out = state.add_map("tiles", {"t": "0:N:4"})
    inner_in, inner_out = state.add_map("inside", {"i": "t:min(t + 4, N)"})
    cosine = state.add_tasklet("cosine", {"x"}, {"y"}, "y = cos(x)")
    state.add_memlet_path(state.add_read("A"), outer_in, inner_in, cosine, dst_conn="x", memlet=Memlet("A[i]"))
    state.add_memlet_path(cosine, inner_out, outer_out, state.add_write("B"), src_conn="y", memlet=Memlet("B[i]"))


def _triangle(v):
    b = np.array(v["B"])
    for i in range(5):
        for j in range(i + 1):
            b[i, j] = v["A"][i] * v["A"][j]
    return {"B": b}


@raw(
    lambda rng: {"A": signed(rng, 5), "B": signed(rng, (5, 5))},
    "A B",
    "B",
    _triangle,
    "map nested triangular",
)
def triangle(sdfg):
    doubles(sdfg, A=[5], B=[5, 5])
    state = sdfg.add_state()
    a = state.add_read("A")
    outer_in, outer_out = state.add_map("rows", {"i": "0:5"})
    inner_in, inner_out = state.add_map("columns", {"j": "0:i + 1"})
    t = state.add_tasklet("multiply", {"x", "y"}, {"z"}, "z = x * y")
    state.add_memlet_path(a, outer_in, inner_in, t, dst_conn="x", memlet=Memlet("A[i]"))
    state.add_memlet_path(a, outer_in, inner_in, t, dst_conn="y", memlet=Memlet("A[j]"))
    state.add_memlet_path(t, inner_out, outer_out, state.add_write("B"), src_conn="z", memlet=Memlet("B[i, j]"))


@raw(
    lambda rng: {"A": signed(rng, 6), "c": float(signed(rng)), "B": np.zeros(6)},
    "A c",
    "B",
    lambda v: {"B": v["A"] * v["c"] + v["c"] ** 2},
    "map scalar-argument",
)
def scalar_container_argument(sdfg):
    doubles(sdfg, A=[6], B=[6])
    sdfg.add_scalar("c", dace.float64)
    sdfg.add_state().add_mapped_tasklet(
        "scale",
        {"i": "0:6"},
        {"x": Memlet("A[i]"), "k": Memlet("c[0]")},
        "y = x * k + k * k",
        {"y": Memlet("B[i]")},
        external_edges=True,
    )


def _index_in_code(v):
    i = np.arange(6)
    return {"B": v["A"] * i + np.where(i < 3, v["A"] ** 2, 1.0)}


@raw(
    lambda rng: {"A": signed(rng, 6), "B": np.zeros(6)},
    "A",
    "B",
    _index_in_code,
    "map index-in-value control",
)
def index_used_in_code(sdfg):
    doubles(sdfg, A=[6], B=[6])
    sdfg.add_state().add_mapped_tasklet(
        "indexed",
        {"i": "0:6"},
        {"x": Memlet("A[i]")},
        "y = x * i + (x * x if i < 3 else 1.0)",
        {"y": Memlet("B[i]")},
        external_edges=True,
    )


@raw(
    lambda rng: {"A": signed(rng, 6), "idx": np.array([3, 0, 3, 5]), "B": signed(rng, 4)},
    "A B",
    "B",
    lambda v: {"B": v["B"] * v["A"][v["idx"]]},
    "map indirect array-connector inplace",
)
def gather_in_tasklet(sdfg):
    doubles(sdfg, A=[6], B=[4])
    sdfg.add_array("idx", [4], dace.int64)
    sdfg.add_state().add_mapped_tasklet(
        "gather",
        {"i": "0:4"},
        {"a": Memlet("A[0:6]"), "k": Memlet("idx[i]"), "b": Memlet("B[i]")},
        "c = b * a[k]",
        {"c": Memlet("B[i]")},
        external_edges=True,
    )


def _scatter(v):
    b = np.array(v["B"])
    np.add.at(b, v["idx"], v["A"] ** 2)
    return {"B": b}


@raw(
    lambda rng: {"A": signed(rng, 5), "idx": np.array([3, 0, 3, 5, 3]), "B": signed(rng, 6)},
    "A B",
    "B",
    _scatter,
    "map indirect array-connector wcr",
)
def scatter_add_in_tasklet(sdfg):
    doubles(sdfg, A=[5], B=[6])
    sdfg.add_array("idx", [5], dace.int64)
    sdfg.add_state().add_mapped_tasklet(
        "scatter",
        {"i": "0:5"},
        {"a": Memlet("A[i]"), "k": Memlet("idx[i]")},
        "b[k] = a * a",
        {"b": Memlet("B[0:6]", wcr="lambda p, q: p + q", dynamic=True, volume=1)},
        external_edges=True,
    )


@raw(
    lambda rng: {"A": signed(rng, (4, 3)), "B": np.zeros((4, 3))},
    "A",
    "B",
    lambda v: {"B": v["A"] * np.sin(v["A"])},
    "map strides",
)
def column_major_arrays(sdfg):
    doubles(sdfg, A=[4, 3], B=[4, 3])
    sdfg.add_transient("F", [4, 3], dace.float64, strides=[1, 6], total_size=18)
    state = sdfg.add_state()
    f = state.add_access("F")
    state.add_mapped_tasklet(
        "sine",
        {"i": "0:4", "j": "0:3"},
        {"x": Memlet("A[i, j]")},
        "y = sin(x)",
        {"y": Memlet("F[i, j]")},
        external_edges=True,
        output_nodes={"F": f},
    )
    state.add_mapped_tasklet(
        "multiply",
        {"i": "0:4", "j": "0:3"},
        {"x": Memlet("A[i, j]"), "f": Memlet("F[i, j]")},
        "y = x * f",
        {"y": Memlet("B[i, j]")},
        external_edges=True,
        input_nodes={"F": f, "A": state.add_read("A")},
    )
