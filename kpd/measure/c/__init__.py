"""A task in C: gcc or clang, one CPU, the roofline of its caches."""
