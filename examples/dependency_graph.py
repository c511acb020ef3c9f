"""What depends on what in ``log(x**2) * sin(x) + 1/x``, and how the derivative is put together, step by step."""

import ast

import networkx as nx
import numpy as np

import sdgrad
from sdgrad.analysis.activity import leaf_facts
from sdgrad.program.tree import Leaf, Load, Store, walk
from sdgrad.specialize.signature import Signature


def f(x):
    return np.log(x**2) * np.sin(x) + 1.0 / x


graph = nx.DiGraph()
program = Signature.of(f, {"x": 2.0}).program
for leaf in (n for n in walk(program.body) if isinstance(n, Leaf)):
    facts = leaf_facts(leaf, program)
    for instr in leaf.body:
        if isinstance(instr, Load):
            graph.add_edge(instr.container, instr.name, partial="1")
        elif isinstance(instr, Store):
            graph.add_edge(instr.value, instr.container, partial="1")
        else:
            for p in facts.partials.get(instr.name, ()):
                graph.add_edge(p.operand, instr.name, partial=ast.unparse(p.factor) if p.factor else "1")

for node in nx.topological_sort(graph):
    for before, _, data in graph.in_edges(node, data=True):
        print(f"d {node} / d {before} = {data['partial']}")

x = 2.0
derivative = sdgrad.grad(f)(x)
print(f"f'({x}) = {derivative}")
assert nx.is_directed_acyclic_graph(graph) and nx.has_path(graph, "x", "__return")
assert np.isclose(derivative, 2 / x * np.sin(x) + np.log(x**2) * np.cos(x) - 1 / x**2)
