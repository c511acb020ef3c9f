"""``sdgrad explain`` and ``sdgrad check``: of a function in a file, at arguments that are given as Python."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from sdgrad.cli.options import arguments, as_json, function, print_json, wrt
from sdgrad.errors import ArgumentError, NameNotFound
from sdgrad.program.source_lines import file_and_line

if TYPE_CHECKING:
    from sdgrad.api.explain import Explanation
    from sdgrad.testing import GradientReport


@click.command()
@function
@arguments
@wrt
@click.option("--html", type=click.Path(dir_okay=False), help="Write a page with primal and adjoint side by side.")
@click.option("--memory-limit", help="Explain the plan within a limit: '2GiB', '25%', 'min'.")
@as_json
def explain(
    function: str, given: str, wrt: tuple[str, ...], html: str | None, memory_limit: str | None, as_json: bool
) -> None:
    """Say how the gradient of a function is computed, and which values it keeps.

    \b
    sdgrad explain heat.py:loss --args "np.ones(100), 10"
    sdgrad explain heat.py:loss --args "np.ones(100), 10" --html heat.html
    sdgrad explain heat.py:loss --args "np.ones(100), 10" --json | jq .bytes_kept
    """
    import sdgrad

    f, values = found_function(function, given)
    found = sdgrad.explain(f, *values, wrt=wrt or 0, memory_limit=memory_limit)
    page = found.to_html(html) if html else None
    if as_json:
        print_json(_told(found))
    else:
        click.echo(f"wrote {page}" if page else str(found))


@click.command()
@function
@arguments
@wrt
@click.option("--order", type=click.IntRange(1, 2), default=1, help="2 checks second derivatives as well.")
@click.option("--forward", is_flag=True, help="Check forward mode as well.")
@as_json
def check(function: str, given: str, wrt: tuple[str, ...], order: int, forward: bool, as_json: bool) -> int:
    """Compare the gradient of a function with differences of it.

    The exit status is 1 if they differ.

    \b
    sdgrad check heat.py:loss --args "np.random.rand(20), 10"
    sdgrad check heat.py:loss --args "np.random.rand(20), 10" --order 2 --forward
    """
    from sdgrad.testing import GradientCheckError, check_grads

    f, values = found_function(function, given)
    report, message = None, ""
    try:
        report = check_grads(f, values, order, ("rev", "fwd") if forward else ("rev",), wrt=wrt or None)
    except GradientCheckError as error:
        report, message = error.report, str(error)
    if as_json:
        print_json({"passed": not message, "error": message or None, "arguments": rows(report)})
    else:
        click.echo(message or str(report), err=bool(message))
    return int(bool(message))


def rows(report: GradientReport | None) -> list[dict[str, Any]]:
    """Return what a check found for each argument, mode and order."""
    return [
        {
            **{name: getattr(row, name) for name in ("name", "dtype", "shape", "mode", "order", "verdict")},
            "checks": len(row.comparisons),
            "worst": asdict(row.worst),
        }
        for row in (report.arguments if report is not None else ())
    ]


def _told(found: Explanation) -> dict[str, Any]:
    """Return an explanation for other programs."""
    slowest = found.summary.slowest
    return {
        "function": found.name,
        "wrt": found.wrt,
        "bytes_kept": found.bytes_kept,
        "memory_limit": found.limit,
        "seconds": found.summary.seconds,
        "nests": dict(found.summary.nests),
        "calls": dict(found.summary.calls),
        "slowest": slowest and {"share": slowest.share, "what": slowest.what, "place": file_and_line(slowest.source)},
        "tape": [asdict(value) for value in found.tape],
        "statements": [
            {
                **{name: getattr(one, name) for name in ("place", "line", "active", "primal", "adjoint", "schedule")},
                "values": [asdict(value) for value in one.values],
            }
            for one in found.statements
        ],
    }


def found_function(function: str, given: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
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
