"""Plays a recorded run again in the daemon's own UI: `kpd demo`."""
