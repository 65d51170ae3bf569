"""Probes and checks a host, and builds its card."""
