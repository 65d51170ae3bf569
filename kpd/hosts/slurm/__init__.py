"""Hosts that Slurm lends for a while: an allocation is asked for, found again, entered, and given back."""
