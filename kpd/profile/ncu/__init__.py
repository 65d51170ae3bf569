"""Reads metrics from NVIDIA's Nsight Compute: what is asked, how it runs, how its reports are read."""
