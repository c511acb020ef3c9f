"""Differentiate program trees, in reverse and in forward mode."""
