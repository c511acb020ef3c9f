"""The command ``sdgrad``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table

from sdgrad.config import config
from sdgrad.errors import SdgradError

LARGEST_ERROR = 1e-3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status is 0 if all is well."""
    parser = argparse.ArgumentParser(prog="sdgrad", description="Gradients as generated code.")
    groups = parser.add_subparsers(required=True, metavar="onnx | prepare")
    add_onnx(groups)
    text = (
        "compile what all programs share, the C++ header most of all, so that the first gradient need not wait for it, "
        "and measure how fast the machine is, for plans within limits of memory"
    )
    groups.add_parser("prepare", help=text, description=text).set_defaults(run=prepare)
    options = parser.parse_args(arguments)
    try:
        return options.run(options)
    except SdgradError as error:
        Console(stderr=True).print(f"[red]error:[/red] {error}", highlight=False)
        return 1


def add_onnx(groups: argparse._SubParsersAction) -> None:
    """The commands for models."""
    onnx = groups.add_parser("onnx", help="look at, check and differentiate ONNX models")
    commands = onnx.add_subparsers(required=True, metavar="info | check | grad")
    for name, function, text in (
        ("info", info, "list the operators, and which are differentiable"),
        ("check", check, "compare outputs with onnxruntime and gradients with differences"),
        ("grad", grad, "write the gradient as a C library with a header"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("model", help="an ONNX file")
        command.add_argument("--extent", type=int, default=2, help="of dimensions that the model leaves open")
        command.set_defaults(run=function)
        if name == "grad":
            command.add_argument("--wrt", nargs="+", help="inputs and weights; all inputs unless given")
            command.add_argument("--out", default="gradient", help="the folder that is written")


def prepare(options: argparse.Namespace) -> int:
    from sdgrad.machine.disk import disk_folder
    from sdgrad.machine.rates import keep, measured
    from sdgrad.runtime.compile.cache_folder import cache_folder
    from sdgrad.runtime.compile.precompiled_header import preparations

    console = Console()
    for what, shared in preparations():
        there = shared.target.exists()
        with console.status(f"compiling the {what}"):
            start = time.perf_counter()
            shared.make()
        took = "is there already" if there else f"compiled in {time.perf_counter() - start:.1f} s"
        console.print(f"{what}: {took}", highlight=False)
    with console.status("measuring the machine"):
        rates = measured(disk_folder(config.disk_folder))
        keep(rates, cache_folder())
    console.print(", ".join(f"{n} {v:.2g}" for n, v in rates.items()), highlight=False, soft_wrap=True)
    console.print(f"kept in {cache_folder()}", highlight=False, soft_wrap=True)
    return 0


def info(options: argparse.Namespace) -> int:
    from sdgrad.onnx.checking import operators
    from sdgrad.onnx.model import load

    console = Console()
    with console.status(f"reading {options.model}"):
        model = load(options.model)
        uses = operators(model, options.extent)
    count = sum(w.size for w in model.weights.values())
    console.print(f"inputs: {', '.join(model.inputs)}; outputs: {', '.join(model.outputs)}")
    console.print(f"{len(model.weights)} weights, {count:,} numbers; opset {model.reading.opsets['']}")
    table = Table("operator", "count", "run by", "differentiated")
    for use in uses:
        table.add_row(use.kind, str(use.count), use.forward, use.gradient)
    console.print(table)
    return 0


def check(options: argparse.Namespace) -> int:
    from sdgrad.onnx.checking import check as checked

    console = Console()
    with console.status(f"checking {options.model}"):
        found = checked(options.model, options.extent)
    console.print(f"outputs differ from onnxruntime's by {found.values:.1e} of the largest")
    if found.gradients is None:
        console.print(f"no gradients: {found.remark}")
        return int(found.values > LARGEST_ERROR)
    console.print(f"the gradient differs from differences by {found.gradients:.1e}")
    return int(max(found.values, found.gradients) > LARGEST_ERROR)


def against(output, cotangent):
    return np.sum(output * cotangent)


def grad(options: argparse.Namespace) -> int:
    from sdgrad.api.export import export_c
    from sdgrad.errors import NameNotFound, NotScalarError
    from sdgrad.onnx.checking import example_inputs
    from sdgrad.onnx.losses import WithLoss
    from sdgrad.onnx.model import load

    console = Console()
    model = load(options.model)
    if len(model.outputs) != 1:
        raise NotScalarError(f"the model has {len(model.outputs)} outputs; the command takes models with one")
    wrt = options.wrt or list(model.inputs)
    if unknown := [n for n in wrt if n not in model.names]:
        raise NameNotFound("input or weight", unknown[0], model.names)
    with console.status(f"differentiating {options.model}"):
        inputs = example_inputs(model, options.extent)
        arguments = model.bound(inputs, {})
        shape, dtype = model.function.graph(arguments).results[0]
        function = WithLoss(model.function, against, 1)
        given = [*arguments.values(), np.zeros(shape, dtype)]
        header = export_c(function, options.out, *given, wrt=[model.names[n] for n in wrt])
    console.print(f"wrote {header} and the library beside it")
    console.print("the function returns sum(output * cotangent), and gradients of it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
