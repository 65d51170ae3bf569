"""Observes one run of a production program: what it launches, with which parameters, and how long that takes."""
