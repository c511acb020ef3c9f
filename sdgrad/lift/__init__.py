"""Read an SDFG into a program tree."""
