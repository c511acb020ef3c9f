"""Compile SDFGs, load them, and call them; nothing here knows what a derivative is."""

from pathlib import Path

INCLUDE = Path(__file__).parent / "include"
"""The C++ headers that generated code includes."""
