"""Derive facts about program trees, without changing them."""
