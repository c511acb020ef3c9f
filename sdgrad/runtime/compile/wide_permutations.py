"""Find permutations of eight doubles that GCC may have got wrong in a compiled program.

GCC 12 writes some of them as ``vpermilpd``, which moves numbers within pairs alone: the third and the fourth may come
from the upper half, and get another number then (``avx_vpermilp_parallel``). A 4x4 matrix whose part above the diagonal
mirrors the one below had one wrong element. Vectors of four doubles are right, and slower: they are for programs with
such an instruction. Encodings: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, 2.7.
"""

from __future__ import annotations

import re

import dace

NARROW = "-mprefer-vector-width=256"
"""The flag for vectors of four doubles."""
NARROW_WHERE_NEEDED = f"""#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ <= 12 && defined(__AVX512F__)
#pragma GCC target("{NARROW.removeprefix("-m")}")
#endif
"""
"""The same for programs that others compile, and nobody looks at."""
WITHIN_PAIRS = {0x00, 0x55, 0xAA, 0xFF}  # all first ones, swapped, as they are, all second ones
INSTRUCTION = re.compile(
    rb"\x62[\x03\x13\x23\x33\x43\x53\x63\x73\x83\x93\xa3\xb3\xc3\xd3\xe3\xf3]\xfd[\x48-\x4f\xc8-\xcf]\x05"
)
"""The prefix and the code of ``vpermilpd`` of 512 bits with a constant."""
LONGEST = 7  # bytes of an address and the constant after them


def with_narrow_vectors(sdfg: dace.SDFG) -> dace.SDFG:
    """Return a graph that DaCe compiles, with vectors that its compiler permutes rightly."""
    before = sdfg.global_code["frame"].as_string if "frame" in sdfg.global_code else ""
    sdfg.set_global_code(NARROW_WHERE_NEEDED + before, "frame")
    return sdfg


def has_doubtful_permutation(code: bytes) -> bool:
    """True if machine code has an instruction that GCC may have meant for another permutation."""
    ends = (m.end() for m in INSTRUCTION.finditer(code))
    return any(_constant(code[end : end + LONGEST]) not in WITHIN_PAIRS for end in ends)


def _constant(rest: bytes) -> int | None:
    """Return the last byte of an instruction, after the bytes of its operands; None if the code ends before."""
    if len(rest) < LONGEST:
        return None
    mode, base = rest[0] >> 6, rest[0] & 7
    scaled = mode != 3 and base == 4  # another byte tells the base
    far = mode == 2 or mode == 0 and (rest[1] & 7 if scaled else base) == 5
    return rest[1 + scaled + (4 if far else mode == 1)]
