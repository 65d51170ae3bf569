"""Measures tasks with their own benchmark: in fresh copies on a host, in pairs, from their output."""
