"""Check that a model is sound before anything works on it: anybody may have written the file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import onnx
from onnx import defs

from sdgrad.errors import InvalidModel
from sdgrad.onnx_ops.registry import plain_domain

DEEPEST = 64
"""How many graphs may lie in each other. Files have fewer than 40: protobuf reads messages a hundred deep."""
MOST_NODES = 1_000_000


def bodies(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """Yield the graphs among the attributes of a node."""
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs


def nodes_in(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Yield nodes, and those of the graphs in them."""
    for node in nodes:
        yield node
        for body in bodies(node):
            yield from nodes_in(body.node)


def check_depth(proto: onnx.ModelProto, label: str) -> None:
    """Raise an error if more graphs lie in each other than what works on them by recursion can take."""
    nodes = [*proto.graph.node, *(n for f in proto.functions for n in f.node)]
    for _ in range(DEEPEST):
        nodes = [n for node in nodes for body in bodies(node) for n in body.node]
        if not nodes:
            return
    raise InvalidModel(f"{label} has more than {DEEPEST} graphs inside of each other")


def check_functions(proto: onnx.ModelProto, label: str) -> None:
    """Raise an error if a function of the model calls itself, or if there are too many calls to write them all out."""
    calls = {(plain_domain(f.domain), f.name): called_in(f.node) for f in proto.functions}
    length: dict[tuple[str, str], int] = {}
    waiting = list(calls)
    while waiting:
        ready = [f for f in waiting if all(c in length for c in calls[f] if c in calls)]
        if not ready:
            raise InvalidModel(f"{label}: the function '{waiting[0][1]}' calls itself")
        for f in ready:
            length[f] = sum(length.get(c, 1) for c in calls[f])
        waiting = [f for f in waiting if f not in length]
    if sum(length.get(c, 1) for c in called_in(proto.graph.node)) > MOST_NODES:
        raise InvalidModel(f"{label} has more than {MOST_NODES} nodes when its functions are written out")


def check_versions(function: onnx.FunctionProto, versions: Mapping[str, int], label: str) -> None:
    """Raise an error if operators of a function are others in the model's versions of the operator sets."""
    own = {plain_domain(o.domain): o.version for o in function.opset_import}
    for domain, kind in called_in(function.node):
        version, other = own.get(domain, 0), versions.get(domain, 0)
        if version == other or not (defs.has(kind, version, domain) and defs.has(kind, other, domain)):
            continue
        if len({defs.get_schema(kind, v, domain).since_version for v in (version, other)}) > 1:
            told = f"{kind} is another operator in version {version} of its operator set, which the function"
            hint = f"imports, than in version {other}, which the model imports: write both in one version"
            raise InvalidModel(f"{label}: function '{function.name}': {told} {hint}")


def called_in(nodes: Iterable[onnx.NodeProto]) -> list[tuple[str, str]]:
    """List the operators of nodes, and of the graphs in them."""
    return [(plain_domain(n.domain), n.op_type) for n in nodes_in(nodes)]


def check_operators(proto: onnx.ModelProto, label: str) -> None:
    """Raise an error unless every node is an operator of a known set, or one of the model's functions."""
    own = {(plain_domain(f.domain), f.name) for f in proto.functions}
    opsets = {plain_domain(o.domain): o.version for o in proto.opset_import}
    newest = defs.onnx_opset_version()
    if opsets.get("", 1) > newest:
        raise InvalidModel(
            f"{label} uses operator set {opsets['']}; the installed onnx {onnx.__version__} knows them up to {newest}"
        )
    nodes = (n for n in nodes_in(proto.graph.node) if (plain_domain(n.domain), n.op_type) not in own)
    problems = [problem for node in nodes if (problem := _problem(node, opsets))]
    if problems:
        raise InvalidModel(f"{label} cannot be read:\n  " + "\n  ".join(dict.fromkeys(problems)))


def _problem(node: onnx.NodeProto, opsets: Mapping[str, int]) -> str:
    """Return why a node is no operator of these sets; nothing if it is one."""
    domain = plain_domain(node.domain)
    what, version = f"{node.op_type} '{node.name}'", opsets.get(domain, 1)
    if domain not in opsets and domain != "":
        return f"{what}: the model does not import the domain '{domain}'"
    if not defs.has(node.op_type, version, domain):
        where = f"version {version} of the operator set '{domain or 'ai.onnx'}'"
        return f"{what}: there is no such operator in {where}"
    schema = defs.get_schema(node.op_type, version, domain)
    if not schema.min_input <= len(node.input) <= schema.max_input:
        return f"{what} has {len(node.input)} inputs, and takes {schema.min_input} to {schema.max_input}"
    return ""


def check_names(graph: onnx.GraphProto, label: str, outer: Collection[str] = frozenset()) -> None:
    """Raise an error unless nodes read what is computed before them, once each.

    :param outer: the names that a graph inside of another one may read.
    """
    known = {*outer, *(i.name for i in graph.input), *(i.name for i in graph.initializer)}
    known |= {i.values.name for i in graph.sparse_initializer}
    if not all(v.name for v in (*graph.input, *graph.output)):
        raise InvalidModel(f"{label}: an input or an output of the graph '{graph.name}' has no name")
    made: set[str] = set()
    for node in graph.node:
        if unknown := [n for n in node.input if n and n not in known]:
            raise InvalidModel(
                f"{label}: {node.op_type} '{node.name}' reads '{unknown[0]}', which nothing before it computes"
            )
        for body in bodies(node):
            check_names(body, label, known)
        if twice := [n for n in node.output if n in made]:
            raise InvalidModel(f"{label}: {node.op_type} '{node.name}' computes '{twice[0]}', as a node before it does")
        made |= {n for n in node.output if n}
        known |= made
    if unknown := [o.name for o in graph.output if o.name not in known]:
        raise InvalidModel(f"{label}: nothing computes the output '{unknown[0]}'")
