"""The program tree: the structured form of an SDFG on which every analysis and transformation works."""
