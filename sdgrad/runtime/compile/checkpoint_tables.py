"""Compile the tables that schedules of checkpoints look up: once on a machine, for most programs take less time."""

from __future__ import annotations

from pathlib import Path

from sdgrad.runtime import INCLUDE
from sdgrad.runtime.compile.native_object import NativeObject

SOURCE = Path(__file__).parent.parent / "native" / "checkpoint_tables.cpp"
HEADER = INCLUDE / "sdgrad_schedule.h"


def table_object() -> NativeObject:
    """Return the compiled functions of ``checkpoint_tables.cpp``."""
    return NativeObject.of_source(SOURCE, [HEADER], ("-O3",), "checkpoints", "tables of checkpoints")
