"""Single tasklets, copies, views and write conflicts on edges."""

import dace
import numpy as np
from dace import Memlet

from .._base import between, distinct, signed
from ._base import doubles, raw, temporaries


def _one_tasklet(v):
    return {"B": np.concatenate((v["B"][:1], [v["A"][0] * v["A"][3] + np.sin(v["A"][3])], v["B"][2:]))}


@raw(lambda rng: {"A": signed(rng, 5), "B": signed(rng, 3)}, "A B", "B", _one_tasklet, "tasklet")
def tasklet_alone(sdfg):
    doubles(sdfg, A=[5], B=[3])
    state = sdfg.add_state()
    a, b = state.add_read("A"), state.add_write("B")
    t = state.add_tasklet("t", {"x", "y"}, {"z"}, "z = x * y + sin(y)")
    state.add_edge(a, None, t, "x", Memlet("A[0]"))
    state.add_edge(a, None, t, "y", Memlet("A[3]"))
    state.add_edge(t, "z", b, None, Memlet("B[1]"))


def _several_outputs(v):
    x, y = v["A"], v["B"]
    t = x * y
    return {"C": np.where(t > 0, t * t, -3.0 * t), "D": np.sin(t) + x}


@raw(
    lambda rng: {"A": signed(rng, 7), "B": signed(rng, 7), "C": np.zeros(7), "D": np.zeros(7)},
    "A B",
    "C D",
    _several_outputs,
    "tasklet outputs statements control",
)
def statements_outputs_and_if(sdfg):
    doubles(sdfg, A=[7], B=[7], C=[7], D=[7])
    sdfg.add_state().add_mapped_tasklet(
        "several",
        {"i": "0:7"},
        {"x": Memlet("A[i]"), "y": Memlet("B[i]")},
        "t = x * y\nif t > 0:\n    c = t * t\nelse:\n    c = -3.0 * t\nd = sin(t) + x",
        {"c": Memlet("C[i]"), "d": Memlet("D[i]")},
        external_edges=True,
    )


def _array_connectors(v):
    a = v["A"]
    return {"B": np.stack((a[:, 0] * a[:, 2], a[:, 1] + a[:, 2] ** 2), axis=1)}


@raw(
    lambda rng: {"A": signed(rng, (4, 3)), "B": np.zeros((4, 2))},
    "A",
    "B",
    _array_connectors,
    "tasklet array-connector",
)
def tasklet_on_rows(sdfg):
    doubles(sdfg, A=[4, 3], B=[4, 2])
    sdfg.add_state().add_mapped_tasklet(
        "rows",
        {"i": "0:4"},
        {"a": Memlet("A[i, 0:3]")},
        "b[0] = a[0] * a[2]\nb[1] = a[1] + a[2] ** 2",
        {"b": Memlet("B[i, 0:2]")},
        external_edges=True,
    )


@raw(
    lambda rng: {"A": signed(rng, 5), "B": signed(rng, 5)},
    "A B",
    "B",
    lambda v: {"B": np.concatenate(([2.5], v["A"][1:]))},
    "tasklet constant copy",
)
def tasklet_without_inputs(sdfg):
    doubles(sdfg, A=[5], B=[5])
    first = sdfg.add_state()
    first.add_nedge(first.add_read("A"), first.add_write("B"), Memlet("A[0:5]"))
    second = sdfg.add_state_after(first)
    t = second.add_tasklet("constant", {}, {"b"}, "b = 2.5")
    second.add_edge(t, "b", second.add_write("B"), None, Memlet("B[0]"))


def _chain(v):
    t = np.sin(v["A"][0] * v["A"][1])
    return {"B": np.array([t * t + v["A"][0]])}


@raw(lambda rng: {"A": signed(rng, 3), "B": np.zeros(1)}, "A", "B", _chain, "tasklet scalar-local")
def tasklets_joined_by_a_scalar(sdfg):
    doubles(sdfg, A=[3], B=[1])
    temporaries(sdfg, t=())
    state = sdfg.add_state()
    t = state.add_access("t")
    a, b = state.add_read("A"), state.add_write("B")
    first = state.add_tasklet("first", {"x", "y"}, {"r"}, "r = sin(x * y)")
    second = state.add_tasklet("second", {"u", "x"}, {"z"}, "z = u * u + x")
    state.add_edge(a, None, first, "x", Memlet("A[0]"))
    state.add_edge(a, None, first, "y", Memlet("A[1]"))
    state.add_edge(first, "r", t, None, Memlet("t[0]"))
    state.add_edge(t, None, second, "u", Memlet("t[0]"))
    state.add_edge(a, None, second, "x", Memlet("A[0]"))
    state.add_edge(second, "z", b, None, Memlet("B[0]"))


# Copies --------------------------------------------------------------------------------------------


def _copy_subsets(v):
    b = np.array(v["b"])
    b[0:3] = v["a"][2:5]
    return {"b": b}


@raw(lambda rng: {"a": signed(rng, 6), "b": signed(rng, 4)}, "a b", "b", _copy_subsets, "copy")
def copy_between_subsets(sdfg):
    doubles(sdfg, a=[6], b=[4])
    state = sdfg.add_state()
    state.add_nedge(state.add_read("a"), state.add_write("b"), Memlet("a[2:5] -> [0:3]"))


def _copy_column(v):
    b = np.array(v["b"])
    b[1:5] = v["A"][:, 2]
    return {"b": b * 2.0}


@raw(lambda rng: {"A": signed(rng, (4, 5)), "b": signed(rng, 6)}, "A b", "b", _copy_column, "copy inplace")
def copy_column_into_vector(sdfg):
    doubles(sdfg, A=[4, 5], b=[6])
    state = sdfg.add_state()
    state.add_nedge(state.add_read("A"), state.add_write("b"), Memlet("A[0:4, 2] -> [1:5]"))
    after = sdfg.add_state_after(state)
    after.add_mapped_tasklet(
        "double",
        {"i": "0:6"},
        {"x": Memlet("b[i]")},
        "y = 2.0 * x",
        {"y": Memlet("b[i]")},
        external_edges=True,
    )


def _copy_named_at_the_target(v):
    b = np.array(v["B"])
    b[1:3, 0:3] = v["A"][2:4, 1:4]
    return {"B": b}


@raw(
    lambda rng: {"A": signed(rng, (5, 4)), "B": signed(rng, (3, 4))},
    "A B",
    "B",
    _copy_named_at_the_target,
    "copy",
)
def copy_memlet_names_the_target(sdfg):
    doubles(sdfg, A=[5, 4], B=[3, 4])
    state = sdfg.add_state()
    memlet = Memlet(data="B", subset="1:3, 0:3", other_subset="2:4, 1:4")
    state.add_nedge(state.add_read("A"), state.add_write("B"), memlet)


@raw(
    lambda rng: {"A": signed(rng, (3, 4)), "B": np.zeros((3, 4))},
    "A",
    "B",
    lambda v: {"B": v["A"] * v["A"]},
    "copy transient",
)
def copy_chain_of_transients(sdfg):
    doubles(sdfg, A=[3, 4], B=[3, 4])
    temporaries(sdfg, t=[3, 4], u=[3, 4])
    state = sdfg.add_state()
    t, u = state.add_access("t"), state.add_access("u")
    state.add_nedge(state.add_read("A"), t, Memlet("A[0:3, 0:4]"))
    state.add_nedge(t, u, Memlet("t[0:3, 0:4]"))
    state.add_mapped_tasklet(
        "square",
        {"i": "0:3", "j": "0:4"},
        {"x": Memlet("u[i, j]")},
        "y = x * x",
        {"y": Memlet("B[i, j]")},
        external_edges=True,
        input_nodes={"u": u},
    )


# Views -----------------------------------------------------------------------------------------------


def _view_read(v):
    return {"B": np.sin(v["A"].reshape(12))}


@raw(lambda rng: {"A": signed(rng, (3, 4)), "B": np.zeros(12)}, "A", "B", _view_read, "view reshape")
def view_read(sdfg):
    doubles(sdfg, A=[3, 4], B=[12])
    sdfg.add_view("V", [12], dace.float64)
    state = sdfg.add_state()
    view = state.add_access("V")
    state.add_edge(state.add_read("A"), None, view, "views", Memlet("A[0:3, 0:4]"))
    state.add_mapped_tasklet(
        "sine",
        {"i": "0:12"},
        {"x": Memlet("V[i]")},
        "y = sin(x)",
        {"y": Memlet("B[i]")},
        external_edges=True,
        input_nodes={"V": view},
    )


def _view_written(v):
    return {"B": (v["A"] * v["A"]).reshape(3, 4) * v["B"]}


@raw(
    lambda rng: {"A": signed(rng, 12), "B": signed(rng, (3, 4))},
    "A B",
    "B",
    _view_written,
    "view reshape inplace",
)
def view_written(sdfg):
    doubles(sdfg, A=[12], B=[3, 4])
    temporaries(sdfg, t=[3, 4])
    sdfg.add_view("V", [12], dace.float64)
    state = sdfg.add_state()
    view = state.add_access("V")
    state.add_mapped_tasklet(
        "square",
        {"i": "0:12"},
        {"x": Memlet("A[i]")},
        "y = x * x",
        {"y": Memlet("V[i]")},
        external_edges=True,
        output_nodes={"V": view},
    )
    state.add_edge(view, "views", state.add_write("t"), None, Memlet("t[0:3, 0:4]"))
    after = sdfg.add_state_after(state)
    after.add_mapped_tasklet(
        "multiply",
        {"i": "0:3", "j": "0:4"},
        {"x": Memlet("t[i, j]"), "b": Memlet("B[i, j]")},
        "y = x * b",
        {"y": Memlet("B[i, j]")},
        external_edges=True,
    )


def _view_row(v):
    a = np.array(v["A"])
    a[1] = a[1] * a[0]
    return {"A": a}


@raw(lambda rng: {"A": signed(rng, (3, 4))}, "A", "A", _view_row, "view slice inplace")
def view_of_a_row_read_and_written(sdfg):
    doubles(sdfg, A=[3, 4])
    sdfg.add_view("row", [4], dace.float64)
    sdfg.add_view("target", [4], dace.float64)
    state = sdfg.add_state()
    a, row, target = state.add_read("A"), state.add_access("row"), state.add_access("target")
    state.add_edge(a, None, row, "views", Memlet("A[1, 0:4]"))
    state.add_mapped_tasklet(
        "multiply",
        {"i": "0:4"},
        {"x": Memlet("row[i]"), "y": Memlet("A[0, i]")},
        "z = x * y",
        {"z": Memlet("target[i]")},
        external_edges=True,
        input_nodes={"row": row, "A": a},
        output_nodes={"target": target},
    )
    state.add_edge(target, "views", state.add_write("A"), None, Memlet("A[1, 0:4]"))


# Write conflicts ---------------------------------------------------------------------------------------


def _known_sum(v):
    return {"s": v["s"] + np.sum(v["A"] * v["A"])}


@raw(lambda rng: {"A": signed(rng, 7), "s": signed(rng, 1)}, "A s", "s", _known_sum, "wcr sum known")
def sum_of_squares_by_two_connectors(sdfg):
    doubles(sdfg, A=[7], s=[1])
    sdfg.add_state().add_mapped_tasklet(
        "squares",
        {"i": "0:7"},
        {"x": Memlet("A[i]"), "y": Memlet("A[i]")},
        "z = x * y",
        {"z": Memlet("s[0]", wcr="lambda a, b: a + b")},
        external_edges=True,
    )


@raw(
    lambda rng: {"A": between(rng, 0.4, 1.6, 5), "p": between(rng, 0.5, 1.5, 1)},
    "A p",
    "p",
    lambda v: {"p": v["p"] * np.prod(v["A"])},
    "wcr product",
)
def product_by_conflict(sdfg):
    doubles(sdfg, A=[5], p=[1])
    sdfg.add_state().add_mapped_tasklet(
        "product",
        {"i": "0:5"},
        {"x": Memlet("A[i]")},
        "z = x",
        {"z": Memlet("p[0]", wcr="lambda a, b: a * b")},
        external_edges=True,
    )


@raw(
    lambda rng: {"A": distinct(rng, (3, 4)), "m": np.full(3, 9.0)},
    "A m",
    "m",
    lambda v: {"m": np.minimum(v["m"], np.min(v["A"], axis=1))},
    "wcr min",
)
def minimum_by_conflict(sdfg):
    doubles(sdfg, A=[3, 4], m=[3])
    sdfg.add_state().add_mapped_tasklet(
        "minimum",
        {"i": "0:3", "j": "0:4"},
        {"x": Memlet("A[i, j]")},
        "z = x",
        {"z": Memlet("m[i]", wcr="lambda a, b: min(a, b)")},
        external_edges=True,
    )


@raw(
    lambda rng: {"A": signed(rng, 4), "s": signed(rng, 4)},
    "A s",
    "s",
    lambda v: {"s": v["s"] + 2.0 * v["A"]},
    "wcr custom refused-or-right",
)
def custom_conflict(sdfg):
    doubles(sdfg, A=[4], s=[4])
    sdfg.add_state().add_mapped_tasklet(
        "custom",
        {"i": "0:4"},
        {"x": Memlet("A[i]")},
        "z = x",
        {"z": Memlet("s[i]", wcr="lambda a, b: a + 2.0 * b")},
        external_edges=True,
    )


def _external_code(v):
    return {"B": v["A"] * v["A"]}


@raw(lambda rng: {"A": signed(rng, 4), "B": np.zeros(4)}, "A", "B", _external_code, "refused")
def tasklet_in_cpp(sdfg):
    doubles(sdfg, A=[4], B=[4])
    sdfg.add_state().add_mapped_tasklet(
        "foreign",
        {"i": "0:4"},
        {"x": Memlet("A[i]")},
        "y = x * x;",
        {"y": Memlet("B[i]")},
        external_edges=True,
        language=dace.Language.CPP,
    )


def _constant_by_external_code(v):
    a = np.array(v["A"])
    a[1] = 3.0 * v["P"][0]
    return {"B": a * a}


@raw(
    lambda rng: {"A": signed(rng, 4), "P": signed(rng, 2), "B": np.zeros(4)},
    "A",
    "B",
    _constant_by_external_code,
    "tasklet inplace opaque",
)
def constant_by_a_tasklet_in_cpp(sdfg):
    """What it overwrites has no gradient, and it needs no rule."""
    doubles(sdfg, A=[4], P=[2], B=[4])
    temporaries(sdfg, copied=[4])
    first = sdfg.add_state()
    first.add_nedge(first.add_read("A"), first.add_write("copied"), Memlet("A[0:4]"))
    second = sdfg.add_state_after(first)
    t = second.add_tasklet("foreign", {"x"}, {"y"}, "y = 3.0 * x;", language=dace.Language.CPP)
    second.add_edge(second.add_read("P"), None, t, "x", Memlet("P[0]"))
    second.add_edge(t, "y", second.add_write("copied"), None, Memlet("copied[1]"))
    sdfg.add_state_after(second).add_mapped_tasklet(
        "square",
        {"i": "0:4"},
        {"x": Memlet("copied[i]")},
        "y = x * x",
        {"y": Memlet("B[i]")},
        external_edges=True,
    )
