"""``sdgrad prepare``: compile ahead what all programs share."""

from __future__ import annotations

import time

import click
from rich.console import Console

from sdgrad.cli.options import as_json, print_json
from sdgrad.config import config
from sdgrad.runtime.compile.file_lock import is_whole


@click.command()
@as_json
def prepare(as_json: bool) -> None:
    """Compile what all programs share, and measure how fast the machine is.

    That is the C++ header most of all: without this command the first gradient waits for it, a few seconds. How fast
    the machine is decides about plans within limits of memory.
    """
    from sdgrad.machine.disk import disk_folder
    from sdgrad.machine.rates import keep, measured
    from sdgrad.runtime.compile.cache_folder import cache_folder
    from sdgrad.runtime.compile.precompiled_header import preparations

    console = Console(quiet=as_json)
    seconds = {}
    for what, shared in preparations():
        there = is_whole(shared.target)
        with console.status(f"compiling the {what}"):
            start = time.perf_counter()
            shared.make()
        seconds[what] = 0.0 if there else time.perf_counter() - start
        took = "is there already" if there else f"compiled in {seconds[what]:.1f} s"
        console.print(f"{what}: {took}", highlight=False)
    with console.status("measuring the machine"):
        rates = measured(disk_folder(config.disk_folder))
        keep(rates, cache_folder())
    console.print(", ".join(f"{n} {v:.2g}" for n, v in rates.items()), highlight=False, soft_wrap=True)
    console.print(f"kept in {cache_folder()}", highlight=False, soft_wrap=True)
    if as_json:
        print_json({"folder": str(cache_folder()), "seconds": seconds, "rates": rates})
