"""Attention, where the definition of the standard is not enough."""
