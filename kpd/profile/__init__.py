"""Explains a candidate's speed: counters, compiler remarks, assembly, and rules over all of them."""
