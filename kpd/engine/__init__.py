"""Runs iterations as lists of steps, inside runs, inside the queue. It knows no user interface and no socket."""
