"""Reads C, C++, CUDA and Python source that need not compile: definitions, launches, values of expressions."""
