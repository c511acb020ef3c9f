"""``sdgrad bench``: what the value and the gradient of a function take."""

from __future__ import annotations

import copy
import inspect
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from sdgrad.cli.functions import found_function
from sdgrad.cli.measuring import Measured, measured, time_text
from sdgrad.cli.options import arguments, as_json, function, print_json, wrt
from sdgrad.config import config
from sdgrad.machine.limits import shown

PYTHON, FORWARD, GRADIENT = "NumPy", "compiled", "gradient"


@click.command()
@function
@arguments
@wrt
@click.option("--memory-limit", help="Of the gradient: '2GiB', '25%', 'min'.")
@click.option("--samples", type=click.IntRange(1), default=7, show_default=True, help="Times are medians of so many.")
@click.option("--fresh", is_flag=True, help="Compile again, also what is on disk: the first calls show how long.")
@as_json
def bench(
    function: str,
    given: str,
    wrt: tuple[str, ...],
    memory_limit: str | None,
    samples: int,
    fresh: bool,
    as_json: bool,
) -> None:
    """Measure the time and the memory of a function and its gradient.

    It runs the function by Python and NumPy, the same compiled, and value and gradient in one compiled call. The first
    call compiles, or loads what is on disk. Memory is that by which the process grows in a call, beside the arguments.

    \b
    sdgrad bench heat.py:loss --args "np.ones(100), 10"
    sdgrad bench heat.py:loss --args "np.ones(100), 10" --memory-limit 25% --json
    """
    f, values = found_function(function, given)
    console = Console(quiet=as_json)
    with console.status("") as status, _cache(fresh):
        found = measured(_calls(f, values, wrt, memory_limit), samples, lambda what: status.update(what))
    if as_json:
        rows = {name: asdict(row) for name, row in found.items()}
        ratio = found[GRADIENT].seconds / found[FORWARD].seconds
        print_json({"function": function, "wrt": wrt, "rows": rows, "gradient_over_compiled": ratio})
        return
    console.print(_table(found))
    console.print(f"medians of {samples}; ratios are to the compiled function", highlight=False)


def _calls(
    f: Callable[..., Any], values: tuple[Any, ...], wrt: tuple[str, ...], memory_limit: str | None
) -> dict[str, Callable[[], Any]]:
    """Return what is measured. Functions may write their arguments: each call has copies."""
    import sdgrad

    forward, gradient = sdgrad.compile_forward(f), sdgrad.value_and_grad(f, wrt or 0, memory_limit=memory_limit)
    calls = {FORWARD: lambda: forward(*values), GRADIENT: lambda: gradient(*values)}
    if not inspect.isfunction(f):  # a @dace.program is compiled, too
        return calls
    return {PYTHON: lambda: f(*copy.deepcopy(values)), **calls}


@contextmanager
def _cache(fresh: bool) -> Iterator[None]:
    """Compile into a folder that is removed afterwards, if asked to; what all programs share is there then."""
    if not fresh:
        yield
        return
    import sdgrad

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, config.override(cache_dir=folder):
        sdgrad.prepare()
        yield


def _table(found: dict[str, Measured]) -> Table:
    table = Table("", "first call", "later calls", "ratio", "memory")
    for name, row in found.items():
        ratio = f"{row.seconds / found[FORWARD].seconds:.2f}"
        memory = "unknown" if row.memory is None else shown(row.memory)
        table.add_row(name, time_text(row.first), time_text(row.seconds), ratio, memory)
    return table
