"""The program tree, its printing, and its emission as an SDFG."""
