"""Limits of memory as users write them: bytes, ``"2GiB"``, a share ``"25%"``, or ``"min"``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from sdgrad.errors import ArgumentError

UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z]*)\s*")
SHARE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*%\s*")
LEAST = "min"
EXAMPLES = 'bytes, "2GiB", a share of what it takes without a limit as "25%", or "min"'


@dataclass(frozen=True)
class Limit:
    """How much memory a call may take: some bytes, a share of what it takes without a limit, or as little as it can.

    :param bytes: None: a share, or the least.
    :param share: None: some bytes, or the least.
    :param beside: bytes of the call that are not those of its program: copies of arguments, what a call before it left.
    :param least: bytes that are needed anyway, for another program.
    :param disk: bytes that files may have.
    """

    bytes: int | None = None
    share: float | None = None
    beside: int = 0
    least: int = 0
    disk: int = 0

    @staticmethod
    def of(given: Any, disk: Any = None) -> Limit | None:
        """Read a limit as a user writes it; None is no limit.

        :param disk: how much files may have, as a user writes it.
        :raises ArgumentError: it is none.
        """
        limit = Limit._of_memory(given)
        if disk is None or isinstance(given, Limit):
            return limit
        if limit is None:
            raise ArgumentError(
                "disk_limit says how much may lie on the disk of what memory_limit has no room for: give both"
            )
        return replace(limit, disk=_of_disk(disk))

    @staticmethod
    def _of_memory(given: Any) -> Limit | None:
        if given is None or isinstance(given, Limit):
            return given
        if isinstance(given, bool):
            raise ArgumentError(f"a memory limit is {EXAMPLES}, not {given}")
        if isinstance(given, str):
            return _from_text(given)
        try:
            size = int(given) if isinstance(given, float) and given.is_integer() else int(given.__index__())  # 2e9
        except (AttributeError, TypeError):
            raise ArgumentError(f"a memory limit is {EXAMPLES}, not {given!r}") from None
        if size < 0:
            raise ArgumentError(f"a memory limit is no negative number: {given}")
        return Limit(bytes=size)

    def within(self, unlimited: int) -> int | None:
        """Return the bytes that are left for the program, given those without a limit; None for the least."""
        whole = int(self.share * (unlimited + self.beside)) if self.share is not None else self.bytes
        return whole if whole is None else whole - self.beside

    def __str__(self) -> str:
        if self.share is not None:
            return f"{self.share * 100:g}%"
        return LEAST if self.bytes is None else shown(self.bytes)


def _of_disk(given: Any) -> int:
    """Read a number of bytes of the disk."""
    wrong = ArgumentError(f'a limit for the disk is a number of bytes, or a text as "2GiB", not {given!r}')
    try:
        found = Limit.of(given)
    except ArgumentError:
        raise wrong from None
    if found is None or found.bytes is None:
        raise wrong
    return found.bytes


def _from_text(text: str) -> Limit:
    if text.strip().lower() == LEAST:
        return Limit()
    if (found := SHARE.fullmatch(text)) is not None:
        return Limit(share=float(found[1]) / 100)
    found = SIZE.fullmatch(text)
    if found is None or found[2].lower() not in UNITS or ("." in found[1] and found[2].lower() in ("", "b")):
        raise ArgumentError(f"a memory limit is {EXAMPLES}, not {text!r}; units are kB, MB, GB, TB, and KiB to TiB")
    return Limit(bytes=int(float(found[1]) * UNITS[found[2].lower()]))


NAMES = "bytes", "KiB", "MiB", "GiB", "TiB"


def shown(size: int) -> str:
    """Return a number of bytes in the largest unit of which there is at least one."""
    if size == 1:
        return "1 byte"
    power = min((max(size, 1).bit_length() - 1) // 10, len(NAMES) - 1)
    count = size / 1024**power
    digits = f"{count:.0f}" if count >= 100 else f"{count:.3g}"  # three digits of 1000 would be 1e+03
    return f"{digits} {NAMES[power]}"
