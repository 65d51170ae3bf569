"""Brings a run's winner into its production program, and keeps it only where the program itself is faster."""
