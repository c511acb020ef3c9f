"""Decide what the backward pass keeps, recomputes or restores."""
