"""From an SDFG to the program tree: canonical form, so that every later step has few cases."""

from sdgrad.normalize.control import lift_sdfg
from sdgrad.normalize.division import divide_truly
from sdgrad.normalize.fresh import start_fresh
from sdgrad.normalize.fuse import fuse
from sdgrad.normalize.prepare import prepare

__all__ = ["divide_truly", "fuse", "lift_sdfg", "prepare", "start_fresh"]
