"""Models that claim what they do not have: refused at once and by name, or computed as they stand."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper

import sdgrad
from sdgrad.errors import InvalidModel, OutOfMemory, SdgradError

X = np.array([0.1, 0.2, 0.3], np.float32)
SUM = helper.make_node("Add", ["x", "w"], ["y"])


def model(nodes, name="g", inputs=(("x", T.FLOAT, [3]),), initializers=(), functions=()) -> onnx.ModelProto:
    given = [helper.make_tensor_value_info(*i) for i in inputs]
    graph = helper.make_graph(nodes, name, given, [helper.make_tensor_value_info("y", T.FLOAT, None)], initializers)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=sets, functions=functions, ir_version=8)


def tensor(dims=(4,), data_type=T.FLOAT, raw_data=b"", **external) -> onnx.TensorProto:
    """Return an initializer that says what it likes."""
    made = T(name="w", data_type=data_type, dims=dims)
    if not external:
        made.raw_data = raw_data
        return made
    made.data_location = T.EXTERNAL
    for key, value in external.items():
        entry = made.external_data.add()
        entry.key, entry.value = key, value
    return made


@pytest.mark.parametrize(
    "initializer",
    [
        tensor([10**9]),
        tensor([10**9], raw_data=b"1234"),
        tensor([2**40, 2**40]),
        tensor([-1], raw_data=bytes(12)),
        tensor([3], 999, bytes(12)),
        tensor([3], T.UNDEFINED, bytes(12)),
        tensor(location=__file__, offset="x"),
    ],
)
def test_initializers_that_are_not_what_they_say(initializer):
    with pytest.raises(InvalidModel, match="'w'"):
        sdgrad.onnx.load(model([SUM], initializers=[initializer]))


@pytest.mark.parametrize("location", ["/etc/passwd", "../other/w.data", "a/../../w.data"])
def test_data_outside_of_the_folder_of_a_model(location, tmp_path):
    onnx.save(model([SUM], initializers=[tensor(location=location)]), tmp_path / "m.onnx")
    with pytest.raises(InvalidModel, match="outside of its folder"):
        sdgrad.onnx.load(tmp_path / "m.onnx")


@pytest.mark.parametrize("offset, told", [("x", "invalid literal"), ("-8", "begin at byte -8")])
def test_data_that_begin_nowhere(offset, told, tmp_path):
    (tmp_path / "w.data").write_bytes(bytes(100))
    onnx.save(model([SUM], initializers=[tensor(location="w.data", offset=offset)]), tmp_path / "m.onnx")
    with pytest.raises(InvalidModel, match=told):
        sdgrad.onnx.load(tmp_path / "m.onnx")


@pytest.mark.parametrize("dims, place", [([3], 7), ([-3], 0), ([10**14], 7)])
def test_sparse_initializers_that_do_not_fit(dims, place):
    made = model([SUM])
    sparse = made.graph.sparse_initializer.add(dims=dims)
    sparse.values.CopyFrom(helper.make_tensor("w", T.FLOAT, [1], [2.0]))
    sparse.indices.CopyFrom(helper.make_tensor("places", T.INT64, [1], [place]))
    with pytest.raises(InvalidModel, match="'w' cannot be read"):
        sdgrad.onnx.load(made)


def nested(depth: int) -> onnx.ModelProto:
    node = helper.make_node("Sin", ["x"], ["y"])
    for k in range(depth):
        result = [helper.make_tensor_value_info(node.output[0], T.FLOAT, None)]
        body = helper.make_graph([node], f"g{k}", [], result)
        node = helper.make_node("If", ["c"], ["y" if k == depth - 1 else f"r{k}"], then_branch=body, else_branch=body)
    return model([node], inputs=[("x", T.FLOAT, [3]), ("c", T.BOOL, [])])


def test_graphs_inside_of_graphs():
    deep = model([helper.make_node("If", ["c"], ["y"])])
    node = deep.graph.node[0]
    for _ in range(1000):  # in place: what copies them refuses so many
        node = node.attribute.add(type=onnx.AttributeProto.GRAPH).g.node.add(op_type="If")
    with pytest.raises(InvalidModel, match="more than 64 graphs inside of each other"):
        sdgrad.onnx.load(deep)
    assert sdgrad.onnx.load(nested(6)).outputs == ("y",)


def function(name: str, *called: str) -> onnx.FunctionProto:
    names = ["a", *(f"t{k}" for k in range(len(called) - 1)), "b"]
    nodes = [
        helper.make_node(f, [names[k]], [names[k + 1]], domain="" if f == "Sin" else "own")
        for k, f in enumerate(called)
    ]
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, ["a"], ["b"], nodes, sets)


def test_functions_that_have_no_end():
    call = helper.make_node("f", ["x"], ["y"], domain="own")
    for functions in ([function("f", "f")], [function("f", "g"), function("g", "f")]):
        with pytest.raises(InvalidModel, match="the function 'f' calls itself"):
            sdgrad.onnx.load(model([call], functions=functions))
    doubled = [function("f0", "Sin"), *(function(f"f{k + 1}", f"f{k}", f"f{k}") for k in range(40))]
    call = helper.make_node("f40", ["x"], ["y"], domain="own")
    with pytest.raises(InvalidModel, match="nodes when its functions are written out"):
        sdgrad.onnx.load(model([call], functions=doubled))


@pytest.mark.parametrize(
    "nodes, told",
    [
        ([("Sin", "b", "a"), ("Sin", "a", "b"), ("Add", "a x", "y")], "Sin '' reads 'b', which nothing before"),
        ([("Add", "x nowhere", "y")], "Add '' reads 'nowhere'"),
        ([("Sin", "x", "t")], "nothing computes the output 'y'"),
        ([("Sin", "x", "y"), ("Cos", "x", "y")], "Cos '' computes 'y', as a node before it does"),
        ([("Add", "x", "y")], "Add '' has 1 inputs, and takes 2 to 2"),
    ],
)
def test_nodes_that_do_not_fit_together(nodes, told):
    with pytest.raises(InvalidModel, match=told):
        sdgrad.onnx.load(model([helper.make_node(k, i.split(), o.split()) for k, i, o in nodes]))


def test_graphs_inside_are_checked():
    strange = nested(2)
    inner = strange.graph.node[0].attribute[0].g.node[0].attribute[0].g.node[0]
    inner.op_type = "Nonsense"
    with pytest.raises(InvalidModel, match="Nonsense '': there is no such operator"):
        sdgrad.onnx.load(strange)
    inner.op_type, inner.input[0] = "Sin", "nowhere"
    with pytest.raises(InvalidModel, match="Sin '' reads 'nowhere'"):
        sdgrad.onnx.load(strange)


def test_names_are_not_empty():
    with pytest.raises(InvalidModel, match="an input or an output of the graph 'g' has no name"):
        sdgrad.onnx.load(model([helper.make_node("Sin", [""], ["y"])], inputs=[("", T.FLOAT, [3])]))


def test_texts_and_constants_without_end():
    texts = model([SUM], initializers=[helper.make_tensor("w", T.STRING, [3], ["a", "b", "c"])])
    with pytest.raises(SdgradError):
        sdgrad.onnx.load(texts)(X)
    ones = [helper.make_node("ConstantOfShape", ["n"], ["w"]), SUM]
    large = model(ones, initializers=[helper.make_tensor("n", T.INT64, [1], [10**13])])
    with pytest.raises(OutOfMemory, match="ConstantOfShape '' is a constant: Unable to allocate"):
        sdgrad.onnx.load(large)(X)


def test_every_beginning_of_a_file():
    whole = model([helper.make_node("Sin", ["x"], ["y"])]).SerializeToString()
    refused = 0
    for end in range(len(whole)):
        try:
            sdgrad.onnx.load(whole[:end])
        except SdgradError:
            refused += 1
    assert refused > len(whole) // 2


def test_names_are_no_code():
    """Of tensors, nodes and the graph: each is in comments and names of the generated code."""
    wild = [
        '"; system("touch hacked"); //',
        "*/ #error\n#error\n",
        "nul\0nul",
        "../../up",
        "{x} %s ${y}",
        "\u00e9\u2028",
        "n" * 10_240,
    ]
    nodes, last = [], "x"
    for k, name in enumerate(wild):
        nodes.append(helper.make_node("Sin", [last], [name], name=name))
        last = name
    made = model([*nodes, helper.make_node("Identity", [last], ["y"])], name="\n".join(wild))
    wanted = X
    for _ in wild:
        wanted = np.sin(wanted)
    np.testing.assert_allclose(sdgrad.onnx.load(made)(X), wanted, rtol=1e-5)


def test_results_larger_than_any_memory():
    def values(*names):
        return [helper.make_tensor_value_info(n, t, None) for n, t in zip(names, types, strict=False)]

    types = (T.BOOL, T.FLOAT, T.FLOAT)
    steps = (("Identity", "c", "d"), ("Sin", "a", "b"), ("Cos", "a", "s"))
    nodes = [helper.make_node(k, [i], [o]) for k, i, o in steps]
    counter = helper.make_tensor_value_info("i", T.INT64, [])
    body = helper.make_graph(nodes, "body", [counter, *values("c", "a")], values("d", "b", "s"))
    loop = helper.make_node("Loop", ["m", "", "x"], ["last", "y"], body=body)
    trips = helper.make_tensor("m", T.INT64, [], [2**62])
    with pytest.raises(OutOfMemory, match="There is no memory for it"):
        sdgrad.onnx.load(model([loop], initializers=[trips]))(X)
