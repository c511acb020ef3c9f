"""Write ``docs/functions.md``: ``python -m tests.modes.table``.

With ``--jax``, what the installed JAX has is looked up before.
"""

from __future__ import annotations

import sys

from .libraries import look_up_jax
from .page import PAGE, page

if __name__ == "__main__":
    if "--jax" in sys.argv:
        look_up_jax()
    PAGE.write_text(page())
