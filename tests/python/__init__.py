"""The language: what Python means by a program, one file for each construct."""
