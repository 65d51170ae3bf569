"""Measures tasks whose kernel is a Python callable, with a runner of kpd's own that speaks as the driver in C does."""
