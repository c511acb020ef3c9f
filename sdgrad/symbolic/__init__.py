"""Scalar expressions, their derivatives, and the table of scalar rules."""
