"""A Slurm of its own for tests: one node, started and ended in a few seconds."""
