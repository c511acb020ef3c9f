"""Rewrites of program trees that several stages share."""
