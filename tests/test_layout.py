"""The layout as contracts: which room may import which, what each may know, and how large its pieces may be."""

import ast
from pathlib import Path

import networkx as nx
import pytest
from radon.complexity import cc_visit

import sdgrad

ROOT = Path(sdgrad.__file__).parent
MODULES = {
    ".".join(("sdgrad", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in ROOT.rglob("*.py")
}
SOURCES = {name: path.read_text() for name, path in MODULES.items()}
TREES = {name: ast.parse(source) for name, source in SOURCES.items()}

LAYERS = (
    ("errors", "machine"),
    ("config",),
    ("symbolic",),
    ("program",),
    ("runtime.libraries", "runtime.compile", "runtime.call"),
    ("convert",),
    ("analysis",),
    ("rewrite",),
    ("lift",),
    ("canonicalize",),
    ("tape",),
    ("autodiff",),
    ("record",),
    ("random",),
    ("backward_impls",),
    ("optimize.scalars", "optimize.locality"),
    ("optimize.dataflow", "optimize.reductions", "optimize.gpu"),
    ("optimize.contractions",),
    ("optimize.passes",),
    ("memory",),
    ("onnx_ops",),
    ("backward_impls.onnx",),
    ("pipeline",),
    ("sparsity",),
    ("specialize",),
    ("api",),
    ("solvers",),
    ("testing",),
    ("onnx",),
    ("torch",),
    ("cli",),
)
"""Rooms from the bottom to the top: a module imports what is in its own room, or below."""

ENGINE = (
    *("symbolic", "program", "analysis", "rewrite", "lift", "canonicalize", "tape", "autodiff", "optimize"),
    *("runtime.compile", "runtime.libraries", "pipeline", "machine", "config", "errors"),
)
GRAPHLESS = ("analysis", "rewrite", "tape", "autodiff", "optimize", "symbolic")


def room(module: str) -> str:
    """The room of a module: the longest name in :data:`LAYERS` that it begins with."""
    inner = module.removeprefix("sdgrad.")
    names = [r for layer in LAYERS for r in layer if inner == r or inner.startswith(r + ".")]
    return max(names, key=len) if names else inner


HEIGHT = {name: height for height, layer in enumerate(LAYERS) for name in layer}


def is_face(module: str) -> bool:
    """True of ``__init__``: it gathers what the package offers, from wherever that is."""
    return MODULES[module].name == "__init__.py"


def imports(module: str) -> set[str]:
    """Every module that a module imports, in functions and for types too."""
    found = set()
    for node in ast.walk(TREES[module]):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found.add(node.module)
            found |= {full for a in node.names if (full := f"{node.module}.{a.name}") in MODULES}
    return found


def own(module: str) -> set[str]:
    """Modules of this package that a module imports."""
    return {m for m in imports(module) if m in MODULES and m != module and not is_face(m)}


GRAPH = nx.DiGraph([(m, other) for m in MODULES if not is_face(m) for other in own(m)])


def test_the_root_has_four_modules():
    assert {p.stem for p in ROOT.glob("*.py")} == {"__init__", "config", "errors", "pipeline"}


def test_every_module_is_in_a_room():
    assert not [m for m in MODULES if not is_face(m) and room(m) not in HEIGHT]


def test_no_import_runs_upwards():
    upwards = [(a, b) for a, b in GRAPH.edges if HEIGHT[room(b)] > HEIGHT[room(a)]]
    assert not upwards


def test_no_circles_of_modules():
    assert not [c for c in nx.strongly_connected_components(GRAPH) if len(c) > 1]


def test_no_circles_of_rooms():
    rooms = nx.DiGraph([(room(a), room(b)) for a, b in GRAPH.edges if room(a) != room(b)])
    assert not [c for c in nx.strongly_connected_components(rooms) if len(c) > 1]


@pytest.mark.parametrize(
    ("rooms", "packages"),
    [
        (ENGINE, ("onnx", "onnxruntime", "torch", "jax")),
        (("autodiff", "backward_impls", "symbolic"), ("islpy",)),
        (("",), ("dace.autodiff", "dace.ml", "dace.libraries.onnx")),
        (("testing",), ("sdgrad",)),
    ],
)
def test_what_a_room_does_not_know(rooms, packages):
    """The engine knows no ONNX and no PyTorch, differentiation asks no integer sets, nobody imports a competitor."""
    inside = [m for m in MODULES if m.removeprefix("sdgrad.").startswith(rooms) and not is_face(m)]
    assert inside
    known = [(m, i) for m in inside for i in imports(m) for p in packages if i == p or i.startswith(f"{p}.")]
    assert not [(m, i) for m, i in known if packages != ("sdgrad",) or i == "sdgrad"]


def test_between_reading_a_graph_and_writing_one_nobody_touches_it():
    names = {"SDFG", "SDFGState", "LoopRegion", "ConditionalBlock"}
    for module in (m for m in MODULES if m.removeprefix("sdgrad.").startswith(GRAPHLESS)):
        used = {n.attr for n in ast.walk(TREES[module]) if isinstance(n, ast.Attribute)}
        used |= {n.id for n in ast.walk(TREES[module]) if isinstance(n, ast.Name)}
        assert not used & names, module


MOST_COMPLEX = 0.015
"""The share of functions that may have a complexity over 15."""

LONGEST_FILE, LONGEST_FUNCTION = 400, 40
LONG_FILES: set[str] = set()
LONG_FUNCTIONS = {
    "sdgrad.testing._checks.check_grads",  # 17 lines of documentation, one parameter a line
    "sdgrad.solvers.ivp.solve_ivp",  # 29 lines of documentation
}
"""What is longer, and why."""


def test_complexity():
    """``radon cc`` counts branches, boolean operators and comprehensions."""
    found = [(f.complexity, m, f.name) for m, s in SOURCES.items() for f in cc_visit(s) if f.letter in "FM"]
    complex_ones = sorted((f for f in found if f[0] > 15), reverse=True)
    assert len(complex_ones) <= MOST_COMPLEX * len(found), complex_ones


def test_lengths():
    assert {m for m, s in SOURCES.items() if s.count("\n") > LONGEST_FILE} == LONG_FILES
    found = {
        f"{m}.{n.name}"
        for m, tree in TREES.items()
        for n in ast.walk(tree)
        if isinstance(n, ast.FunctionDef) and n.end_lineno - n.lineno >= LONGEST_FUNCTION
    }
    assert found == LONG_FUNCTIONS
