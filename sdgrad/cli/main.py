"""The command ``sdgrad``: what all commands share, and the list of them."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.console import Console
from rich.markup import escape

from sdgrad.cli.bench import bench
from sdgrad.cli.cache import cache
from sdgrad.cli.demo import demo
from sdgrad.cli.doctor import doctor
from sdgrad.cli.functions import check, explain
from sdgrad.cli.models import onnx
from sdgrad.cli.prepare import prepare
from sdgrad.errors import SdgradError

COMPLETION = """\b
Completion of commands, for bash (zsh and fish likewise):
  eval "$(_SDGRAD_COMPLETE=bash_source sdgrad)"
"""


@click.group(epilog=COMPLETION, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sdgrad")
def sdgrad() -> None:
    """Gradients of NumPy programs, PyTorch modules and ONNX models, as generated code.

    Exit status: 0 if all is well, 1 if something is wrong, 2 for a command that does not exist.
    """


for _command in (demo, doctor, prepare, explain, check, bench, onnx, cache):
    sdgrad.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit status.

    :param arguments: those of the process, unless given.
    """
    try:
        return sdgrad.main(arguments, prog_name="sdgrad", standalone_mode=False) or 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        Console(stderr=True).print("interrupted")
        return 1
    except SdgradError as error:
        Console(stderr=True).print(f"[red]error:[/red] {escape(str(error))}", highlight=False, soft_wrap=True)
        return 1
