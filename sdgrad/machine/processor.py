"""Say what kind of processor this is: code that is compiled for one may not run on another."""

from __future__ import annotations

import functools
import hashlib
import platform
import re
from collections.abc import Iterable
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
SETS = re.compile("s?sse|avx|amx|fma|bmi|abm|adx|f16c|v?aes|v?pclmul|sha|gfni|movbe|popcnt|xsave|rdrand|rdseed|cl[fw]")
"""Flags of Linux's that a compiler for this processor makes use of; the others are about its system."""


@functools.cache
def processor() -> str:
    """Return a name of this kind of processor, for a folder: ``x86_64-0b7c1f2a``.

    Machines that share a home folder need not have the same processor.
    """
    told = _told()
    kind = [told.get(k, "") for k in ("model name", "CPU implementer", "CPU part", "isa")]
    text = "\n".join([*kind, *sorted(instruction_sets())]) if told else platform.processor()
    return f"{platform.machine()}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


@functools.cache
def instruction_sets() -> frozenset[str]:
    """Return what the processor can do that others of its family cannot, as Linux spells it; nothing elsewhere."""
    told = _told()
    return frozenset(f for f in told.get("flags", "").split() if SETS.match(f)) | {*told.get("Features", "").split()}


def missing(machine: str, sets: Iterable[str]) -> list[str]:
    """Return what a processor needs to run code for another one, and this one has not.

    :param machine: the family of the other one.
    :param sets: its instruction sets.
    """
    return sorted({*sets} - instruction_sets()) if machine == platform.machine() else [machine]


@functools.cache
def _told() -> dict[str, str]:
    """Return what Linux says of the first processor; nothing elsewhere."""
    try:
        lines = CPUINFO.read_text().split("\n\n")[0].splitlines()
    except OSError:
        return {}
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
