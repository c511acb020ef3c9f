"""Functions as DaCe is to read them: their source is rewritten first, step by step.

Each step has a module of its own, and each counts on those before it: regions, sizes, unrolled loops, steps, counters,
returns, continues, names, slices, views; statements come last (:mod:`~sdgrad.frontend.rewrite`).
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from dace.data import Data, Scalar
from dace.frontend.python import astutils, preprocessing
from dace.symbolic import symbol

from sdgrad.errors import ParseError
from sdgrad.frontend.aliases import binds_parameter, refuse_shared_results, separate_names
from sdgrad.frontend.continues import flag_continues
from sdgrad.frontend.counters import separate_counters
from sdgrad.frontend.ranks import ranks
from sdgrad.frontend.rebound import copy_slices
from sdgrad.frontend.regions import known_values, mark_function, mark_regions
from sdgrad.frontend.returns import single_return
from sdgrad.frontend.rewrite import Rewriter
from sdgrad.frontend.sizes import fix_arguments, inline_sizes
from sdgrad.frontend.steps import plain_steps
from sdgrad.frontend.stop_gradient import stop_gradient
from sdgrad.frontend.unroll import unroll_shaping_loops
from sdgrad.frontend.views import keep_indices
from sdgrad.symbolic.expr import Expr

_patching = threading.RLock()
_read = astutils.function_to_ast
_preprocess = preprocessing.preprocess_dace_program
_described: list[Mapping[str, Any]] = []  # arguments of the functions that are being read, the innermost last


@contextlib.contextmanager
def rewriting(
    outermost: Callable, arguments: Mapping[str, Any], constants: Mapping[str, int | Expr]
) -> Iterator[list[ParseError]]:
    """While this is entered, functions DaCe reads are rewritten first.

    ``arguments`` are those of the outermost one; ``constants`` those of them that are put in place by value. What is
    given are the refusals: for a function that the outermost one calls, DaCe goes on and says something else.
    """
    problems: list[ParseError] = []
    with _patching:
        before = astutils.function_to_ast  # of the program that calls the derivative which is made here, perhaps

        def rewritten(function: Any) -> tuple:
            tree, *rest = _read(function)
            for node in tree.body:
                if isinstance(node, ast.FunctionDef):
                    names = {a.arg for a in node.args.args}
                    described = arguments if function is outermost else _described[-1] if _described else {}
                    given = {n: v for n, v in described.items() if n in names}
                    dimensions = {n: r for n, v in given.items() if (r := _rank(v)) is not None}
                    types = {n: k for n, v in given.items() if (k := _kind(v)) is not None}
                    arrays = {n for n, r in dimensions.items() if r > 0}
                    masks = {n for n in given if types.get(n) == "bool"}
                    indices = {n for n in arrays if types.get(n) == "int"}
                    mark_regions(node, function)
                    node = _SpelledOut(_own_names(function)).visit(node)
                    if function is outermost:
                        fix_arguments(node, constants)
                    inline_sizes(node)
                    unroll_shaping_loops(node)
                    plain_steps(node)
                    separate_counters(node)
                    single_return(node)
                    flag_continues(node)
                    later = [] if given or not names else [ParseError]  # it is read again, with arguments
                    with contextlib.suppress(*later), _noting([] if later else problems):
                        called = _called(function)
                        refuse_shared_results(node, called)
                        separate_names(node, called.keys(), dimensions, types)
                        copy_slices(node, dimensions)
                        if function is not outermost:
                            refuse_bound_parameters(node)
                    keep_indices(node)
                    Rewriter(arrays, masks, indices, ranks(node, dimensions)).function(node)
                    mark_function(node, function)
            ast.fix_missing_locations(tree)
            return (tree, *rest)

        astutils.function_to_ast = rewritten
        preprocessing.preprocess_dace_program = _preprocess_with_locals
        try:
            yield problems
        finally:
            astutils.function_to_ast = before
            preprocessing.preprocess_dace_program = _preprocess


@contextlib.contextmanager
def _noting(problems: list[ParseError]) -> Iterator[None]:
    try:
        yield
    except ParseError as error:
        problems.append(error)
        raise


def refuse_bound_parameters(function: ast.FunctionDef) -> None:
    """
    :raises ParseError: what is bound to a parameter would be written over what the caller has given.
    """
    for name in [a.arg for a in function.args.args]:
        if binds_parameter(function, name):
            raise ParseError(
                f"line {function.lineno}: '{function.name}' writes its argument '{name}' in place, and binds the name "
                "to something else. Use another name for that"
            )


def _rank(value: Any) -> int | None:
    """The number of dimensions of an argument, or of what DaCe describes one by.

    An array of one element may be a number that a function has returned.
    """
    if isinstance(value, Data):
        return 0 if isinstance(value, Scalar) else None if tuple(value.shape) == (1,) else len(value.shape)
    return np.ndim(value)


def _kind(value: Any) -> str | None:
    """What kind of numbers an argument holds."""
    dtype = value.dtype.type if isinstance(value, Data) else np.asarray(value).dtype
    return {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}.get(np.dtype(dtype).kind)


def _preprocess_with_locals(f: Any, argtypes: Any, global_vars: dict, modules: dict, *args: Any, **kwargs: Any) -> Any:
    """DaCe takes a name that a branch or a loop binds first, and that is read after it, for a global one, if any."""
    names = f.__code__.co_varnames[f.__code__.co_argcount + f.__code__.co_kwonlyargcount :]
    local = set(names) - modules.keys()
    own = {n: v for n, v in global_vars.items() if n not in local or isinstance(v, symbol)}
    _described.append(argtypes)
    try:
        return _preprocess(f, argtypes, own, modules, *args, **kwargs)
    finally:
        _described.pop()


def _own_names(function: Any) -> dict[str, str]:
    """Names under which a function knows functions of this package that its source may call."""
    known = {id(stop_gradient): "stop_gradient"}
    return {name: known[id(value)] for name, value in known_values(function).items() if id(value) in known}


def _called(function: Any) -> dict[str, Any]:
    """Functions that DaCe is to read as well, by the names under which a function knows them."""
    known = {n: getattr(v, "f", v) for n, v in known_values(function).items()}
    return {n: f for n, f in known.items() if inspect.isfunction(f)}


class _SpelledOut(ast.NodeTransformer):
    """``stop_gradient(x)`` as ``sdgrad.stop_gradient(x)``, which is what DaCe looks for."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in self.names:
            name = ast.Attribute(value=ast.Name("sdgrad", ast.Load()), attr=self.names[node.func.id], ctx=ast.Load())
            node.func = ast.copy_location(name, node.func)
        return node
