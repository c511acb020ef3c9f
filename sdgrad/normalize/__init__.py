"""From an SDFG to the program tree: canonical form, so that every later step has few cases."""

from sdgrad.normalize.bounds import read_bounds_once
from sdgrad.normalize.control import lift_sdfg
from sdgrad.normalize.custom import close_calls
from sdgrad.normalize.division import as_python_computes, divide_truly
from sdgrad.normalize.elementary import elementary
from sdgrad.normalize.fresh import start_fresh
from sdgrad.normalize.fuse import fuse
from sdgrad.normalize.hoist import hoist_common
from sdgrad.normalize.integers import known_integers
from sdgrad.normalize.nests import loops_as_nests
from sdgrad.normalize.prepare import prepare
from sdgrad.normalize.sizes import bound_sizes
from sdgrad.normalize.stopping import stop_at
from sdgrad.normalize.trips import remember_trips
from sdgrad.normalize.truncation import refuse_truncation
from sdgrad.normalize.updates import spell_out_updates

__all__ = [
    "as_python_computes",
    "bound_sizes",
    "close_calls",
    "divide_truly",
    "elementary",
    "fuse",
    "hoist_common",
    "known_integers",
    "lift_sdfg",
    "loops_as_nests",
    "prepare",
    "read_bounds_once",
    "refuse_truncation",
    "remember_trips",
    "spell_out_updates",
    "start_fresh",
    "stop_at",
]
