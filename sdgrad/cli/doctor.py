"""``sdgrad doctor``: say what is wrong with an installation, and how to mend it."""

from __future__ import annotations

import json
from dataclasses import asdict

import click
from rich.console import Console
from rich.markup import escape

from sdgrad.cli.cache import as_json

SIGNS = {"good": "[green]good    [/green]", "none": "none    ", "doubtful": "[yellow]doubtful[/yellow]"}
SIGNS["bad"] = "[red]bad     [/red]"


@click.command()
@as_json
def doctor(as_json: bool) -> int:
    """Look at compiler, BLAS, threads, GPU, MPI, cache and versions, and compute a gradient.

    Of what is wrong it says how to mend it. The exit status is 1 if no gradient can be computed.
    """
    from sdgrad.cli.diagnosis import findings

    found = []
    console = Console()
    for finding in findings():
        found.append(finding)
        if as_json:
            continue
        console.print(
            f"{SIGNS[finding.state]} {finding.what}: {escape(finding.found)}", highlight=False, soft_wrap=True
        )
        if finding.mend and finding.state != "good":
            console.print(f"         -> {escape(finding.mend)}", highlight=False, soft_wrap=True)
    if as_json:
        click.echo(json.dumps([asdict(f) for f in found], indent=2))
    return int(any(f.state == "bad" for f in found))
