"""``sdgrad explain`` and ``sdgrad check``: of a function in a file, at arguments that are given as Python."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

from sdgrad.errors import ArgumentError, NameNotFound

function = click.argument("function", metavar="FILE.py:FUNCTION")
arguments = click.option(
    *("--args", "given"),
    default="",
    help="Its arguments, as Python with np and all names of the file: 'np.ones(5), 2'.",
)
wrt = click.option("--wrt", multiple=True, help="The argument to differentiate by; may be given again.")


@click.command()
@function
@arguments
@wrt
@click.option("--html", type=click.Path(dir_okay=False), help="Write a page with primal and adjoint side by side.")
@click.option("--memory-limit", help="Explain the plan within a limit: '2GiB', '25%', 'min'.")
def explain(function: str, given: str, wrt: tuple[str, ...], html: str | None, memory_limit: str | None) -> None:
    """Say how the gradient of a function is computed, and which values it keeps.

    \b
    sdgrad explain heat.py:loss --args "np.ones(100), 10"
    sdgrad explain heat.py:loss --args "np.ones(100), 10" --html heat.html
    """
    import sdgrad

    f, values = _found(function, given)
    found = sdgrad.explain(f, *values, wrt=wrt or 0, memory_limit=memory_limit)
    click.echo(f"wrote {found.to_html(html)}" if html else str(found))


@click.command()
@function
@arguments
@wrt
@click.option("--order", type=click.IntRange(1, 2), default=1, help="2 checks second derivatives as well.")
@click.option("--forward", is_flag=True, help="Check forward mode as well.")
def check(function: str, given: str, wrt: tuple[str, ...], order: int, forward: bool) -> int:
    """Compare the gradient of a function with differences of it.

    The exit status is 1 if they differ.

    \b
    sdgrad check heat.py:loss --args "np.random.rand(20), 10"
    """
    from sdgrad.testing import GradientCheckError, check_grads

    f, values = _found(function, given)
    try:
        report = check_grads(f, values, order, ("rev", "fwd") if forward else ("rev",), wrt=wrt or None)
    except GradientCheckError as error:
        click.echo(str(error), err=True)
        return 1
    click.echo(str(report))
    return 0


def _found(function: str, given: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return a function of a file, and its arguments.

    :raises ArgumentError: there is no such file, or the arguments are no Python.
    :raises NameNotFound: the file has no such function.
    """
    file, colon, name = function.rpartition(":")
    path = Path(file)
    if not colon or not name or not path.is_file():
        raise ArgumentError(f"'{function}' is no function of a file: write FILE.py:FUNCTION" + _missing(path, colon))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ArgumentError(f"{path} is no file of Python's")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent.absolute()))  # for what it imports
    spec.loader.exec_module(module)
    if not callable(getattr(module, name, None)):
        raise NameNotFound("function", name, [n for n, v in vars(module).items() if callable(v)])
    try:
        values = eval(f"({given},)" if given.strip() else "()", {"np": np, **vars(module)})  # noqa: S307
    except Exception as error:
        raise ArgumentError(f"--args '{given}': {type(error).__name__}: {error}") from error
    return getattr(module, name), values


def _missing(path: Path, colon: str) -> str:
    return f"; there is no file {path}" if colon else ""
