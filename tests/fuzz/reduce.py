"""The smallest program that fails as a given one does: statements left out, expressions replaced by their parts."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator

from fuzz.printing import ARGUMENTS, names_in


def reduced(program: str, fails: Callable[[str], bool], most: int = 400) -> str:
    """A program that still fails, of which no single part can be left out.

    :param fails: whether a program fails in the way that matters. Programs that do not run do not.
    :param most: how many programs may be tried.
    """
    tried = {program}
    start = 0
    while len(tried) <= most:
        for k, text in enumerate(candidates(program)):
            if k < start or text in tried:
                continue
            tried.add(text)
            if len(tried) > most or fails(text):
                break
        else:
            if start == 0:
                return program
            start = 0
            continue
        if len(tried) <= most:
            program, start = text, k
    return program


def candidates(program: str) -> Iterator[str]:
    """Programs with one part less, those with large parts missing first."""
    tree = ast.parse(program)
    for edits in (without_statement, unfolded, with_part):
        for path in range(sum(1 for _ in ast.walk(tree))):
            for choice in range(8):
                changed = copy.deepcopy(tree)
                node = next(n for k, n in enumerate(ast.walk(changed)) if k == path)
                if not edits(changed, node, choice):
                    break
                yield tidy(changed)


def without_statement(tree: ast.Module, node: ast.AST, choice: int) -> bool:
    """Leave out the body's statement of this number."""
    if not isinstance(node, (ast.FunctionDef, ast.For, ast.While, ast.If)) or _is_arguments(node):
        return False
    body = node.body + getattr(node, "orelse", [])
    if choice >= len(body):
        return False
    owner = node.body if choice < len(node.body) else node.orelse
    owner.remove(body[choice])
    if not node.body:
        node.body = [ast.Pass()]
    return True


def unfolded(tree: ast.Module, node: ast.AST, choice: int) -> bool:
    """Replace a compound statement of this body by what it holds."""
    if not hasattr(node, "body") or not isinstance(node.body, list):
        return False
    compounds = [
        (b, s)
        for b in (node.body, getattr(node, "orelse", []))
        for s in b
        if isinstance(s, (ast.For, ast.While, ast.If))
    ]
    inner = [(b, s, part) for b, s in compounds for part in (s.body, s.orelse) if part]
    if choice >= len(inner):
        return False
    body, statement, part = inner[choice]
    at = body.index(statement)
    body[at : at + 1] = part
    return True


def with_part(tree: ast.Module, node: ast.AST, choice: int) -> bool:
    """Replace one expression of this node by a part of it, or by a number."""
    if _in_arguments(tree, node):
        return False
    options = [(name, position, new) for name, position, child in _expressions(node) for new in _parts(child)]
    if choice >= len(options):
        return False
    name, position, new = options[choice]
    if position is None:
        setattr(node, name, new)
    else:
        getattr(node, name)[position] = new
    return True


def _expressions(node: ast.AST) -> Iterator[tuple[str, int | None, ast.expr]]:
    assignment = isinstance(node, (ast.Assign, ast.AugAssign, ast.For))
    for name, value in ast.iter_fields(node):
        if name == "func" or assignment and name in ("targets", "target"):
            continue
        if isinstance(value, ast.expr):
            yield name, None, value
        elif isinstance(value, list):
            yield from ((name, k, v) for k, v in enumerate(value) if isinstance(v, ast.expr))


def _parts(node: ast.expr) -> list[ast.expr | None]:
    """Simpler expressions in the place of one."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.Call):
        return list(node.args)
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.BoolOp):
        return list(node.values)
    if isinstance(node, ast.Slice) and (node.lower or node.upper or node.step):
        return [ast.Slice()]
    if isinstance(node, ast.Subscript):
        return [ast.Constant(0.5)]
    if isinstance(node, ast.Name) and node.id not in ("np",):
        return [ast.Constant(0), ast.Constant(1), ast.Constant(0.5)]
    return []


def _is_arguments(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == "arguments"


def _in_arguments(tree: ast.Module, node: ast.AST) -> bool:
    return any(node in ast.walk(f) for f in tree.body if _is_arguments(f)) or isinstance(node, ast.arguments)


def tidy(tree: ast.Module) -> str:
    """The text of a module without the arguments and functions that nothing uses."""
    functions = {f.name: f for f in tree.body if isinstance(f, ast.FunctionDef)}
    program, arguments = functions["program"], functions["arguments"]
    used = {n.id for s in program.body for n in ast.walk(s) if isinstance(n, ast.Name)}
    program.args.args = [a for a in program.args.args if a.arg in used or a.arg not in ARGUMENTS]
    made = arguments.body[0].value
    made.keywords = [k for k in made.keywords if k.arg in used]
    for name in reversed([n for n in functions if n not in ("program", "arguments")]):
        later = [f for f in tree.body if f is not functions[name]]
        if name not in names_in("\n".join(map(ast.unparse, later))):
            tree.body.remove(functions[name])
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
