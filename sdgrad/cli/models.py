"""``sdgrad onnx``: look at ONNX models, check them, and differentiate them."""

from __future__ import annotations

from dataclasses import asdict

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from sdgrad.cli.options import as_json, print_json

LARGEST_ERROR = 1e-3
path = click.argument("model", type=click.Path())
open_extent = click.option(
    "--extent", type=int, default=2, show_default=True, help="Of dimensions that the model leaves open."
)


@click.group()
def onnx() -> None:
    """Look at, check and differentiate ONNX models.

    \b
    sdgrad onnx info model.onnx                        # operators, and how each is run and differentiated
    sdgrad onnx check model.onnx                       # against onnxruntime, and against differences
    sdgrad onnx grad model.onnx --wrt x --out folder   # a C library with a header
    """


@onnx.command()
@path
@open_extent
@as_json
def info(model: str, extent: int, as_json: bool) -> None:
    """List the operators, and which are differentiable."""
    from sdgrad.onnx.checking import operators
    from sdgrad.onnx.model import load

    console = Console(quiet=as_json)
    with console.status(f"reading {model}"):
        loaded = load(model)
        uses = operators(loaded, extent)
    count = sum(w.size for w in loaded.weights.values())
    if as_json:
        names = {"inputs": list(loaded.inputs), "outputs": list(loaded.outputs)}
        sizes = {"weights": len(loaded.weights), "numbers": int(count), "opset": loaded.reading.opsets[""]}
        print_json({**names, **sizes, "operators": [asdict(use) for use in uses]})
        return
    console.print(f"inputs: {', '.join(loaded.inputs)}; outputs: {', '.join(loaded.outputs)}")
    console.print(f"{len(loaded.weights)} weights, {count:,} numbers; opset {loaded.reading.opsets['']}")
    table = Table("operator", "count", "run by", "differentiated")
    for use in uses:
        table.add_row(use.kind, str(use.count), use.forward, use.gradient)
    console.print(table)


@onnx.command()
@path
@open_extent
@as_json
def check(model: str, extent: int, as_json: bool) -> int:
    """Compare outputs with onnxruntime, and gradients with differences; exit status 1 if they differ."""
    from sdgrad.onnx.checking import check as checked

    console = Console(quiet=as_json)
    with console.status(f"checking {model}"):
        found = checked(model, extent)
    if as_json:
        print_json(asdict(found))
    console.print(f"outputs differ from onnxruntime's by {found.values:.1e} of the largest")
    if found.gradients is None:
        console.print(f"no gradients: {found.remark}")
        return int(found.values > LARGEST_ERROR)
    console.print(f"the gradient differs from differences by {found.gradients:.1e}")
    return int(max(found.values, found.gradients) > LARGEST_ERROR)


def against(output, cotangent):
    return np.sum(output * cotangent)


@onnx.command()
@path
@open_extent
@click.option("--wrt", multiple=True, help="An input or weight; may be given again. All inputs unless given.")
@click.option("--out", default="gradient", show_default=True, help="The folder that is written.")
def grad(model: str, extent: int, wrt: tuple[str, ...], out: str) -> None:
    """Write the gradient as a C library with a header."""
    from sdgrad.api.export import export_c
    from sdgrad.errors import NameNotFound, NotScalarError
    from sdgrad.onnx.checking import example_inputs
    from sdgrad.onnx.losses import WithLoss
    from sdgrad.onnx.model import load

    console = Console()
    loaded = load(model)
    if len(loaded.outputs) != 1:
        raise NotScalarError(f"the model has {len(loaded.outputs)} outputs; the command takes models with one")
    names = wrt or tuple(loaded.inputs)
    if unknown := [n for n in names if n not in loaded.names]:
        raise NameNotFound("input or weight", unknown[0], loaded.names)
    with console.status(f"differentiating {model}"):
        inputs = example_inputs(loaded, extent)
        arguments = loaded.bound(inputs, {})
        shape, dtype = loaded.function.graph(arguments).results[0]
        function = WithLoss(loaded.function, against, 1)
        given = [*arguments.values(), np.zeros(shape, dtype)]
        header = export_c(function, out, *given, wrt=[loaded.names[n] for n in names])
    console.print(f"wrote {header} and the library beside it")
    console.print("the function returns sum(output * cotangent), and gradients of it")
