"""``sdgrad demo``: what this is good for, in some seconds, with what is installed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console

from sdgrad.cli.options import as_json, print_json

PICTURE = "sdgrad_demo.png"
SAMPLES = 5
STORY = """A plate conducts heat badly in one place. Its temperatures before and after
are known, and a simulation: a loop of {steps} steps that overwrites its arrays, in
plain NumPy. Which conductivity of the {points:,} points explains the temperatures?
A search needs the gradient of the misfit through all steps.
"""


@click.command()
@click.option("--picture", default=PICTURE, show_default=True, type=click.Path(dir_okay=False), help="Where it goes.")
@click.option("--no-picture", is_flag=True, help="Write no file.")
@click.option("--iterations", type=click.IntRange(1), default=120, show_default=True, help="Of the search.")
@as_json
def demo(picture: str, no_picture: bool, iterations: int, as_json: bool) -> int:
    """Find a fault in a plate by the gradient of a simulation of heat.

    It compiles the gradient of a NumPy loop, measures it beside the loop itself, checks it against differences,
    searches with it, and draws what it finds, if matplotlib is there. The exit status is 1 if the gradient is wrong.

    \b
    sdgrad demo
    sdgrad demo --no-picture --json
    """
    from sdgrad.cli.plate import STEPS, Plate

    console = Console(quiet=as_json, highlight=False)
    plate = Plate.made()
    console.print(STORY.format(steps=STEPS, points=plate.guess.size))
    told, gradient = _times(plate, console)
    told["right"] = _check(plate, console)
    if told["right"]:
        told |= _search(plate, gradient, iterations, None if no_picture else Path(picture), console)
    if as_json:
        print_json(told)
    return int(not told["right"])


def _times(plate: Any, console: Console) -> tuple[dict[str, Any], Any]:
    """Tell what the gradient takes beside the function; return that, and the gradient."""
    import sdgrad
    from sdgrad.cli.measuring import measured, time_text
    from sdgrad.cli.plate import misfit

    at = (plate.guess, plate.start, plate.measured)
    forward, gradient = sdgrad.compile_forward(misfit), sdgrad.value_and_grad(misfit)
    calls = {"NumPy": lambda: misfit(*at), "compiled": lambda: forward(*at), "gradient": lambda: gradient(*at)}
    with console.status("compiling") as status:
        found = measured(calls, SAMPLES, lambda what: status.update(what))
    numpy, compiled, both = (found[name].seconds for name in calls)
    console.print(f"first call of the gradient: {time_text(found['gradient'].first)}; it compiles, or loads from disk")
    console.print(f"the function: {time_text(numpy)} by NumPy, {time_text(compiled)} compiled")
    console.print(f"value and gradient: {time_text(both)}, {both / compiled:.1f} times the compiled function")
    console.print(f"differences would take {plate.guess.size + 1:,} runs of the function\n")
    first = {"first_call": found["gradient"].first, "parameters": plate.guess.size}
    return {**first, "numpy": numpy, "compiled": compiled, "value_and_gradient": both}, gradient


def _check(plate: Any, console: Console) -> bool:
    """Compare the gradient with differences of the NumPy function; return whether it is right."""
    from sdgrad.cli.plate import misfit
    from sdgrad.testing import GradientCheckError, check_grads

    console.print("against differences of the NumPy function:")
    try:
        with console.status("computing differences"):
            report = check_grads(misfit, (plate.guess, plate.start, plate.measured), wrt=("conductivity",))
    except GradientCheckError as error:
        console.print(str(error), style="red", markup=False, soft_wrap=True)
        return False
    console.print(f"{report}\n", markup=False, soft_wrap=True)
    return True


def _search(plate: Any, gradient: Any, iterations: int, picture: Path | None, console: Console) -> dict[str, Any]:
    """Search for the fault, and draw it."""
    from sdgrad.cli.measuring import time_text
    from sdgrad.cli.plate import Search, draw

    search = Search(gradient, plate)
    start = time.perf_counter()
    with console.status("searching"):
        found = search.run(iterations)
    seconds = time.perf_counter() - start
    before = float(gradient(plate.guess, plate.start, plate.measured)[0])
    off = float(np.max(np.abs(found - plate.hidden)[2:-2, 2:-2]))
    console.print(f"search: {len(search.losses)} iterations of L-BFGS in {time_text(seconds)}")
    console.print(f"misfit: from {before:.3g} to {search.losses[-1]:.3g}")
    try:
        if picture is not None:
            draw(plate, found, search.losses, picture)
            console.print(f"picture: {picture}", soft_wrap=True)
    except ImportError:
        picture = None
        console.print("picture: none, matplotlib is not there")
    told = {"iterations": len(search.losses), "search": seconds, "misfit": [before, search.losses[-1]]}
    return {**told, "largest_error": off, "picture": picture and str(picture)}
