"""The command ``sdgrad``."""

from sdgrad.cli.main import main

__all__ = ["main"]
