"""Runs iterations as a list of steps, inside a run, inside the queue. Knows no UI and no socket."""
