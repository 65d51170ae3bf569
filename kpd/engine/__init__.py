"""One iteration as a straight list of steps; the run around it; the queue around that. Knows no UI and no socket."""
