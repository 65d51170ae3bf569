"""Reads metrics from NVIDIA's Nsight Compute: which metrics are asked for, how it runs, how its reports are read."""
