"""NVIDIA's Nsight Compute as a source of metrics: what is asked of it, how it is run, how its reports are read."""
