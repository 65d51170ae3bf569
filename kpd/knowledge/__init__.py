"""Skills and memory: what kpd knows before a run and learns from it."""
