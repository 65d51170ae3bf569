"""Reads C, C++, CUDA and Python source, even if it does not compile: definitions, launches, values of expressions."""
