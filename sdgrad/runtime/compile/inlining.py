"""Make compilers inline the bodies of loops that DaCe writes as functions.

A function that a loop over elements calls may hold no more than a short sum. Compilers leave it where it is, as its
vector code looks large: then each element costs a call, the loading of addresses and constants, and ``vzeroupper``.
"""

from __future__ import annotations

import re
from collections import Counter

FUNCTION = re.compile(r"^inline void (\w+)\(", re.M)
INLINE = "__attribute__((always_inline))"
CALLED = re.compile(r"\b(\w+)\(")


def inlined(code: str) -> str:
    """Mark each function that is called in one place only; others would make the code longer."""
    named = Counter(CALLED.findall(code)) if FUNCTION.search(code) else Counter()

    def marked(found: re.Match) -> str:
        return f"static {INLINE} {found[0]}" if named[found[1]] == 2 else found[0]

    return FUNCTION.sub(marked, code)
