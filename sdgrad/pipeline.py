"""The engine on one page: every door calls :func:`differentiate`."""

from __future__ import annotations

from collections.abc import Collection

import dace

from sdgrad.autodiff.differentiate import Differentiated, differentiate_program
from sdgrad.autodiff.request import Request
from sdgrad.canonicalize.normal_form import normalize


def differentiate(sdfg: dace.SDFG, request: Request, stop: Collection[str] = ()) -> Differentiated:
    """A graph, differentiated."""
    return differentiate_program(normalize(sdfg, stop=stop), request)
