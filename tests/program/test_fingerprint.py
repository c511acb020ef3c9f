"""Fingerprints of programs: another program has another one, and another process finds the same."""

import ast
import os
import subprocess
import sys
from dataclasses import replace

import dace
import numpy as np
import sympy
from dace import data as dt

from sdgrad.program.fingerprint import fingerprint
from sdgrad.program.tree import (
    SCALAR,
    Branch,
    Container,
    Leaf,
    Let,
    Load,
    Loop,
    NodeCall,
    Param,
    Program,
    Scope,
    Source,
    Store,
    SymbolAssign,
    Value,
    whole_region,
)

ZERO, ONE, TWO = map(sympy.Integer, range(3))
N = dace.symbol("N")


def expr(text):
    return ast.parse(text, mode="eval").body


def array(name, shape=(N,), dtype=dace.float64, **others):
    return Container(name, dt.Array(dtype, list(shape), **others))


def value(text, *loads):
    return Value(loads, expr(text))


LOAD, LET, STORE = Load("v", "x", (sympy.Symbol("i"),)), Let("w", expr("sin(v)")), Store("y", (sympy.Symbol("i"),), "w")
PARAM = Param("i", ZERO, N - 1, ONE)
LEAF = Leaf((PARAM,), (LOAD, LET, STORE))
TASKLET = dace.nodes.Tasklet("t", {"a"}, {"b"}, "b = a;", language=dace.Language.CPP)
CALL = NodeCall(TASKLET, {"a": whole_region("x", (N,))}, {"b": whole_region("y", (N,))})
SCOPE = Scope((PARAM,), (LEAF,), (array("t", (3,), transient=True),))
ASSIGN = SymbolAssign("k", value("3"), dace.int64)
BRANCH = Branch(((value("k > 2"), (LEAF,)), (None, (CALL,))))
LOOP = Loop("j", value("0"), value("N"), value("1"), (LEAF,))
PROGRAM = Program(
    "p",
    {c.name: c for c in (array("x"), array("y"), array("t", (3,), transient=True))},
    {"N": dace.int64},
    {"c": (dt.Array(dace.float64, [2]), np.array([1.0, 2.0]))},
    (LEAF, CALL, SCOPE, ASSIGN, BRANCH, LOOP),
    ("x", "y"),
)


def with_node(old, **changes):
    """The program with another node in place of one of its own."""
    return replace(PROGRAM, body=tuple(replace(n, **changes) if n is old else n for n in PROGRAM.body))


def with_instruction(old, **changes):
    return with_node(LEAF, body=tuple(replace(i, **changes) if i is old else i for i in LEAF.body))


def with_container(name, **changes):
    return replace(PROGRAM, containers={**PROGRAM.containers, name: array(name, **changes)})


def tasklet(code="b = a;", **others):
    return dace.nodes.Tasklet("t", {"a"}, {"b"}, code, language=dace.Language.CPP, **others)


OTHERS = {
    "arguments": replace(PROGRAM, arguments=("y", "x")),
    "symbols": replace(PROGRAM, symbols={"N": dace.int32}),
    "constants": replace(PROGRAM, constants={"c": (PROGRAM.constants["c"][0], np.array([1.0, 2.5]))}),
    "callbacks": replace(PROGRAM, callback_mapping={"f": "g"}),
    "order": replace(PROGRAM, body=PROGRAM.body[::-1]),
    "shape": with_container("x", shape=(N + 1,)),
    "dtype": with_container("x", dtype=dace.float32),
    "strides": with_container("x", strides=[2]),
    "alignment": with_container("x", alignment=64),
    "storage": with_container("x", storage=dace.StorageType.CPU_Heap),
    "transient": with_container("x", transient=True),
    "start": with_node(LEAF, params=(replace(PARAM, start=ONE),)),
    "stop": with_node(LEAF, params=(replace(PARAM, stop=N - 2),)),
    "step": with_node(LEAF, params=(replace(PARAM, step=TWO),)),
    "sequential": with_node(LEAF, sequential=True),
    "schedule": with_node(LEAF, schedule=dace.ScheduleType.CPU_Multicore),
    "loaded": with_instruction(LOAD, container="y"),
    "index": with_instruction(LOAD, index=(sympy.Symbol("i") + 1,)),
    "guarded load": with_instruction(LOAD, guard="g"),
    "function": with_instruction(LET, expr=expr("cos(v)")),
    "stored": with_instruction(STORE, value="v"),
    "mode": with_instruction(STORE, mode="sum"),
    "fresh": with_instruction(STORE, mode="sum", fresh=True),
    "guarded store": with_instruction(STORE, guard="g"),
    "streamed": with_instruction(STORE, streamed=True),
    "code": with_node(CALL, node=tasklet("b = 2 * a;")),
    "effects": with_node(CALL, node=tasklet(side_effects=True)),
    "operand": with_node(CALL, inputs={"a": whole_region("x", (N - 1,))}),
    "result": with_node(CALL, outputs={"b": replace(CALL.outputs["b"], wcr="lambda a, b: a + b")}),
    "locals": with_node(SCOPE, locals=(array("t", (4,), transient=True),)),
    "assigned": with_node(ASSIGN, value=value("4")),
    "type of a symbol": with_node(ASSIGN, dtype=dace.int32),
    "condition": with_node(BRANCH, arms=((value("k > 3"), (LEAF,)), (None, (CALL,)))),
    "no else": with_node(BRANCH, arms=((value("k > 2"), (LEAF, CALL)),)),
    "loop's end": with_node(LOOP, stop=value("N - 1")),
    "loop's condition": with_node(LOOP, also=value("v > 0", Load("v", "x", SCALAR))),
    "loop's last": with_node(LOOP, last="t"),
}


def test_each_part_counts():
    found = {name: fingerprint(program) for name, program in OTHERS.items()} | {"": fingerprint(PROGRAM)}
    assert len(set(found.values())) == len(found)


def test_what_does_not_count():
    same = replace(PROGRAM, name="q"), with_node(LEAF, source=Source("file.py", 3, "label"))
    assert {fingerprint(p) for p in same} == {fingerprint(PROGRAM)}


def squares(x, b):
    for i in range(3):
        x = np.sin(x) @ b[i]
    return np.sum(x**2 * np.linalg.det(b[0]))


SCRIPT = """
import numpy as np, sys
sys.path.insert(0, sys.argv[1])
import sdgrad
from sdgrad import pipeline
from test_fingerprint import squares
if sys.argv[2] == "again":
    def emit(program):
        raise AssertionError(f"{program.name} is written again")
    pipeline.emit = emit
found = sdgrad.grad(squares)(np.ones((4, 4)), np.ones((3, 4, 4)) / 4 + np.eye(4))
np.save(sys.argv[3], found)
"""


def test_another_process_writes_no_graph(tmp_path):
    """Whatever the order of its sets is."""
    found = []
    for seed, which in (("1", "first"), ("2", "again")):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "SDGRAD_CACHE_DIR": str(tmp_path)}
        path = tmp_path / f"{which}.npy"
        asked = [sys.executable, "-c", SCRIPT, os.path.dirname(__file__), which, str(path)]
        subprocess.run(asked, env=environment, check=True, timeout=300)
        found.append(np.load(path))
    np.testing.assert_array_equal(*found)
