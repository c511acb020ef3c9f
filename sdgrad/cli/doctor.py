"""``sdgrad doctor``: say what is wrong with an installation, and how to mend it."""

from __future__ import annotations

from dataclasses import asdict

import click
from rich.console import Console
from rich.markup import escape

from sdgrad.cli.options import as_json, print_json

SIGNS = {"good": "[green]good    [/green]", "none": "none    ", "doubtful": "[yellow]doubtful[/yellow]"}
SIGNS["bad"] = "[red]bad     [/red]"


@click.command()
@as_json
def doctor(as_json: bool) -> int:
    """Look at compiler, BLAS, threads, GPU, MPI, cache and versions, and compute a gradient.

    Of what is wrong it says how to mend it. The exit status is 1 if no gradient can be computed.

    \b
    sdgrad doctor
    sdgrad doctor --json | jq '.[] | select(.state == "bad")'
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
        print_json([asdict(f) for f in found])
    return int(any(f.state == "bad" for f in found))
