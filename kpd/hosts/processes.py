"""Identifies processes of this machine, with the helper's code."""

from kpd.hosts.helper.processes import exists

__all__ = ["exists"]
