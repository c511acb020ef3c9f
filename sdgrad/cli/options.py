"""What several commands share: their arguments, and how they print for other programs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import click

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for other programs.")
function = click.argument("function", metavar="FILE.py:FUNCTION")
arguments = click.option(
    *("--args", "given"),
    default="",
    help="Its arguments, as Python with np and all names of the file: 'np.ones(5), 2'.",
)
wrt = click.option("--wrt", multiple=True, help="The argument to differentiate by; may be given again.")


def print_json(told: Any) -> None:
    """Print what a command tells as JSON; numbers that JSON lacks are strings."""
    click.echo(json.dumps(_with_numbers(told), indent=2, default=str))


def _with_numbers(told: Any) -> Any:
    """Return it with "inf" and "nan" in place of numbers that JSON does not know."""
    if isinstance(told, Mapping):
        return {key: _with_numbers(value) for key, value in told.items()}
    if isinstance(told, (list, tuple)):
        return [_with_numbers(value) for value in told]
    return str(told) if isinstance(told, float) and not math.isfinite(told) else told
